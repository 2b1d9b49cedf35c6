//! The clusters on which an application failed are no place for it: no ping-pong.

use controller_kit::Mode;
use eviction_queue_api::v1::HoldReason;
use rstest::rstest;
use serde_json::json;

use super::{Stage, asks, on_one_cluster};
use test_bench::paused;
use test_bench::stock::Excepted;

/// A stage on which web left m1 for m2 at about 25, and fails there too.
async fn failed_twice(mode: Mode, clusters: &[&str], block_predecessor_seconds: Option<u32>) -> Stage {
    let stage = Stage::in_mode(mode, clusters, 1.0).await;
    let rules = json!({
        "decisionConditions": {"tolerationSeconds": 5}, "blockPredecessorSeconds": block_predecessor_seconds,
        "statePreservation": {"rules": [{"aliasLabelName": "job", "jsonPath": "{.job}"}]},
    });
    stage.scene.binding("web", &["m1"], on_one_cluster(asks(rules)));
    stage.report("default/web", &[("m1", "Unhealthy")]).await;
    stage.scene.until(30).await;
    assert!(stage.scene.task("default/web", "m1").await.is_some());
    stage.scene.placed("default/web", &["m2"]).await;
    stage
        .report("default/web", &[("m1", "Unhealthy"), ("m2", "Unhealthy")])
        .await;
    stage
}

/// Nowhere is healthy, such as for an image that does not exist: it moves at most once a cluster and block, and is held
/// until the first block ends.
#[rstest]
fn between_two_bad_clusters_nothing_goes_to_and_fro(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = failed_twice(mode, &["m1", "m2"], None).await;
        let scene = &stage.scene;
        scene.until(60).await;
        let entries = scene.entries().await;
        let hold = entries[0].hold.clone().unwrap();
        assert_eq!(hold.reason(), HoldReason::NoTarget);
        assert!(
            hold.message.contains("1 cluster(s) is in the process of eviction"),
            "{}",
            hold.message
        );
        if scene.company.expects(Excepted::ConditionAtEveryMoment) {
            let condition = scene
                .get("default/web")
                .await
                .condition("EvictionPending")
                .cloned()
                .unwrap();
            assert_eq!(condition.reason, "NoTarget");
        }
        let left = u64::try_from(scene.evicted_at("default/web", "m1").await.unwrap()).unwrap();
        scene.until(left + 599).await;
        assert!(scene.task("default/web", "m2").await.is_none());
        scene.until(left + 601).await;
        let task = scene.task("default/web", "m2").await.unwrap();
        assert_eq!(task.reason, "ApplicationFailure");
        let binding = scene.get("default/web").await;
        let history: Vec<&str> = binding
            .spec
            .active_eviction_history
            .iter()
            .map(|item| item.cluster_name.as_str())
            .collect();
        assert_eq!(history, ["m2"], "the block of m1 is over, and stays over");
        assert_eq!(scene.spec_writes().len(), 2);
    });
}

/// 0: until a person removes the item; then at once.
#[rstest]
fn a_block_without_an_end_ends_by_a_person_s_hand(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = failed_twice(mode, &["m1", "m2"], Some(0)).await;
        let scene = &stage.scene;
        scene.until(5000).await;
        assert!(scene.task("default/web", "m2").await.is_none());
        let mut lifted = json!({"activeEvictionHistory": null});
        if !scene.company.expects(Excepted::FieldWithoutSecondHome) {
            // Without its mark the task itself is the block, whatever becomes of the history.
            lifted["gracefulEvictionTasks"] = json!(null);
        }
        scene.patch("default/web", json!({"spec": lifted})).await;
        // The scheduler has seen that, and leaves it where it is.
        scene.placed("default/web", &["m2"]).await;
        scene.until(5003).await;
        assert!(scene.task("default/web", "m2").await.is_some());
    });
}

/// The third cluster is a place at once; and what was kept of the first copy goes on there, since the second one was
/// never healthy. (C99, karmada#6232)
#[rstest]
fn c99_a_second_failover_keeps_the_state_of_the_first(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = failed_twice(mode, &["m1", "m2", "m3"], None).await;
        let scene = &stage.scene;
        scene.until(45).await;
        for cluster in ["m1", "m2"] {
            let task = scene.task("default/web", cluster).await.unwrap();
            assert_eq!(task.preserved_label_state["job"], "of-m1", "{cluster}");
        }
    });
}
