//! Due times: computed from what is stored, whatever happens in between.

use api_types::policy::PurgeMode;
use controller_kit::Mode;
use kube_sandbox::{EventEffect, Match};
use rstest::rstest;
use serde_json::{Value, json};
use std::time::Duration;

use super::scene::{NOT_READY, Scene};
use test_bench::paused;

fn tolerating(tolerations: Value) -> Value {
    json!({"placement": {"clusterAffinity": {}, "clusterTolerations": tolerations}})
}

fn for_seconds(seconds: i64) -> Value {
    json!({"key": NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds})
}

/// Nothing is due any more when the taint that made it due goes, though another, tolerated one stays (C28, kubernetes#90794).
#[rstest]
fn the_wait_ends_with_its_taint(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let dedicated = json!({"key": "dedicated", "operator": "Exists"});
        scene.binding("web", &["m1"], tolerating(json!([dedicated, for_seconds(300)])));
        let dedicated = scene.no_execute("dedicated");
        scene.taint("m1", &json!([dedicated])).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(100).await;
        assert!(scene.entries().await.is_empty());
        scene
            .taint("m1", &json!([dedicated, scene.no_execute(NOT_READY)]))
            .await;
        scene.until(200).await;
        assert_eq!(scene.entries().await.len(), 1, "it can be seen while it waits");
        scene.taint("m1", &json!([dedicated])).await;
        scene.until(600).await;
        assert!(scene.entries().await.is_empty());
        assert_eq!(scene.spec_writes(), []);
        let abandoned = scene.events("EvictionAbandoned").await;
        assert!(abandoned[0].contains("(ClusterRecovered)"), "{abandoned:?}");
    });
}

/// A longer or shorter toleration takes effect while it runs (C29, kubernetes#108982).
#[rstest]
fn tolerations_that_change_during_the_wait_count(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        for (changed_to, evicted_at) in [(3600, 3620), (150, 170), (50, 120)] {
            let scene = Scene::in_mode(mode, &["m1", "m2"]);
            scene.binding("web", &["m1"], tolerating(json!([for_seconds(300)])));
            let _queue = scene.queue("queue-0", 1.0).await;
            let _manager = scene.manager("manager-0").await;
            scene.until(20).await;
            scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
            scene.until(120).await;
            let tolerations = json!([for_seconds(changed_to)]);
            scene
                .patch(
                    "default/web",
                    json!({"spec": {"placement": {"clusterTolerations": tolerations}}}),
                )
                .await;
            if evicted_at > 121 {
                scene.until(evicted_at - 1).await;
                assert_eq!(scene.evicted_at("default/web", "m1").await, None, "{changed_to}");
            }
            scene.until(evicted_at + 1).await;
            assert_eq!(
                scene.evicted_at("default/web", "m1").await,
                Some(evicted_at.try_into().unwrap()),
                "{changed_to}"
            );
        }
    });
}

/// The toleration counts from the taint's own time, also when everybody restarted meanwhile (C39, karmada#1945).
#[rstest]
fn a_restart_changes_no_due_time(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], tolerating(json!([for_seconds(300)])));
        let queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(220).await;
        manager.crash();
        queue.crash();
        let _queue = scene.queue("queue-1", 1.0).await;
        let _manager = scene.manager("manager-1").await;
        scene.until(319).await;
        assert_eq!(scene.evicted_at("default/web", "m1").await, None);
        scene.until(321).await;
        assert_eq!(scene.evicted_at("default/web", "m1").await, Some(320));
    });
}

/// Bindings that tolerate for ever take no place in the queue and delay nobody (C41, karmada#7612).
#[rstest]
fn who_tolerates_for_ever_is_not_queued(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let forever = tolerating(json!([{"key": NOT_READY, "operator": "Exists"}]));
        for n in 0..500 {
            scene.binding(&format!("calm-{n:03}"), &["m1"], forever.clone());
        }
        for n in 0..10 {
            scene.binding(&format!("web-{n:03}"), &["m1"], json!({}));
        }
        let _queue = scene.queue("queue-0", 5.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene
            .clock
            .sleep_until(scene.clock.now() + jiff::SignedDuration::from_millis(100))
            .await;
        assert!(scene.entries().await.len() <= 10);
        scene.until(22).await;
        assert_eq!(scene.evicted(), 10);
        scene.until(60).await;
        assert_eq!(scene.evicted(), 10);
    });
}

