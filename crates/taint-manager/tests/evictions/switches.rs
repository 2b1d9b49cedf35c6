//! What a switch keeps from happening is said, once for each cluster.

use controller_kit::{KitFlags, Mode};
use rstest::rstest;
use serde_json::json;
use taint_manager::Flags;

use super::scene::{NOT_READY, Scene};
use test_bench::paused;

/// With the gate off nothing is queued, however long a cluster is gone, and one event names the gate. That nobody else moves
/// anything then is seen where everybody runs.
#[rstest]
fn without_the_gate_nothing_is_queued(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1", "m2"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene
            .manager_with("manager-0", Flags::default(), "Failover=false")
            .await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(3620).await;
        scene.patch("default/web", json!({"spec": {"replicas": 3}})).await;
        scene.until(3700).await;
        assert_eq!(scene.spec_writes(), []);
        assert!(scene.entries().await.is_empty());
        assert_eq!(
            scene.events("EvictionSwitchedOff").await,
            [
                "Cluster/m1: no workload moves because of taint cluster.karmada.io/not-ready:NoExecute: the feature gate Failover is off"
            ]
        );
        let labels = [("cluster_name", "m1"), ("switch", "the feature gate Failover")];
        assert_eq!(
            manager.metrics().value("taint_manager_evictions_switched_off", &labels),
            Some(1.0)
        );
    });
}

/// With NoExecute evictions off nothing moves, and one event names the switch; with them on it moves within a second
/// (C26, karmada#6925).
#[rstest]
fn the_switch_that_is_off_is_named(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding(
            "web",
            &["m1"],
            json!({"failover": {"cluster": {"purgeMode": "Directly"}}}),
        );
        let _queue = scene.queue("queue-0", 1.0).await;
        let flags = Flags {
            enable_no_execute_taint_eviction: false,
            ..Flags::default()
        };
        let manager = scene.manager_with("manager-0", flags, "Failover=true").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.taint("m2", &json!([])).await;
        scene.until(600).await;
        assert_eq!(scene.spec_writes(), []);
        let events = scene.events("EvictionSwitchedOff").await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(
            events[0].contains("--enable-no-execute-taint-eviction is off"),
            "{events:?}"
        );
        let labels = [("cluster_name", "m1"), ("switch", "--enable-no-execute-taint-eviction")];
        assert_eq!(
            manager.metrics().value("taint_manager_evictions_switched_off", &labels),
            Some(1.0)
        );
        scene.taint("m1", &json!([])).await;
        scene.until(601).await;
        assert_eq!(
            manager.metrics().value("taint_manager_evictions_switched_off", &labels),
            None
        );

        manager.stop().await;
        let _manager = scene.manager("manager-1").await;
        scene.until(620).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(621).await;
        assert_eq!(scene.evicted(), 1);
    });
}

/// Without an evictor the queue still shows what would go, and the bindings say that they wait.
#[rstest]
fn without_an_evictor_everything_waits_visibly(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let kit = || KitFlags::default().with_feature_gates("Failover=true");
        let _manager = scene
            .start("manager-0", Flags::default(), kit().with_controllers("*,-evictor"))
            .await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(120).await;
        assert_eq!(scene.spec_writes(), []);
        assert_eq!(scene.entries().await.len(), 1);
        assert_eq!(
            scene
                .get("default/web")
                .await
                .condition("EvictionPending")
                .unwrap()
                .reason,
            "Ready"
        );
        let _evictor = scene
            .start("evictor-0", Flags::default(), kit().with_controllers("evictor"))
            .await;
        scene.until(123).await;
        assert_eq!(scene.evicted(), 1);
    });
}

/// Records can be switched off.
#[rstest]
fn without_records_none_is_written(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let flags = Flags {
            failover_records: false,
            ..Flags::default()
        };
        let _manager = scene.manager_with("manager-0", flags, "Failover=true").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(30).await;
        assert_eq!(scene.evicted(), 1);
        assert!(
            scene
                .plane
                .list("failover.karmada.io/v1alpha1", "FailoverRecord")
                .is_empty()
        );
    });
}
