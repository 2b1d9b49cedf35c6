//! Faults that are made, each in a control plane of its own, and the alert that a real Prometheus raises for each: there, and
//! nowhere else.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use controller_kit::{Clock, Mode, Running};
use e2e_control_plane::Prometheus;
use karmada_failover::story::example;
use karmada_failover::story::scenario::Fare;
use karmada_failover::story::scenario::objects::{binding_of, deployment, duplicated};
use karmada_failover::story::theatre::set_simulated_workload;
use kube_sandbox::rules::Settings;
use kube_sandbox::{Effect, Match};
use serde_json::{Value, json};
use test_bench::{Authority, BigFleet, Counts, Of, free_address};

use crate::common::World;
use crate::prometheus::{PACE, Seen, Watching, play, prometheus, run};

/// Alerts that fire, with the namespace of the control plane that has the fault.
pub const FIRE: [(&str, &str); 8] = [
    ("FailoverMonitorIsolated", "isolated"),
    ("FailoverWatchStale", "deaf"),
    ("FailoverTwoOwners", "beside"),
    ("FailoverCertificateExpires", "files"),
    ("FailoverFilesRefused", "files"),
    ("FailoverQueueGrowing", "growing"),
    ("FailoverLastCopyKept", "kept"),
    DOUBLED,
];
/// The last one: this control plane is well until all others are found ill.
const DOUBLED: (&str, &str) = ("FailoverRateExceeded", "doubled");

/// Bounds of rules here. Nobody is asked anything for a minute in a control plane at rest, so informers list every
/// [`RELIST`]. And of an eviction or two no rate can be told, nor where a busy machine brings them a second late.
const BOUNDS: [(&str, &str); 4] = [
    ("> 4 * 3600", "> 3"),
    ("> 1800", "> 900"),
    ("> 300", "> 20"),
    (RATES_WINDOW, "[30s]"),
];
const RATES_WINDOW: &str = "[10m]";
const RELIST: &str = "--relist-interval=2s";

/// Evictions a second of the control plane in which a second queue leads in the end.
const RATE: f64 = 4.0;
const MANAGER_AND_QUEUE: &str = "taintManager,evictor,evictionQueue";
const LONG: Duration = Duration::from_secs(60);

async fn start(world: &World, identity: &str, controllers: &str, more: &[&str]) -> Running {
    run(world, identity, controllers, &[&[RELIST], more].concat()).await
}

async fn until_ready(world: &World, process: &Running) {
    let ready = || async { process.readiness().missing().is_empty().then_some(()) };
    world.wait_for("the process to be ready", LONG, ready).await;
}

fn world(evictions_per_second: f64) -> World {
    World::watched(&[], Settings::real_time(evictions_per_second))
}

/// Pull clusters of which every agent is cut off at once.
async fn isolated() -> (World, Running) {
    let world = world(1.0);
    let names = ["pull1", "pull2", "pull3"];
    for name in names {
        world.put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Pull"},
            "status": {"conditions": [{
                "type": "Ready", "status": "True", "reason": "ClusterReady", "message": "cluster is healthy",
                "lastTransitionTime": world.clock.now(),
            }]},
        }));
        // The last that is heard of it.
        world.put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": "karmada-cluster", "name": name},
            "spec": {
                "holderIdentity": name, "leaseDurationSeconds": 4, "renewTime": format!("{:.6}", world.clock.now()),
            },
        }));
    }
    let process = start(&world, "monitor", "cluster", &[]).await;
    (world, process)
}

/// A control plane that answers no question about Clusters any more, once it is ready.
async fn deaf() -> (World, Running) {
    let world = world(1.0);
    let process = start(&world, "policies", "clusterTaintPolicy", &[]).await;
    until_ready(&world, &process).await;
    let faults = world.plane().faults();
    let clusters = Match::any().resource("clusters");
    faults.inject(clusters.clone(), Effect::Hang);
    faults.cut_watches(clusters);
    (world, process)
}

