//! `handback`: nothing of ours is left, what is stock's or a person's stays, and it refuses while it would do harm.

use std::sync::Arc;

use failoverctl::failure::ExitStatus;
use insta::assert_snapshot;
use kube_sandbox::{Effect, Match};
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
        assert!(told.text.starts_with("There is nothing of ours."), "{}", told.text);
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
