//! One eviction, its fields, and what people see of it; recovery.

use std::time::Duration;

use api_types::policy::PurgeMode;
use controller_kit::Mode;
use kube_sandbox::{Effect, Match, Verb};
use rstest::rstest;
use serde_json::json;

use super::scene::{CLIENT, NOT_READY, PolicyNow, Scene};
use test_bench::paused;

#[rstest]
fn an_eviction_is_one_write_with_everything_in_it(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 0.5).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        assert_eq!(scene.spec_writes(), [], "nothing happens while nothing is wrong");

        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(30).await;
        let binding = scene.get("default/web").await;
        scene.assert_result(&binding, &[]);
        assert_eq!(
            serde_json::to_value(&binding.spec.graceful_eviction_tasks).unwrap(),
            json!([{
                "fromCluster": "m1", "purgeMode": "Gracefully", "replicas": 2, "reason": "TaintUntolerated",
                "message": "taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-01T00:00:20Z, is not tolerated",
                "producer": "TaintManager", "creationTimestamp": "2026-01-01T00:00:20Z",
                "clustersBeforeFailover": ["m1"],
            }])
        );
        assert_eq!(scene.spec_writes().len(), 1);
        assert_eq!(scene.status_writes(), [], "what goes at once needs no condition");
        let record = &scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord")[0];
        assert_eq!(
            record["spec"],
            json!({
                "binding": {"namespace": "default", "name": "web", "uid": binding.metadata.uid},
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web", "uid": "t"},
                "from": "m1", "replicas": 2,
                "cause": {
                    "type": "Taint", "verdict": "cluster.karmada.io/not-ready:NoExecute@2026-01-01T00:00:20Z",
                    "message": "taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-01T00:00:20Z, is not tolerated",
                },
                "requestedBy": "taintManager", "affectedAt": "2026-01-01T00:00:20Z", "dueAt": "2026-01-01T00:00:20Z",
                "queuedAt": "2026-01-01T00:00:20Z", "releasedAt": "2026-01-01T00:00:20Z", "evictedAt": "2026-01-01T00:00:20Z",
            })
        );
        let note =
            "leaves m1: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-01T00:00:20Z, is not tolerated";
        assert_eq!(
            scene.events("Evicted").await,
            [format!("Deployment/web: {note}")],
            "on the binding it stands in the task"
        );
        assert_eq!(
            scene.events("EvictionReleased").await,
            [""; 0],
            "what follows at once is told"
        );
        assert_eq!(scene.events("EvictionsQueued").await.len(), 1);
        assert!(scene.entries().await.is_empty());
    });
}

/// Each phase has its own time: of two that are tolerated for a minute one waits for its turn, and its reads take long.
#[rstest]
fn a_record_has_the_time_of_each_phase(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let tolerations = json!([{"operator": "Exists", "tolerationSeconds": 60}]);
        let tolerating = json!({"placement": {"clusterAffinity": {}, "clusterTolerations": tolerations}});
        scene.binding("web-0", &["m1"], tolerating.clone());
        scene.binding("web-1", &["m1"], tolerating);
        let _queue = scene.queue("queue-0", 0.1).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let the_read = Match::default()
            .verb(Verb::Get)
            .resource("resourcebindings")
            .name("web-1")
            .client(CLIENT);
        let slow = Effect::Latency(Duration::from_secs(3));
        scene.plane.faults().inject(the_read, slow);
        let taint = json!({"key": NOT_READY, "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:05Z"});
        scene.taint("m1", &json!([taint])).await;
        scene.until(100).await;
        let records = scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
        let record = records
            .iter()
            .find(|record| record["spec"]["binding"]["name"] == "web-1")
            .unwrap();
        let times = ["affectedAt", "queuedAt", "dueAt", "releasedAt", "evictedAt"].map(|phase| {
            let time = record["spec"][phase].as_str().unwrap();
            let time: jiff::Timestamp = time.parse().unwrap();
            time.as_second() - scene.started.as_second()
        });
        assert_eq!(times, [5, 20, 65, 75, 78]);
    });
}

/// With the policies behind the taint, and what these saw.
#[rstest]
fn a_record_names_the_policies_and_the_conditions_behind_the_taint(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let tolerations = json!([{"operator": "Exists", "tolerationSeconds": 5}]);
        let tolerating = json!({"placement": {"clusterAffinity": {}, "clusterTolerations": tolerations}});
        scene.binding("web", &["m1"], tolerating);
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let condition = |type_: &str, status: &str, reason: &str| json!({"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": scene.now_text()});
        scene.tainted_by_policy("m1", PolicyNow::Matches).await;
        let conditions = json!([
            condition("Ready", "False", "ClusterNotReachable"),
            condition("DiskPressure", "True", "Full"),
        ]);
        scene
            .patch_cluster_status("m1", &json!({"status": {"conditions": conditions}}))
            .await;
        scene.until(30).await;
        let record = &scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord")[0];
        let cause = &record["spec"]["cause"];
        assert_eq!(cause["policies"], json!(["not-ready"]));
        assert_eq!(
            cause["conditions"],
            json!([{"type": "Ready", "status": "False", "reason": "ClusterNotReachable"}])
        );
    });
}