/// A stock controller that was not switched off tells what it did.
async fn beside() -> (World, Running) {
    let world = World::in_mode(Mode::Beside, &["member1"], Settings::real_time(1.0));
    let process = start(&world, "policies", "clusterTaintPolicy", &[]).await;
    until_ready(&world, &process).await;
    // An Event has its time in whole seconds, and what is older than the process belongs to the hand-over.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let now = world.clock.now();
    let source = "cluster-taint-policy-controller";
    world.put(json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "default", "name": "member1.1"},
        "involvedObject": {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": "member1"},
        "reason": "TaintClusterSucceed", "message": "Update Cluster(member1) with taints succeed", "type": "Normal",
        "source": {"component": source}, "reportingComponent": source, "reportingInstance": "",
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    }));
    (world, process)
}

/// A webhook whose certificate ends tomorrow, and whose key is then overwritten with something else.
async fn files(folder: &Path) -> (World, Running) {
    let world = world(1.0);
    // Of Prometheus, which knows no simulated time.
    let tomorrow = Clock::system().now() + Duration::from_secs(24 * 3600);
    let (certificate, key) = Authority::new("webhooks")
        .issue_for("webhook", Of::Server, Counts::Before(tomorrow.into()), &[])
        .write(folder, "webhook");
    let flags = [
        format!("--tls-cert-file={}", certificate.display()),
        format!("--tls-key-file={}", key.display()),
        format!("--webhook-bind-address={}", free_address()),
    ];
    let flags = flags.each_ref().map(String::as_str);
    let process = start(&world, "webhook", "webhook", &flags).await;
    (world, process)
}

fn write_nonsense(folder: &Path) {
    std::fs::write(folder.join("webhook.key"), "no key").unwrap();
}

/// A fleet of bindings, of which these are on a cluster that is lost.
struct Fleet(BigFleet);

impl Fleet {
    fn stored(world: &World, bindings: usize, change: impl Fn(usize, &mut Value)) -> Self {
        let fleet = BigFleet { clusters: 6, bindings };
        fleet.store(world.plane());
        let fleet = Self(fleet);
        for number in 0..6 {
            fleet.put_cluster(world, number, &json!([]));
        }
        for number in 0..bindings {
            let mut binding = fleet.0.binding(number);
            change(number, &mut binding);
            world.put(binding);
        }
        fleet
    }

    fn put_cluster(&self, world: &World, number: usize, taints: &Value) {
        let mut cluster = self.0.cluster(number, taints);
        cluster["status"]["apiEnablements"] =
            json!([{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}]);
        world.put(cluster);
    }

    fn lose_a_cluster(&self, world: &World) {
        let taints = json!([{
            "key": "example.com/lost", "effect": "NoExecute", "timeAdded": world.clock.now(),
        }]);
        self.put_cluster(world, 0, &taints);
    }
}

/// More becomes due in every second than is let go in ten.
async fn growing() -> (World, Running) {
    let world = world(PACE.evictions_per_second);
    let fleet = Fleet::stored(&world, 480, |number, binding| {
        binding["spec"]["placement"]["clusterTolerations"] = json!([{
            "key": "example.com/lost", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": number / 16,
        }]);
    });
    let process = start(&world, "queue", MANAGER_AND_QUEUE, &[]).await;
    fleet.lose_a_cluster(&world);
    (world, process)
}

/// A queue that lets go as many as it may.
async fn one_queue() -> (World, Running) {
    let world = world(RATE);
    let fleet = Fleet::stored(&world, 1_200, |_, _| {});
    let process = start(&world, "queue", MANAGER_AND_QUEUE, &[]).await;
    fleet.lose_a_cluster(&world);
    (world, process)
}

