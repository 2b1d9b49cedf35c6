//! Cluster health on a simulated fleet: members that stop, hang, return, and the life of a Cluster.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests count as tests"
)]

mod apis;
mod bench;
mod causes;
mod deletion;
mod isolation;
mod monitor;
mod overdue;
mod probing;
mod reporters;
mod secrets;
mod series;

use std::time::Duration;

use api_types::cluster::Cluster;
use bench::Bench;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams};
use serde_json::json;
use test_bench::paused;

fn said(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

#[test]
fn a_healthy_member_is_ready_at_once_and_described() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(3).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.until(12).await;
        let cluster = bench.cluster("m1").await;
        let status = cluster.status.clone().unwrap();
        assert_eq!(status.kubernetes_version.as_deref(), Some("v1.36.3-sandbox"));
        let apps = status
            .api_enablements
            .iter()
            .find(|api| api.group_version == "apps/v1")
            .unwrap();
        assert!(
            apps.resources
                .iter()
                .any(|r| r.name == "deployments" && r.kind == "Deployment")
        );
        assert!(apps.resources.iter().all(|r| !r.name.contains('/')));
        assert_eq!(status.node_summary.unwrap().ready_num, 1);
        assert!(status.resource_summary.unwrap().allocatable.contains_key("cpu"));
        assert_eq!(cluster.condition("CompleteAPIEnablements").unwrap().status, "True");
        assert_eq!(
            cluster.metadata.finalizers.clone().unwrap(),
            ["karmada.io/cluster-controller"]
        );
        let namespace = Api::<Namespace>::all(bench.plane().observer())
            .get("karmada-es-m1")
            .await
            .unwrap();
        assert_eq!(namespace.metadata.labels.unwrap()["karmada.io/system"], "true");
    });
}

#[test]
fn a_namespace_that_another_hand_made_gets_its_label() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-es-m1", "labels": {"team": "a"}},
        }));
        let _process = bench.start("health-0").await;
        bench.until(3).await;
        let namespace = Api::<Namespace>::all(bench.plane().observer())
            .get("karmada-es-m1")
            .await
            .unwrap();
        let labels = namespace.metadata.labels.unwrap();
        assert_eq!(labels["karmada.io/system"], "true");
        assert_eq!(labels["team"], "a");
    });
}

#[test]
fn at_rest_nothing_is_asked_and_nothing_written() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        bench.plane().faults().reset_counts();
        let before = bench.writes().len();
        bench.until(3660).await;
        assert_eq!(bench.writes()[before..], [""; 0]);
        // Informers list everything anew twice an hour, to find what a watch missed.
        assert!(bench.requests() <= 2 * 6, "{:?}", bench.plane().faults().counts());
    });
}

#[test]
fn a_member_that_stops_is_not_ready_after_the_threshold_and_ready_again_after_the_other() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        bench.member("m1").stop();
        bench.until(89).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.until(101).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
        let writes = bench.writes().len();
        bench.until(1000).await;
        assert_eq!(
            bench.writes().len(),
            writes,
            "a member that stays away is not written about again"
        );
        bench.member("m1").resume();
        bench.until(1029).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
        bench.until(1042).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        let events = bench.events("m1").await;
        let count = |reason: &str| events.iter().filter(|(r, _)| r == reason).count();
        assert_eq!((count("ClusterReady"), count("ClusterNotReady")), (2, 1), "{events:?}");
        let (_, note) = events.iter().find(|(reason, _)| reason == "ClusterNotReady").unwrap();
        assert!(
            note.starts_with("Ready is False after 30s: GET /readyz got no answer"),
            "{note}"
        );
    });
}

// C63
#[test]
fn a_blip_changes_nothing() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        let writes = bench.writes().len();
        for round in 0..15 {
            bench.member("m1").stop();
            bench.until(60 + round * 20 + 10).await;
            bench.member("m1").resume();
            bench.until(60 + round * 20 + 20).await;
        }
        assert_eq!(bench.writes()[writes..], [""; 0]);
    });
}

#[test]
fn any_answer_but_2xx_is_reachable_and_not_ready() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        bench.member("m1").fail(503);
        bench.member("m2").fail(401);
        bench.until(105).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReady"));
        assert_eq!(bench.ready("m2").await, said("False", "ClusterNotReady"));
        let message = bench.cluster("m2").await.condition("Ready").unwrap().message.clone();
        assert!(
            message.contains("secret karmada-cluster/m2") && message.contains("put a valid one"),
            "{message}"
        );
    });
}