/// What enters the queue is told at most once a minute for each cluster, then with all that came meanwhile.
#[rstest]
fn what_is_queued_is_told_once_a_minute(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        for n in 0..3 {
            scene.binding(&format!("web-{n}"), &["m1"], json!({}));
        }
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(40).await;
        for n in 3..5 {
            scene.binding(&format!("web-{n}"), &["m1"], json!({}));
        }
        let told = async || {
            let told = scene.events("EvictionsQueued").await;
            let words = told
                .iter()
                .map(|note| note.split(" to leave").next().unwrap().to_owned());
            words.collect::<Vec<_>>()
        };
        let first = "Cluster/m1: 3 workloads are queued";
        scene.until(80).await;
        assert_eq!(scene.evicted(), 5);
        assert_eq!(told().await, [first]);
        scene.until(84).await;
        assert_eq!(told().await, [first, "Cluster/m1: 2 workloads are queued"]);
    });
}

/// A cluster-scoped binding moves by the same code: purge mode, grace and priority are honoured for both (C22, karmada#6491).
#[rstest]
#[case::directly(PurgeMode::Directly)]
#[case::never(PurgeMode::Never)]
fn bindings_of_both_scopes_get_equal_tasks(
    #[case] purge_mode: PurgeMode,
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let spec = json!({"replicas": null, "failover": {"cluster": {"purgeMode": purge_mode}}});
        scene.binding("web", &["m1"], spec.clone());
        scene
            .patch("default/web", json!({"spec": {"clusters": [{"name": "m1"}]}}))
            .await;
        scene.cluster_binding("reader", &["m1"], spec);
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(15).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(20).await;
        let mut task = scene.task("default/web", "m1").await.unwrap();
        let mut other = scene.task("reader", "m1").await.unwrap();
        assert_eq!(task.purge_mode, Some(purge_mode));
        for task in [&mut task, &mut other] {
            task.creation_timestamp = None;
        }
        assert_eq!(task, other);
        let records = scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
        let namespaces: Vec<_> = records
            .iter()
            .map(|record| record["metadata"]["namespace"].clone())
            .collect();
        assert_eq!(namespaces, ["default", "karmada-system"]);
    });
}

/// What is queued for a cluster that recovers is thrown away, without spending the rate (C50, karmada#6274).
#[rstest]
fn recovery_abandons_what_is_queued(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        for n in 0..100 {
            scene.binding(&format!("web-{n:03}"), &["m1"], json!({}));
        }
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(29).await;
        let published = || {
            manager
                .metrics()
                .value("taint_manager_published_entries", &[("cluster_name", "m1")])
        };
        assert!((89.0..=91.0).contains(&published().unwrap()), "{:?}", published());
        scene.taint("m1", &json!([])).await;
        scene.until(30).await;
        let done = scene.evicted();
        assert!((9..=10).contains(&done), "{done}");
        assert!(scene.entries().await.is_empty());
        scene.until(200).await;
        assert_eq!(scene.evicted(), done);
        assert_eq!(published(), None);
        let abandoned = scene.events("EvictionAbandoned").await;
        assert_eq!(abandoned.len(), 100 - done);
        assert_eq!(abandoned[0].split(": ").nth(1), Some("stays on m1 (ClusterRecovered)"));
        let pending = (0..100).map(|n| format!("default/web-{n:03}"));
        for key in pending {
            assert!(scene.get(&key).await.condition("EvictionPending").is_none(), "{key}");
        }
    });
}