/// A second installation with Leases in a namespace of its own: two queues lead, and each keeps to the rate.
async fn second_queue(world: &World, admin: SocketAddr) -> Running {
    world.rules.set(|known| known.evictions_per_second = 2.0 * RATE);
    world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}));
    let admin = format!("--admin-bind-address={admin}");
    let flags = ["--system-namespace=elsewhere", &admin];
    start(world, "second", MANAGER_AND_QUEUE, &flags).await
}

/// The only copy of a workload has to leave, and the new one does not come up.
async fn kept() -> (World, Running) {
    let names = ["member1", "member2", "member3"];
    let world = World::watched(&names, Settings::real_time(PACE.evictions_per_second));
    let process = start(&world, "all", "*", &["--graceful-eviction-timeout=2s"]).await;
    example::taint_policies(&PACE)
        .into_iter()
        .for_each(|policy| world.create(policy));
    world.create(deployment("db", 1));
    world.create(duplicated("db", &["member1", "member2"], 1));
    let healthy = || async {
        let status = world.binding(&binding_of("db")).await?.status?;
        let copy = status.aggregated_status.into_iter().next()?;
        (copy.health?.as_str() == "Healthy").then_some(copy.cluster_name.clone())
    };
    let home = world.wait_for("a copy that works", LONG, healthy).await;
    let other = if home == "member1" { "member2" } else { "member1" };
    set_simulated_workload(&world.fleet, other, "db", Fare::Ill).unwrap();
    world.fleet.member(&home).unwrap().stop();
    (world, process)
}

async fn scene(prometheus: &Prometheus) {
    let folder = tempfile::tempdir().unwrap();
    let ill = [
        ("isolated", "cluster-health-controller", isolated().await),
        ("deaf", "taint-policy-controller", deaf().await),
        ("beside", "taint-policy-controller", beside().await),
        ("files", "webhook", files(folder.path()).await),
        ("growing", "eviction-queue", growing().await),
        ("kept", "graceful-eviction-controller", kept().await),
        ("doubled", "eviction-queue", one_queue().await),
    ];
    // Known before it leads, so that Prometheus needs no other settings then.
    let second = free_address();
    let mut targets: Vec<_> = ill
        .iter()
        .map(|(namespace, job, (_, process))| (*namespace, *job, process.admin_address().unwrap()))
        .collect();
    targets.push(("doubled", "eviction-queue", second));
    let watching = Watching::start(prometheus, &BOUNDS, &targets);
    let mut seen = Seen::default();
    // A counter that is first seen at 1 has not increased.
    let seen_at_zero = || async {
        let zero = "failover_tls_reload_failures_total{namespace=\"files\"} == 0";
        watching.has_data(zero).await.then_some(())
    };
    ill[0].2.0.wait_for("a look at the files", LONG, seen_at_zero).await;
    write_nonsense(folder.path());
    let others: Vec<_> = FIRE.into_iter().filter(|alert| *alert != DOUBLED).collect();
    seen.until(&watching, &others).await;
    assert!(
        !seen.has_fired(DOUBLED.0, DOUBLED.1),
        "one queue keeps to its rate: {:#?}",
        seen.fired
    );
    let (_, _, (doubled, _)) = ill.last().unwrap();
    let second = second_queue(doubled, second).await;
    seen.until(&watching, &FIRE).await;

    // None of this is told of a control plane that has another fault. (The rate is: of an eviction or two it cannot be told.)
    for (name, namespace) in others {
        let of_others: Vec<_> = seen
            .fired
            .iter()
            .filter(|(fired, labels)| fired == name && !labels.contains(&format!("\"namespace\":\"{namespace}\"")))
            .collect();
        assert!(of_others.is_empty(), "{of_others:#?}");
    }
    drop(watching);
    second.stop().await;
    for (_, _, (_world, process)) in ill {
        process.stop().await;
    }
}

#[test]
fn every_fault_raises_its_alert() {
    let Some(prometheus) = prometheus() else { return };
    play(scene(&prometheus));
}
