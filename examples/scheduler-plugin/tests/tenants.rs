//! The scheduler with the plugins on a simulated control plane.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind};
use controller_kit::{KitFlags, Process, Running};
use futures::StreamExt;
use kube::Api;
use kube::api::{Patch, WatchEvent};
use scheduler::{Flags, controllers_with};
use scheduler_plugin::{PRICE, TENANTS, registry};
use serde_json::{Value, json};
use test_bench::{Bench, Program, paused};

const SCHEDULER: &str = "tenants";

fn flags(plugins: &[&str]) -> Flags {
    Flags {
        scheduler_name: SCHEDULER.to_owned(),
        plugins: plugins.iter().map(|plugin| (*plugin).to_owned()).collect(),
        ..Flags::default()
    }
}

async fn start(bench: &Bench, plugins: &[&str]) -> Running {
    bench
        .process("scheduler-plugin", "s", KitFlags::default())
        .controllers(controllers_with(flags(plugins), &registry()))
        .start()
        .await
        .unwrap()
}

fn put_cluster(bench: &Bench, name: &str, annotations: &Value) {
    bench.put(json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "annotations": annotations}, "spec": {"syncMode": "Push"},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": bench.started}],
            "apiEnablements": [{"groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap"}]}],
        },
    }));
}

/// A ConfigMap of the tenant `shop` that wants one cluster.
fn put_binding(bench: &Bench, name: &str, scheduler: &str) {
    bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
    bench.put(json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"namespace": "shop", "name": name, "labels": {"propagationpolicy.karmada.io/permanent-id": "p"}},
        "spec": {
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": name},
            "schedulerName": scheduler,
            "placement": {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]},
        },
    }));
}

async fn binding(bench: &Bench, name: &str) -> Binding {
    let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "shop", &BindingKind::Namespaced);
    bindings.get(name).await.unwrap()
}

async fn placed(bench: &Bench, name: &str) -> String {
    let targets = binding(bench, name).await.spec.clusters;
    let names: Vec<String> = targets.into_iter().map(|target| target.name).collect();
    names.join(" ")
}

fn fleet(bench: &Bench) {
    put_cluster(bench, "member1", &json!({TENANTS: "bank", PRICE: "1"}));
    put_cluster(bench, "member2", &json!({TENANTS: "bank, shop", PRICE: "10"}));
    put_cluster(bench, "member3", &json!({PRICE: "4"}));
}

#[test]
fn the_filter_refuses_and_the_score_prefers() {
    for (plugins, expected) in [
        // Of those that fit the first by name.
        (["*"].as_slice(), "member2"),
        (&["*", "Price"], "member3"),
        (&["*", "Price", "-Tenants"], "member1"),
    ] {
        paused(async {
            let bench = Bench::new(&[]);
            fleet(&bench);
            let _process = start(&bench, plugins).await;
            put_binding(&bench, "settings", SCHEDULER);
            bench.until(1).await;
            assert_eq!(placed(&bench, "settings").await, expected, "{plugins:?}");
        });
    }
}

/// What has no replicas is looked at each time. A cluster that is cheaper than anything takes no copy that runs away.
#[test]
fn a_cheaper_cluster_takes_nothing_that_runs() {
    paused(async {
        let bench = Bench::new(&[]);
        put_cluster(&bench, "member2", &json!({PRICE: "10"}));
        let _process = start(&bench, &["*", "Price", "-ClusterLocality"]).await;
        put_binding(&bench, "settings", SCHEDULER);
        bench.until(1).await;
        assert_eq!(placed(&bench, "settings").await, "member2");
        put_cluster(&bench, "member1", &json!({PRICE: "0"}));
        let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "shop", &BindingKind::Namespaced);
        let look = Patch::Merge(json!({"metadata": {"labels": {"look": "now"}}}));
        bindings.patch("settings", &Default::default(), &look).await.unwrap();
        bench.until(2).await;
        assert_eq!(placed(&bench, "settings").await, "member2");
        let again = Patch::Merge(json!({"spec": {"rescheduleTriggeredAt": bench.clock.now()}}));
        bindings.patch("settings", &Default::default(), &again).await.unwrap();
        bench.until(3).await;
        // That copy is not known to run: nothing waits for another one.
        assert_eq!(placed(&bench, "settings").await, "member1", "a person asked");
    });
}

