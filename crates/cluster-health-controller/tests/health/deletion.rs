//! How a Cluster ends: what its deletion waits for, and what ends it.

use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::work::Work;
use controller_kit::Running;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::reporters::{Reporter, pass};
use crate::said;
use test_bench::paused;

const ALL: &str = "failover.karmada.io/force-delete=true";

fn binding(bench: &Bench, name: &str, spec: Value) {
    let mut all = json!({"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": "default"},
        "placement": {"clusterAffinity": {"clusterNames": ["m1", "m2"]}}});
    for (key, value) in spec.as_object().unwrap() {
        all[key] = value.clone();
    }
    bench.put(
        json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "default"}, "spec": all}),
    );
}

fn on_m1(bench: &Bench, name: &str) {
    binding(bench, name, json!({"clusters": [{"name": "m1"}]}));
}

/// The controllers of a whole control plane, as their Leases show them.
fn control_plane() -> Vec<Reporter> {
    let about = json!({"failover.karmada.io/gates": "Failover=true"});
    [
        "taint-manager",
        "eviction-queue",
        "evictor",
        "scheduler",
        "graceful-eviction",
        "binding",
    ]
    .into_iter()
    .map(|lease| Reporter::controller(lease, about.clone()))
    .collect()
}

async fn delete(bench: &Bench, name: &str) {
    Api::<Cluster>::all(bench.plane().observer())
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
}

async fn is_there(bench: &Bench, name: &str) -> bool {
    Api::<Cluster>::all(bench.plane().observer())
        .get_opt(name)
        .await
        .unwrap()
        .is_some()
}

async fn blocked(bench: &Bench) -> String {
    let (status, message) = bench.said("m1", "DeletionBlocked").await;
    assert_eq!(status, "True");
    message
}

/// Two Push clusters that are Ready and take ConfigMaps, and the controller `cluster`.
async fn two_clusters(reporters: &[Reporter], timeout: Duration) -> (Bench, Running) {
    let bench = Bench::new(&["m1", "m2"]);
    let process = bench
        .monitor_with("cluster-0", |flags| flags.cluster.cluster_deletion_timeout = timeout)
        .await;
    bench.until(1).await;
    for name in ["m1", "m2"] {
        let patch = Patch::Merge(
            json!({"status": {"apiEnablements": [{"groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap"}]}]}}),
        );
        Api::<Cluster>::all(bench.plane().observer())
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
        bench.report(name, "True", "ClusterReady").await;
    }
    pass(&bench, 20, reporters).await;
    (bench, process)
}

fn pause(bench: &Bench, name: &str, spec: Value) {
    bench.put(json!({"apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": name}, "spec": spec}));
}