#[rstest]
fn a_binding_that_waits_for_its_turn_says_so(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        for n in 0..30 {
            scene.binding(&format!("web-{n:03}"), &["m1"], json!({}));
        }
        let _queue = scene.queue("queue-0", 0.1).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        // Five seconds to settle, then twenty a second.
        scene.until(24).await;
        assert_eq!(scene.status_writes().len(), 0);
        scene.until(26).await;
        let early = scene.status_writes().len();
        assert!((18..=22).contains(&early), "{early}");
        scene.until(27).await;
        let condition = scene
            .get("default/web-029")
            .await
            .condition("EvictionPending")
            .cloned()
            .unwrap();
        assert_eq!(
            (condition.status.as_str(), condition.reason.as_str()),
            ("True", "Ready")
        );
        assert_eq!(
            condition.message,
            "leaves m1 when its turn comes; due since 2026-01-01T00:00:20Z: taint \
             cluster.karmada.io/not-ready:NoExecute, added at 2026-01-01T00:00:20Z, is not tolerated"
        );
        let written = scene.status_writes().len();
        assert_eq!(written, 29, "the one that went at once had none");
        scene.until(28).await;
        assert_eq!(
            scene.status_writes().len(),
            written,
            "nothing is written that changes nothing"
        );
        scene.until(41).await;
        assert_eq!(scene.evicted(), 3);
        assert_eq!(scene.status_writes().len(), written + 2, "cleared where it is done");
        assert_eq!(
            scene.events("EvictionsQueued").await,
            ["Cluster/m1: 30 workloads are queued to leave, the last because taint \
              cluster.karmada.io/not-ready:NoExecute, added at 2026-01-01T00:00:20Z, is not tolerated"]
        );
    });
}

/// A condition that an earlier process left behind goes at the start (and only there where there is no entry).
#[rstest]
fn stale_conditions_are_cleared_at_the_start(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let mut binding = scene
            .plane
            .get("work.karmada.io/v1alpha2", "ResourceBinding", Some("default"), "web")
            .unwrap();
        let at = "2026-01-01T00:00:00Z";
        binding["status"] = json!({"conditions": [
            {"type": "EvictionPending", "status": "True", "reason": "Ready", "message": "old", "lastTransitionTime": at},
            {"type": "Scheduled", "status": "True", "reason": "Success", "message": "", "lastTransitionTime": at},
        ]});
        scene.plane.put(binding).unwrap();
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(30).await;
        let binding = scene.get("default/web").await;
        assert!(binding.condition("EvictionPending").is_none());
        assert!(binding.condition("Scheduled").is_some());
        assert_eq!(scene.status_writes().len(), 1);
    });
}

/// A second NoExecute taint makes no second task and changes nothing of the first (C10, karmada#3456).
#[rstest]
fn a_cluster_is_never_twice_in_the_tasks(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding(
            "web",
            &["m1", "m2"],
            json!({"placement": {"clusterAffinity": {"clusterNames": ["m1", "m2", "m3"]}}}),
        );
        scene.cluster("m3", &json!({}), &json!([]));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let first = scene.no_execute(NOT_READY);
        scene.taint("m1", &json!([first])).await;
        scene.until(30).await;
        let task = scene.task("default/web", "m1").await.unwrap();
        assert_eq!(task.clusters_before_failover, ["m1", "m2"]);
        scene.taint("m1", &json!([first, scene.no_execute("second")])).await;
        scene.until(60).await;
        let binding = scene.get("default/web").await;
        assert_eq!(binding.spec.graceful_eviction_tasks, [task]);
        scene.assert_result(&binding, &["m2"]);
        assert_eq!(scene.spec_writes().len(), 1);
    });
}

/// An hour in which nothing changes: leases are renewed, and nothing else is written; what has no place is looked at
/// again and again without a word.
#[rstest]
fn at_rest_nothing_is_written(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("calm", &["m2"], json!({}));
        scene.binding(
            "web",
            &["m1"],
            json!({"placement": {"clusterAffinity": {"clusterNames": ["m1"]}}}),
        );
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(100).await;
        let ours = |scene: &Scene| {
            let writes = scene.plane.faults().writes().into_iter();
            writes
                .filter(|write| write.client == CLIENT && write.resource != "leases")
                .count()
        };
        let before = ours(&scene);
        scene.until(3700).await;
        assert_eq!(ours(&scene), before, "{:?}", scene.plane.faults().writes().last());
        let looks = [("outcome", "NoTarget"), ("reason", "NoTarget")];
        let looks = manager.metrics().value("evictor_leases_total", &looks).unwrap();
        assert!((13.0..=14.0).contains(&looks), "{looks}");
    });
}

/// Bindings on which no scheduler has written the placement that it applied, or something unreadable, leave like all
/// others: the verdict reads spec.placement. (Stock puts them into the queue at once and fails on them for ever: karmada
/// f8fdd02, S09.)
#[rstest]
fn s09_without_the_applied_placement_nobody_is_held_up(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        for n in 0..30 {
            scene.binding(&format!("web-{n:02}"), &["m1"], json!({}));
            let applied = match n {
                0..10 => continue,
                10..20 => json!("no placement"),
                _ => json!("{\"clusterAffinity\":{}}"),
            };
            let annotated = json!({"metadata": {"annotations": {"policy.karmada.io/applied-placement": applied}}});
            scene.patch(&format!("default/web-{n:02}"), annotated).await;
        }
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(51).await;
        assert_eq!(scene.evicted(), 30);
        assert_eq!(scene.spec_writes().len(), 30);
    });
}