#[test]
fn a_refusal_is_told_and_its_end_wakes_the_binding() {
    paused(async {
        let bench = Bench::new(&[]);
        put_cluster(&bench, "member1", &json!({TENANTS: "bank"}));
        put_cluster(&bench, "member2", &json!({TENANTS: "bank"}));
        let _process = start(&bench, &["*"]).await;
        put_binding(&bench, "settings", SCHEDULER);
        bench.until(3_600).await;
        let waiting = binding(&bench, "settings").await;
        assert_eq!(
            waiting.condition("Scheduled").unwrap().message,
            "0/2 clusters are available: 2 cluster(s) is not for tenant shop."
        );
        let clusters: Api<Cluster> = Api::all(bench.client());
        let shared = Patch::Merge(json!({"metadata": {"annotations": {TENANTS: "bank,shop"}}}));
        clusters.patch("member2", &Default::default(), &shared).await.unwrap();
        bench.until(3_601).await;
        assert_eq!(placed(&bench, "settings").await, "member2");
    });
}

#[test]
fn what_others_schedule_is_theirs() {
    paused(async {
        let bench = Bench::new(&[]);
        fleet(&bench);
        let _process = start(&bench, &["*"]).await;
        put_binding(&bench, "settings", "default-scheduler");
        bench.until(60).await;
        let binding = binding(&bench, "settings").await;
        assert!(binding.spec.clusters.is_empty() && binding.status.is_none());
    });
}

#[test]
fn its_names_are_known_to_the_flag() {
    paused(async {
        let bench = Bench::new(&[]);
        let started = Process::builder("scheduler-plugin", bench.client())
            .clock(bench.clock.clone())
            .flags(KitFlags::default())
            .controllers(controllers_with(flags(&["*", "Prices"]), &registry()))
            .start()
            .await;
        let error = started.err().unwrap().to_string();
        assert!(error.contains("--plugins: unknown: Prices; known are "), "{error}");
        assert!(error.contains("Price, ") && error.contains("Tenants"), "{error}");
    });
}

const PROGRAM: Program<'_> = Program {
    file: env!("CARGO_BIN_EXE_scheduler-plugin"),
    command: &[],
};

#[test]
fn the_binary_names_its_plugins() {
    let help = PROGRAM.run(&["--help"]);
    assert_eq!(help.status, Some(0), "{}", help.text);
    assert!(
        help.text.contains("--scheduler-name") && help.text.contains("--plugins"),
        "{}",
        help.text
    );
    let said = PROGRAM.run(&["--plugins=*,Gpu"]);
    assert_ne!(said.status, Some(0), "{}", said.text);
    let words = said.lines(&[
        "--plugins: unknown: Gpu; known are ",
        "Price",
        "Tenants",
        "TaintToleration",
    ]);
    assert!(!words.is_empty(), "{}", said.text);
}

/// A process that is killed when it goes.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The binary as it is, over HTTP, and in the time of the machine.
#[tokio::test(flavor = "multi_thread")]
async fn the_binary_places_by_its_plugins() {
    let bench = Bench::new(&[]);
    fleet(&bench);
    put_binding(&bench, "settings", SCHEDULER);
    let served = bench.plane().serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let port = served.url().rsplit(':').next().unwrap().to_owned();
    let kubeconfig = std::env::temp_dir().join(format!("scheduler-plugin-{}-{port}-places", std::process::id()));
    std::fs::write(&kubeconfig, served.kubeconfig()).unwrap();
    let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "shop", &BindingKind::Namespaced);
    let changes = bindings.watch(&Default::default(), "0").await.unwrap();
    let started = Command::new(PROGRAM.file)
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .args(["--admin-bind-address=0", "--plugins=*,Price", "--leader-elect=false"])
        .arg(format!("--scheduler-name={SCHEDULER}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _started = Started(started);
    let mut changes = pin!(changes);
    let is_placed = async {
        while let Some(change) = changes.next().await {
            if let Ok(WatchEvent::Modified(binding)) = change
                && !binding.spec.clusters.is_empty()
            {
                return;
            }
        }
    };
    let limit = Duration::from_secs(60);
    assert!(
        tokio::time::timeout(limit, is_placed).await.is_ok(),
        "it places nothing"
    );
    assert_eq!(
        placed(&bench, "settings").await,
        "member3",
        "not the tenant's others, and the cheaper one"
    );
    std::fs::remove_file(&kubeconfig).unwrap();
}