#[test]
fn the_condition_counts_what_holds_the_bindings() {
    paused(async {
        let mut reporters = control_plane();
        reporters.push(Reporter::push(2));
        let (bench, _process) = two_clusters(&reporters, Duration::ZERO).await;
        on_m1(&bench, "free");
        binding(
            &bench,
            "stuck",
            json!({"clusters": [{"name": "m1"}], "placement": {"clusterAffinity": {"clusterNames": ["m1"]}}}),
        );
        binding(
            &bench,
            "moving",
            json!({"clusters": [{"name": "m2"}],
            "gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}]}),
        );
        binding(&bench, "elsewhere", json!({"clusters": [{"name": "m2"}]}));
        delete(&bench, "m1").await;
        pass(&bench, 22, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message.starts_with(
                "3 bindings name this cluster in spec.clusters or in a graceful eviction task: 1 without a target \
                 (default/stuck: "
            ) && message.contains(
                "), 1 moving, until the new copy is healthy, 1 waiting for a turn. It is deleted when they leave;"
            ) && message.ends_with(ALL),
            "{message}"
        );
        // A pause, told within ten seconds.
        pause(
            &bench,
            "night",
            json!({"scope": "Clusters", "clusters": ["m1"], "reason": "maintenance"}),
        );
        pass(&bench, 33, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message.contains("task: 2 paused (FailoverPause night: maintenance), 1 moving"),
            "{message}"
        );
        pause(
            &bench,
            "night",
            json!({"scope": "All", "reason": "over", "until": bench.at(30).to_string()}),
        );
        // The queue says itself why it releases nothing.
        reporters[1].annotations =
            json!({"failover.karmada.io/standstill": "nothing is released: regime Halted, 2 of 3 clusters are faulty"});
        pass(&bench, 50, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message
                .contains("task: 2 halted (nothing is released: regime Halted, 2 of 3 clusters are faulty), 1 moving"),
            "{message}"
        );
        // Controllers that die, one that needs the other last.
        reporters[2].alive = false;
        reporters[4].alive = false;
        pass(&bench, 90, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message.contains("task: 2 because evictor is not running, 1 because gracefulEviction is not running."),
            "{message}"
        );
        // Without a taint manager the scheduler acts in the end.
        reporters[0].alive = false;
        pass(&bench, 130, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message.contains(
                "1 because gracefulEviction is not running, 2 because taintManager is not running (without it"
            ),
            "{message}"
        );
        // With its gate off it is the scheduler's from the start.
        reporters[0].annotations = json!({"failover.karmada.io/gates": "Failover=false"});
        reporters[0].alive = true;
        pass(&bench, 150, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message.contains("1 because gracefulEviction is not running, 2 waiting for a turn"),
            "{message}"
        );
        reporters[3].alive = false;
        pass(&bench, 190, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message.contains("1 because gracefulEviction is not running, 2 because scheduler is not running"),
            "{message}"
        );
        let writes = bench.writes().len();
        pass(&bench, 600, &reporters).await;
        assert_eq!(bench.writes()[writes..], [""; 0], "the same again is not written");
    });
}

#[test]
fn the_administrators_time_ends_the_deletion_of_a_member_that_is_not_ready() {
    paused(async {
        let reporters = [Reporter::push(2)];
        let (bench, _process) = two_clusters(&reporters, Duration::from_secs(600)).await;
        on_m1(&bench, "b");
        delete(&bench, "m1").await;
        pass(&bench, 30, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message.ends_with("if the member is not Ready it ends by itself after 10m (--cluster-deletion-timeout)"),
            "{message}"
        );
        // Ready: its time passes and it waits on.
        pass(&bench, 900, &reporters).await;
        assert!(is_there(&bench, "m1").await);
        bench.report("m1", "False", "ClusterNotReachable").await;
        pass(&bench, 901, &reporters).await;
        assert!(!is_there(&bench, "m1").await);
        let events = bench.events("m1").await;
        let (_, note) = events
            .iter()
            .find(|(reason, _)| reason == "DeletionNotAwaited")
            .unwrap();
        assert!(
            note.contains("1 binding(s) name it: --cluster-deletion-timeout has passed"),
            "{note}"
        );
        let namespaces = Api::<Namespace>::all(bench.plane().observer());
        assert!(namespaces.get_opt("karmada-es-m1").await.unwrap().is_none());
        assert!(is_there(&bench, "m2").await);
    });
}

#[test]
fn the_administrators_time_is_exact_and_survives_restarts() {
    paused(async {
        let reporters = [Reporter::push(2)];
        let timeout = Duration::from_secs(600);
        let (bench, process) = two_clusters(&reporters, timeout).await;
        on_m1(&bench, "b");
        bench.report("m1", "False", "ClusterNotReachable").await;
        delete(&bench, "m1").await;
        pass(&bench, 300, &reporters).await;
        process.stop().await;
        let _process = bench
            .monitor_with("cluster-1", |flags| flags.cluster.cluster_deletion_timeout = timeout)
            .await;
        pass(&bench, 619, &reporters).await;
        assert!(is_there(&bench, "m1").await, "blocked since 20");
        pass(&bench, 621, &reporters).await;
        assert!(!is_there(&bench, "m1").await);
    });
}

// A wall clock that is set, by an hour here, neither deletes what still waits nor lets it wait longer.
#[test]
fn the_administrators_time_is_elapsed_time() {
    for by in [SignedDuration::from_hours(1), SignedDuration::from_hours(-1)] {
        paused(async move {
            let timeout = Duration::from_secs(600);
            let (bench, _process) = two_clusters(&[], timeout).await;
            on_m1(&bench, "b");
            bench.report("m1", "False", "ClusterNotReachable").await;
            delete(&bench, "m1").await;
            let deleted = tokio::time::Instant::now();
            tokio::time::sleep(Duration::from_secs(60)).await;
            bench.clock.jump(by);
            tokio::time::sleep_until(deleted + timeout - Duration::from_secs(1)).await;
            assert!(is_there(&bench, "m1").await, "{by:#}");
            tokio::time::sleep_until(deleted + timeout + Duration::from_secs(1)).await;
            assert!(!is_there(&bench, "m1").await, "{by:#}");
        });
    }
}

// C67 (karmada PR#845): a cluster that dies after its deletion began does not look Ready for ever.
#[test]
fn a_pull_cluster_that_dies_while_it_is_deleted_becomes_unknown_and_then_goes() {
    paused(async {
        let (bench, process, mut agents) = Bench::watched(&["m1", "m2", "m3"]).await;
        process.stop().await;
        let _process = bench
            .monitor_with("cluster-1", |flags| {
                flags.cluster.cluster_deletion_timeout = Duration::from_secs(300);
            })
            .await;
        on_m1(&bench, "b");
        pass(&bench, 101, &agents).await;
        delete(&bench, "m1").await;
        agents[0].alive = false;
        pass(&bench, 142, &agents).await;
        assert_eq!(bench.ready("m1").await, said("Unknown", "ClusterStatusUnknown"));
        pass(&bench, 400, &agents).await;
        assert!(is_there(&bench, "m1").await);
        pass(&bench, 403, &agents).await;
        assert!(!is_there(&bench, "m1").await);
    });
}

// C102 (karmada#3740): without a word it stays and says what keeps it; with one it goes at once, and nothing else does.
#[test]
fn works_that_nobody_lets_go_are_counted_and_force_does_not_wait_for_them() {
    paused(async {
        let reporters = [Reporter::push(2)];
        let (bench, _process) = two_clusters(&reporters, Duration::ZERO).await;
        for number in 0..50 {
            bench.put(json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
                "metadata": {"name": format!("w{number}"), "namespace": "karmada-es-m1", "finalizers": ["karmada.io/execution-controller"]},
                "spec": {"workload": {"manifests": []}}}));
        }
        bench.report("m1", "Unknown", "ClusterStatusUnknown").await;
        delete(&bench, "m1").await;
        pass(&bench, 23, &reporters).await;
        assert_eq!(
            bench.said("m1", "DeletionBlocked").await.0,
            "",
            "a namespace may take a moment"
        );
        pass(&bench, 30, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message.starts_with(
                "no binding names this cluster any more; its namespace karmada-es-m1 holds 50 Works, which execution lets go, \
                 since the member is not Ready; "
            ) && message.ends_with(ALL),
            "{message}"
        );
        let works = Api::<Work>::namespaced(bench.plane().observer(), "karmada-es-m1");
        let patch = Patch::Merge(json!({"metadata": {"finalizers": []}}));
        works.patch("w0", &PatchParams::default(), &patch).await.unwrap();
        pass(&bench, 45, &reporters).await;
        assert!(blocked(&bench).await.contains("holds 49 Works"));
        assert!(is_there(&bench, "m1").await);
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"failover.karmada.io/force-delete": "true"}}}));
        Api::<Cluster>::all(bench.plane().observer())
            .patch("m1", &PatchParams::default(), &patch)
            .await
            .unwrap();
        pass(&bench, 46, &reporters).await;
        assert!(!is_there(&bench, "m1").await);
        assert!(is_there(&bench, "m2").await);
    });
}