/// PreferNoExecute moves only who asked for it, and after its own time.
#[rstest]
fn the_softer_effect_moves_who_opted_in(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("calm", &["m1"], json!({}));
        let behavior = json!({"tolerationSeconds": 60, "gracePeriodSeconds": 30, "purgeMode": "Graciously"});
        scene.binding("web", &["m1"], json!({"failover": {"cluster": behavior}}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let taint = json!({"key": NOT_READY, "effect": "PreferNoExecute", "timeAdded": scene.now_text()});
        scene.taint("m1", &json!([taint])).await;
        scene.until(79).await;
        assert_eq!(scene.evicted(), 0);
        scene.until(200).await;
        assert_eq!(scene.evicted_at("default/web", "m1").await, Some(80));
        let task = scene.task("default/web", "m1").await.unwrap();
        assert_eq!(
            (task.purge_mode, task.grace_period_seconds),
            (Some(PurgeMode::Gracefully), Some(30))
        );
        assert_eq!(scene.evicted(), 1);
    });
}

/// What was just placed is not moved on the word of a cache that still shows a taint (C31, kubernetes#119862).
#[rstest]
fn an_old_picture_of_a_cluster_moves_nobody(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        // Everybody but the API server itself sees the taint for two seconds more.
        let late = Match::any().resource("clusters");
        scene
            .plane
            .faults()
            .disturb_events(late, 0, 2, EventEffect::Delay(Duration::from_secs(2)));
        scene.taint("m1", &json!([])).await;
        scene.binding("web", &["m1"], json!({}));
        scene.until(21).await;
        assert_eq!(scene.entries().await.len(), 1, "the cache still shows the taint");
        scene.until(60).await;
        assert_eq!(scene.spec_writes(), []);
        assert!(scene.entries().await.is_empty());
        scene.assert_result(&scene.get("default/web").await, &["m1"]);
    });
}

/// The Cluster m1 is being deleted since 20 s; it is 30 s now.
async fn deleting(scene: &Scene) {
    scene.binding("web", &["m1"], tolerating(json!([{"operator": "Exists"}])));
    scene.until(20).await;
    let clusters = scene.clusters();
    let keep = json!({"metadata": {"finalizers": ["karmada.io/cluster-controller"]}});
    clusters
        .patch("m1", &Default::default(), &kube::api::Patch::Merge(keep))
        .await
        .unwrap();
    clusters.delete("m1", &Default::default()).await.unwrap();
    scene.until(30).await;
}

/// Beside a stock Karmada its scheduler acts, at once: an entry of ours would be a second owner of the move.
#[test]
fn a_cluster_that_is_being_deleted_is_left_to_stocks_scheduler() {
    paused(async {
        let scene = Scene::in_mode(Mode::Beside, &["m1", "m2"]);
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        deleting(&scene).await;
        assert!(scene.entries().await.is_empty());
        assert_eq!(scene.spec_writes(), []);
        assert!(scene.task("default/web", "m1").await.is_none());
    });
}

/// A Cluster that is being deleted is left like one with an untolerated taint (C124).
#[test]
fn a_cluster_that_is_being_deleted_is_left() {
    paused(async {
        let scene = Scene::new(&["m1", "m2"]);
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        deleting(&scene).await;
        let task = scene.task("default/web", "m1").await.unwrap();
        assert_eq!(
            task.message.as_deref(),
            Some("the Cluster is being deleted since 2026-01-01T00:00:20Z")
        );
        let record = &scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord")[0];
        assert_eq!(record["spec"]["cause"]["type"], "Deletion");
    });
}