// C68, karmada's G25: hanging members must not delay others.
#[test]
fn members_that_hang_delay_nobody() {
    paused(async {
        let names = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"];
        let bench = Bench::new(&names);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        for name in &names[1..] {
            bench.member(name).hang();
        }
        bench.until(300).await;
        for name in &names[1..] {
            assert_eq!(bench.ready(name).await, said("False", "ClusterNotReachable"));
        }
        bench.member("m1").stop();
        bench.until(341).await;
        assert_eq!(
            bench.ready("m1").await,
            said("False", "ClusterNotReachable"),
            "within threshold and a period"
        );
        let black_hole = bench
            .cluster("m2")
            .await
            .condition("Ready")
            .unwrap()
            .last_transition_time
            .0;
        let after = black_hole.duration_since(bench.started).as_secs() - 60;
        assert!(
            (30..=50).contains(&after),
            "not ready after {after} s: threshold and two periods at most"
        );
    });
}

// C62, C75
#[test]
fn a_missing_secret_takes_the_threshold_and_says_what_to_do() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        let secrets =
            Api::<k8s_openapi::api::core::v1::Secret>::namespaced(bench.plane().observer(), "karmada-cluster");
        secrets.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(75).await;
        bench.put_secret("m1");
        bench.until(120).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"), "back in time");
        secrets.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(145).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.until(165).await;
        assert_eq!(bench.ready("m1").await, said("False", "StatusCollectionFailed"));
        let message = bench.cluster("m1").await.condition("Ready").unwrap().message.clone();
        assert!(
            message.contains("secret karmada-cluster/m1 (spec.secretRef of cluster m1) does not exist: create it"),
            "{message}"
        );
        assert!(
            bench
                .events("m1")
                .await
                .iter()
                .any(|(reason, note)| reason == "ClusterNotReady" && note.contains("create it"))
        );
        assert_eq!(
            bench.ready("m2").await,
            said("True", "ClusterReady"),
            "the rest goes on"
        );
        bench.put_secret("m1");
        bench.until(210).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
    });
}

#[test]
fn a_cluster_with_a_useless_address_says_so() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_secret("lost");
        bench.put_cluster("lost");
        let _process = bench.start("health-0").await;
        bench.until(20).await;
        assert_eq!(bench.ready("lost").await, said("False", "StatusCollectionFailed"));
        let message = bench.cluster("lost").await.condition("Ready").unwrap().message.clone();
        assert!(message.contains("http://lost.sandbox"), "{message}");
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
    });
}

#[test]
fn a_restarted_process_does_not_flip_at_its_first_look() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let process = bench.start("health-0").await;
        bench.until(60).await;
        bench.member("m1").stop();
        bench.until(80).await;
        process.crash();
        bench.until(82).await;
        let _next = bench.start("health-1").await;
        bench.until(110).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.until(145).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
    });
}

#[test]
fn without_the_reporter_ready_is_unknown_from_the_first_moment() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start_with("health-0", "*,-clusterStatus").await;
        bench.until(2).await;
        assert_eq!(bench.ready("m1").await, said("Unknown", "ClusterStatusNeverUpdated"));
    });
}

// C70, and 02: namespace and finalizer go last.
#[test]
fn a_deletion_waits_for_bindings_and_ends() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let process = bench.start("health-0").await;
        bench.put(
            json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "namespace": "default"},
                     "clusters": [{"name": "m1"}]}}),
        );
        bench.until(30).await;
        assert_eq!(
            process
                .metrics()
                .value("cluster_ready_state", &[("member_cluster", "m1")]),
            Some(1.0)
        );
        let looks = "cluster_sync_status_duration_seconds";
        let text = process.metrics().render();
        assert!(text.contains(&format!("# TYPE {looks} histogram")), "{text}");
        assert!(
            text.contains(&format!("{looks}_bucket{{member_cluster=\"m1\",le=\"0.001\"}}")),
            "{text}"
        );
        assert_eq!(controller_kit::metrics::complaints(&text), [""; 0], "{text}");
        let clusters = Api::<Cluster>::all(bench.plane().observer());
        clusters.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(60).await;
        let blocked = bench.cluster("m1").await.condition("DeletionBlocked").unwrap().clone();
        assert_eq!(blocked.status, "True");
        assert!(
            blocked.message.contains("1 binding names this cluster") && blocked.message.contains("force-delete"),
            "{}",
            blocked.message
        );
        let namespaces = Api::<Namespace>::all(bench.plane().observer());
        assert!(
            namespaces.get_opt("karmada-es-m1").await.unwrap().is_some(),
            "Works stay until the bindings have left"
        );
        // C67: its health is still told.
        bench.member("m1").stop();
        bench.until(120).await;
        assert_eq!(bench.ready("m1").await.0, "False");
        let bindings = Api::<api_types::work::Binding>::namespaced_with(
            bench.plane().observer(),
            "default",
            &api_types::work::BindingKind::Namespaced,
        );
        let patch = kube::api::Patch::Merge(json!({"spec": {"clusters": [{"name": "m2"}]}}));
        bindings
            .patch("b", &kube::api::PatchParams::default(), &patch)
            .await
            .unwrap();
        bench.until(121).await;
        assert!(clusters.get_opt("m1").await.unwrap().is_none());
        assert!(namespaces.get_opt("karmada-es-m1").await.unwrap().is_none());
        assert_eq!(
            process
                .metrics()
                .value("cluster_ready_state", &[("member_cluster", "m1")]),
            None
        );
        assert_eq!(
            process
                .metrics()
                .value("cluster_ready_state", &[("member_cluster", "m2")]),
            Some(1.0)
        );
    });
}