#[test]
fn a_stay_by_hand_is_told() {
    paused(async {
        let reporters = control_plane();
        let (bench, _process) = two_clusters(&reporters, Duration::ZERO).await;
        on_m1(&bench, "b");
        let patch =
            Patch::Merge(json!({"metadata": {"annotations": {"failover.karmada.io/stay": "[{\"cluster\": \"m1\"}]"}}}));
        Api::<api_types::work::Binding>::namespaced_with(
            bench.plane().observer(),
            "default",
            &api_types::work::BindingKind::Namespaced,
        )
        .patch("b", &PatchParams::default(), &patch)
        .await
        .unwrap();
        delete(&bench, "m1").await;
        pass(&bench, 40, &reporters).await;
        let message = blocked(&bench).await;
        assert!(
            message.contains("1 kept by hand (the annotation failover.karmada.io/stay)"),
            "{message}"
        );
    });
}

#[test]
fn the_count_is_written_at_most_every_five_seconds() {
    paused(async {
        let reporters = control_plane();
        let (bench, _process) = two_clusters(&reporters, Duration::ZERO).await;
        for number in 0..100 {
            on_m1(&bench, &format!("b{number}"));
        }
        delete(&bench, "m1").await;
        pass(&bench, 21, &reporters).await;
        let before = bench.status_writes("m1").len();
        for number in 0..100 {
            binding(&bench, &format!("b{number}"), json!({"clusters": [{"name": "m2"}]}));
            let due = bench.started + Duration::from_millis(21_000 + number * 200);
            tokio::time::sleep(Duration::try_from(due.duration_since(bench.clock.now())).unwrap_or_default()).await;
        }
        pass(&bench, 45, &reporters).await;
        let written = bench.status_writes("m1").len() - before;
        assert!((3..=5).contains(&written), "{written} writes in 20 s");
        assert!(!is_there(&bench, "m1").await);
    });
}
