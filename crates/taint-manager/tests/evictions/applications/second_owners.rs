//! Stock's application failover was not switched off: what has failed is held where that shows, and what a cluster's failure
//! moves is not.

use controller_kit::Mode;
use eviction_queue_api::v1::HoldReason;
use rstest::rstest;
use serde_json::json;

use super::super::scene::NOT_READY;
use super::{Stage, tolerates};
use test_bench::paused;

const CONTROLLER: &str = "resource-binding-application-failover-controller";

#[rstest]
fn a_second_application_failover_holds_failovers_of_applications(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
    #[values(false, true)] by_a_task: bool,
) {
    paused(async move {
        let stage = Stage::in_mode(mode, &["m1", "m2", "m3"], 10.0).await;
        let scene = &stage.scene;
        scene.binding("web", &["m1"], tolerates(10));
        scene.binding("other", &["m3"], json!({}));
        scene.binding(
            "stocks",
            &["m3"],
            json!({"placement": {"clusterTolerations": [{"operator": "Exists"}]}}),
        );
        stage.report("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(25).await;
        if by_a_task {
            let task = json!({"fromCluster": "m3", "producer": CONTROLLER, "purgeMode": "Gracefully", "reason": "ApplicationFailure",
                "gracePeriodSeconds": 600});
            let spec = json!({"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": [task]});
            scene.patch("default/stocks", json!({"spec": spec})).await;
        } else {
            scene.put(json!({
                "apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "default", "name": "stocks.1"},
                "involvedObject": {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "namespace": "default",
                    "name": "stocks"},
                "reason": "EvictWorkloadFromClusterFailed", "type": "Warning", "message": "m",
                "source": {"component": CONTROLLER}, "reportingComponent": CONTROLLER, "reportingInstance": "",
                "firstTimestamp": scene.now_text(), "lastTimestamp": scene.now_text(), "count": 1,
            }));
        }
        scene.taint("m3", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(100).await;
        assert_eq!(scene.evicted_at("default/other", "m3").await, Some(25), "for a taint");
        let entries = scene.entries().await;
        let hold = entries[0].hold.clone().unwrap();
        assert_eq!(hold.reason(), HoldReason::SecondOwner, "{hold:?}");
        assert!(
            hold.message.contains("applicationFailover in namespace default (")
                && hold.message.contains("--controllers=*,-applicationFailover,…"),
            "{}",
            hold.message
        );
        scene.until(324).await;
        assert!(scene.task("default/web", "m1").await.is_none());
        scene.until(330).await;
        assert!(scene.task("default/web", "m1").await.is_some(), "and is not lost");
    });
}
