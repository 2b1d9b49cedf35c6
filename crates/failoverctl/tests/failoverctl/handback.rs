//! `handback`: nothing of ours is left, what is stock's or a person's stays, and it refuses while it would do harm.

use std::pin::Pin;
use std::sync::Arc;

use failoverctl::console::{Console, Person, ReaderGone};
use failoverctl::failure::ExitStatus;
use insta::assert_snapshot;
use kube_sandbox::{Effect, Match, Sandbox};
use serde_json::{Value, json};

use crate::live::{LIMIT, World, typed};
use crate::objects::{CONTROLLERS, after, binding, cluster, lease};

const OURS: &str = "failover.karmada.io/";

async fn in_time(work: impl Future<Output = ()>) {
    tokio::time::timeout(LIMIT, work).await.unwrap();
}

fn annotated(mut object: Value, annotations: &[(&str, &str)]) -> Value {
    for (name, value) in annotations {
        object["metadata"]["annotations"][*name] = json!(value);
    }
    object
}

fn attached(written: i64, owner_leaves: bool) -> (Value, Value) {
    let mut owner = json!(binding());
    if owner_leaves {
        owner["spec"]["clusters"] = json!([{"name": "member2", "replicas": 3}]);
        owner["spec"]["gracefulEvictionTasks"] = json!([{
            "fromCluster": "member1", "reason": "TaintUntolerated", "producer": "TaintManager", "purgeMode": "Gracefully",
            "creationTimestamp": after(-30),
        }]);
    }
    let homes = owner["spec"]["clusters"].clone();
    let attached = json!({
        "metadata": {"name": "conf-configmap", "namespace": "default"},
        "spec": {
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "conf"},
            "requiredBy": [{"namespace": "default", "name": "nginx-deployment", "clusters": homes}],
            "gracefulEvictionTasks": [{
                "fromCluster": "member1", "reason": "TaintUntolerated", "producer": "DependencyMirror", "purgeMode": "Gracefully",
                "creationTimestamp": after(written),
            }],
        },
    });
    let version = "work.karmada.io/v1alpha2";
    (
        typed(version, "ResourceBinding", owner),
        typed(version, "ResourceBinding", attached),
    )
}

/// A control plane on which ours ran and has stopped; the queue's Lease stands there still.
fn world(written: i64, owner_leaves: bool) -> World {
    let world = World::new(&CONTROLLERS);
    let record = json!({"cluster": "", "taints": {"cluster.karmada.io/not-ready:NoExecute": {
        "policies": {"p": "uid"}, "timeAdded": after(-60),
    }}});
    let mut away = json!(cluster("member1", "False"));
    away["spec"]["taints"] = json!([
        {"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": after(-60)},
        {"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule", "timeAdded": after(-60)},
        {"key": "failover.karmada.io/prefer-no-execute", "effect": "NoSchedule", "timeAdded": after(-60)},
    ]);
    let away = annotated(
        away,
        &[
            ("failover.karmada.io/managed-taints", &record.to_string()),
            ("failover.karmada.io/taint-windows", "{}"),
            ("example.com/owner", "network"),
        ],
    );
    world.put(typed("cluster.karmada.io/v1alpha1", "Cluster", away));
    let (owner, attached) = attached(written, owner_leaves);
    world.put(annotated(
        owner,
        &[
            ("failover.karmada.io/health-clock", "{}"),
            ("failover.karmada.io/stay", "[]"),
        ],
    ));
    world.put(attached);
    world.put(typed(
        "coordination.k8s.io/v1",
        "Lease",
        json!(lease("eviction-queue", -600, "")),
    ));
    world
}