#[test]
fn a_person_ends_a_blocked_deletion() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.put(json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ClusterResourceBinding",
            "metadata": {"name": "b"},
            "spec": {"resource": {"apiVersion": "v1", "kind": "Namespace", "name": "n"},
                     "gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}]}}));
        bench.until(30).await;
        let clusters = Api::<Cluster>::all(bench.plane().observer());
        clusters.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(60).await;
        assert!(clusters.get_opt("m1").await.unwrap().is_some());
        let patch =
            kube::api::Patch::Merge(json!({"metadata": {"annotations": {"failover.karmada.io/force-delete": "true"}}}));
        clusters
            .patch("m1", &kube::api::PatchParams::default(), &patch)
            .await
            .unwrap();
        bench.until(61).await;
        assert!(clusters.get_opt("m1").await.unwrap().is_none());
    });
}

#[test]
fn a_transition_whose_answer_was_lost_is_told_once() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        bench.member("m1").stop();
        let status = kube_sandbox::Match::writes().resource("clusters").subresource("status");
        bench
            .plane()
            .faults()
            .inject_times(status, 0, 1, kube_sandbox::Effect::AnswerLost);
        bench.until(140).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
        let told = bench
            .events("m1")
            .await
            .into_iter()
            .filter(|(reason, _)| reason == "ClusterNotReady");
        assert_eq!(told.count(), 1);
    });
}

#[test]
fn a_transition_whose_answer_was_lost_is_told_although_the_member_came_back() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        bench.member("m1").stop();
        let status = kube_sandbox::Match::writes().resource("clusters").subresource("status");
        bench
            .plane()
            .faults()
            .inject_times(status, 0, 1, kube_sandbox::Effect::AnswerLost);
        let mut second = 60;
        while bench.ready("m1").await.0 == "True" && second < 200 {
            second += 1;
            bench.until(second).await;
        }
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
        bench.member("m1").resume();
        bench.until(second + 60).await;
        assert_eq!(bench.ready("m1").await.0, "True");
        let told = bench.events("m1").await;
        let notes: Vec<&str> = told
            .iter()
            .filter(|(reason, _)| reason == "ClusterNotReady")
            .map(|(_, note)| note.as_str())
            .collect();
        assert_eq!(notes.len(), 1, "{told:?}");
        assert!(notes[0].starts_with("Ready is False after "), "{notes:?}");
    });
}

/// Every request meets latency and every tenth write a conflict: the same end, later.
#[test]
fn conflicts_and_latency_change_nothing() {
    paused(async {
        for seed in 1..6 {
            let bench = Bench::new(&["m1", "m2"]);
            let faults = bench.plane().faults();
            faults.seeded_latency(seed, Duration::from_millis(30));
            for k in 0..10 {
                let skip = seed + k * 3;
                faults.inject_times(
                    kube_sandbox::Match::writes().resource("clusters"),
                    skip,
                    1,
                    kube_sandbox::Effect::Conflict,
                );
            }
            let _process = bench.start("health-0").await;
            bench.until(60).await;
            bench.member("m1").stop();
            bench.until(110).await;
            assert_eq!(
                bench.ready("m1").await,
                said("False", "ClusterNotReachable"),
                "seed {seed}"
            );
            assert_eq!(bench.ready("m2").await, said("True", "ClusterReady"), "seed {seed}");
            assert!(bench.cluster("m1").await.metadata.finalizers.is_some());
        }
    });
}