/// Where anything of ours is left, beside our own kinds.
fn left(world: &World) -> Vec<String> {
    let kinds = [
        ("cluster.karmada.io/v1alpha1", "Cluster"),
        ("work.karmada.io/v1alpha2", "ResourceBinding"),
        ("policy.karmada.io/v1alpha1", "ClusterTaintPolicy"),
        ("coordination.k8s.io/v1", "Lease"),
    ];
    let all = kinds
        .iter()
        .flat_map(|(version, kind)| world.sandbox.list(version, kind));
    let of_ours = |object: &Value| {
        let text = object.to_string();
        text.contains(OURS) || text.contains("DependencyMirror")
    };
    let name = |object: Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    all.filter(of_ours).map(name).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_of_ours_is_left() {
    in_time(async {
        let world = world(-600, false);
        let before = world.sandbox.resource_version();
        let told = world.ask(&["handback", "--dry-run"]).await;
        assert_eq!(told.status, ExitStatus::Fine, "{}", told.text);
        assert_snapshot!("handback_dry_run", told.text);
        assert_eq!(world.sandbox.resource_version(), before, "nothing was changed");

        let told = world.ask(&["handback", "--yes", "-o", "json"]).await;
        assert_eq!(told.status, ExitStatus::Fine, "{}", told.text);
        assert_snapshot!("handback_json", told.text);
        assert!(
            world.console.notes().contains("This takes what is ours off "),
            "{}",
            world.console.notes()
        );
        assert_eq!(
            left(&world),
            ["nginx-deployment"],
            "a person's word stays until it is to go"
        );

        let told = world.ask(&["handback", "--yes", "--settings"]).await;
        assert!(
            told.text
                .contains("Undo:  kubectl annotate resourcebindings.work.karmada.io nginx-deployment -n default"),
            "{}",
            told.text
        );
        assert_eq!(left(&world), Vec::<String>::new());
        let stored: Value = world.get("cluster.karmada.io/v1alpha1", "Cluster", None, "member1");
        let taints: Vec<&str> = stored["spec"]["taints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|taint| taint["effect"].as_str().unwrap())
            .collect();
        assert_eq!(taints, ["NoSchedule"], "stock's taint stays");
        assert_eq!(
            stored["metadata"]["annotations"],
            json!({"example.com/owner": "network"})
        );
        let told = world.ask(&["handback", "--yes"]).await;
        assert!(
            told.text.starts_with("There is nothing of ours to take off."),
            "{}",
            told.text
        );
    })
    .await;
}

/// What a workload needs stays on the cluster that it leaves for as long as its old copy.
#[tokio::test(start_paused = true)]
async fn it_refuses_while_mirrors_are_in_use() {
    in_time(async {
        let world = world(-600, true);
        let failure = world.try_ask(&["handback", "--yes"]).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Problem);
        assert_snapshot!("handback_mirrors_in_use", failure.to_string());
        let told = world.ask(&["handback", "--dry-run"]).await;
        assert_eq!(told.status, ExitStatus::Problem);
        assert!(
            told.text.contains("Not now: the mirror task of default/conf-configmap"),
            "{}",
            told.text
        );
        // One that was just written: its owner may be about to leave.
        let fresh = self::world(-10, false);
        let failure = fresh.try_ask(&["handback", "--yes"]).await.unwrap_err();
        assert!(
            failure.to_string().contains("an owner may be about to leave member1"),
            "{failure}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn it_refuses_while_ours_runs() {
    in_time(async {
        let world = world(-600, false);
        world.put(typed("coordination.k8s.io/v1", "Lease", json!(lease("evictor", 0, ""))));
        let failure = world.try_ask(&["handback", "--yes"]).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Problem);
        assert_snapshot!("handback_ours_runs", failure.to_string());
        assert!(left(&world).contains(&"member1".to_owned()));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_in_vain_and_no_is_no() {
    in_time(async {
        let world = world(-600, false);
        let failure = world.try_ask(&["handback"]).await.unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Usage);
        world.console.will_answer("n\n");
        let told = world.ask(&["handback"]).await;
        assert_eq!((told.status, told.text.as_str()), (ExitStatus::Problem, ""));
        assert!(left(&world).contains(&"member1".to_owned()));
    })
    .await;
}

/// What cannot be done is said object by object, and the rest is done; conflicts are tried again.
#[tokio::test(start_paused = true)]
async fn some_writes_fail() {
    in_time(async {
        let world = world(-600, false);
        let ours = || Match::writes().client("failoverctl");
        // The first write is the trial.
        world.sandbox.faults().inject_times(ours(), 1, 2, Effect::Conflict);
        let told = world.ask(&["handback", "--yes"]).await;
        assert_eq!(told.status, ExitStatus::Fine, "{}", told.text);
        assert_eq!(left(&world), ["nginx-deployment"]);
        drop(Arc::new(world));
    })
    .await;
}

/// Somebody who says yes after a while, in which something was written.
#[derive(Debug)]
struct Slow {
    sandbox: Handle,
    meanwhile: Value,
}

#[derive(Clone)]
struct Handle(Sandbox);

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sandbox")
    }
}

impl Console for Slow {
    fn print(&self, _: &str) -> Result<(), ReaderGone> {
        Ok(())
    }

    fn note(&self, _: &str) {}

    fn reads_notes(&self) -> Person {
        Person::Absent
    }

    fn columns(&self) -> Option<usize> {
        None
    }

    fn can_be_asked(&self) -> Person {
        Person::There
    }

    fn read_line(&self) -> String {
        self.sandbox.0.put(self.meanwhile.clone()).unwrap();
        "y\n".to_owned()
    }

    fn interrupted(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }
}

/// Between the question and the answer a controller of ours is started: nothing is written, and it keeps its Lease.
#[tokio::test(start_paused = true)]
async fn what_was_started_meanwhile_keeps_its_lease() {
    in_time(async {
        let mut world = world(-600, false);
        world.around.console = Arc::new(Slow {
            sandbox: Handle(world.sandbox.clone()),
            meanwhile: typed("coordination.k8s.io/v1", "Lease", json!(lease("eviction-queue", 0, ""))),
        });
        let failure = world.try_ask(&["handback"]).await.unwrap_err();
        assert!(failure.to_string().contains("it renews eviction-queue"), "{failure}");
        let still = left(&world);
        assert!(still.contains(&"member1".to_owned()) && still.contains(&"eviction-queue".to_owned()));
    })
    .await;
}

/// A Lease is deleted as it was read, or not at all.
#[tokio::test(start_paused = true)]
async fn a_lease_that_was_written_meanwhile_stays() {
    in_time(async {
        let world = world(-600, false);
        let deletes = Match::writes().client("failoverctl").resource("leases");
        world.sandbox.faults().inject_times(deletes, 0, 1, Effect::Conflict);
        let told = world.ask(&["handback", "--yes"]).await;
        assert_eq!(told.status, ExitStatus::Problem);
        assert!(
            told.text
                .contains("Failed: Lease karmada-system/eviction-queue: cannot delete Lease karmada-system/eviction-queue: somebody wrote it"),
            "{}",
            told.text
        );
        assert!(left(&world).contains(&"eviction-queue".to_owned()));
    })
    .await;
}

/// A move that goes on and a drain are told; where there is neither, nothing is said of them.
#[tokio::test(start_paused = true)]
async fn what_goes_on_is_told() {
    in_time(async {
        let world = world(-600, false);
        let told = world.ask(&["handback", "--dry-run"]).await.text;
        assert!(!told.contains("drain") && !told.contains("eviction task"), "{told}");
        let mut drained = json!(cluster("member2", "True"));
        drained["spec"]["taints"] = json!([{"key": "cluster.karmada.io/drain", "effect": "NoExecute", "timeAdded": after(-60)}]);
        world.put(typed("cluster.karmada.io/v1alpha1", "Cluster", drained));
        let (owner, _) = attached(-600, true);
        world.put(owner);
        let told = world.ask(&["handback", "--dry-run"]).await.text;
        for words in [
            "Stays: taint cluster.karmada.io/drain, which a person set, on member2; to end a drain",
            "Stays: 1 eviction task, by which workloads leave clusters, of ResourceBinding default/nginx-deployment; stock's",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
    })
    .await;
}

/// What stays is told: settings, policies that only ours made wait, and taints of which nobody knows whose they are.
#[tokio::test(start_paused = true)]
async fn what_stays_is_told() {
    in_time(async {
        let world = world(-600, false);
        let mut away = json!(cluster("member1", "False"));
        away["spec"]["taints"] = json!([{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": after(-60)}]);
        let away = annotated(away, &[("failover.karmada.io/managed-taints", "{")]);
        world.put(typed("cluster.karmada.io/v1alpha1", "Cluster", away));
        let windows = json!([{"key": "k", "effect": "NoExecute"}]).to_string();
        let policy = json!({
            "metadata": {"name": "only-ours", "annotations": {"failover.karmada.io/windows": windows}},
            "spec": {
                "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
                "taints": [{"key": "k", "effect": "NoExecute"}],
            },
        });
        world.put(typed("policy.karmada.io/v1alpha1", "ClusterTaintPolicy", policy));
        let told = world.ask(&["handback", "--yes"]).await;
        assert_eq!(told.status, ExitStatus::Problem, "{}", told.text);
        for words in [
            "Failed: Cluster member1: which of its taints our policies added is not known: annotation failover.karmada.io/managed-taints",
            "Stays: annotation failover.karmada.io/stay, 1 time,",
            "Stays: annotation failover.karmada.io/windows, 1 time,",
            "Stays: ClusterTaintPolicy only-ours, whose windows stood in an annotation",
        ] {
            assert!(told.text.contains(words), "{words}: {}", told.text);
        }
        assert!(left(&world).contains(&"member1".to_owned()), "the record stays");
    })
    .await;
}
