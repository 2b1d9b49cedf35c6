//! State that is kept of the copy that leaves, end to end.

use controller_kit::Mode;
use eviction_queue_api::v1::{EntryState, HoldReason};
use rstest::rstest;
use serde_json::{Value, json};

use super::scene::{NOT_READY, Scene};
use test_bench::paused;

/// `spec.failover` that keeps `.job` of the status as a label.
fn keeps_job() -> Value {
    json!({"failover": {"cluster": {"statePreservation": {
        "rules": [{"aliasLabelName": "failover.example.com/job", "jsonPath": "{.job}"}]}}}})
}

async fn report(scene: &Scene, key: &str, cluster: &str, status: &Value) {
    let item = json!({"clusterName": cluster, "applied": true, "status": status});
    scene.patch_status(key, json!({"aggregatedStatus": [item]})).await;
}

#[rstest]
fn state_that_was_reported_goes_along_at_once(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], keeps_job());
        report(&scene, "default/web", "m1", &json!({"job": "J1", "replicas": 2})).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        let task = scene.task("default/web", "m1").await.unwrap();
        assert_eq!(
            serde_json::to_value(&task.preserved_label_state).unwrap(),
            json!({"failover.example.com/job": "J1"})
        );
        assert!(!task.message.unwrap_or_default().contains("state"));
        assert!(scene.events("StateNotPreserved").await.is_empty());
    });
}

/// The cluster never reported it and never will: the eviction waits visibly for a minute after it was due, then the
/// workload leaves, and everybody is told that its state did not come along. (karmada f8fdd02, S05: stock tries for ever.)
#[rstest]
fn s05_state_that_is_missing_is_waited_for_and_then_given_up(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], keeps_job());
        scene.binding("other", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(25).await;
        assert!(scene.task("default/other", "m1").await.is_some(), "it holds nobody up");
        let entries = scene.entries().await;
        let hold = entries[0].hold.clone().unwrap();
        assert_eq!(
            (entries[0].state(), hold.reason()),
            (EntryState::Held, HoldReason::Wait)
        );
        let why =
            "no state of the copy is kept: failover.example.com/job ({.job}): the cluster has not reported a status";
        assert!(hold.message.contains(why), "{}", hold.message);
        let condition = scene
            .get("default/web")
            .await
            .condition("EvictionPending")
            .cloned()
            .unwrap();
        assert!(condition.message.contains(why), "{}", condition.message);
        scene.until(79).await;
        assert!(scene.task("default/web", "m1").await.is_none());
        scene.until(82).await;
        let task = scene.task("default/web", "m1").await.unwrap();
        assert!(task.preserved_label_state.is_empty());
        assert!(task.message.unwrap_or_default().ends_with(why));
        let mut told = scene.events("StateNotPreserved").await;
        told.sort();
        let expected = ["Deployment", "ResourceBinding"].map(|kind| format!("{kind}/web: leaves m1, and {why}"));
        assert_eq!(told, expected);
    });
}

/// What is reported while it is waited for goes along, and the eviction does not wait to the end of its time then.
#[rstest]
fn state_that_is_reported_meanwhile_goes_along(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], keeps_job());
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(34).await;
        report(&scene, "default/web", "m1", &json!({"job": "J1"})).await;
        scene.until(42).await;
        let task = scene.task("default/web", "m1").await.unwrap();
        assert_eq!(task.preserved_label_state["failover.example.com/job"], "J1");
        assert!(scene.events("StateNotPreserved").await.is_empty());
        assert_eq!(scene.events("EvictionHeld").await.len(), 1, "each look is no news");
    });
}

/// A rule that nobody can read is named, and costs the other rules nothing.
#[rstest]
fn a_rule_that_cannot_be_read_counts_as_missing(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let mut spec = keeps_job();
        let rules = &mut spec["failover"]["cluster"]["statePreservation"]["rules"];
        let rules = rules.as_array_mut().unwrap();
        rules.push(json!({"aliasLabelName": "replicas", "jsonPath": ".replicas"}));
        scene.binding("web", &["m1"], spec);
        report(&scene, "default/web", "m1", &json!({"job": "J1", "replicas": 2})).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(79).await;
        let condition = scene
            .get("default/web")
            .await
            .condition("EvictionPending")
            .cloned()
            .unwrap();
        let why = "replicas (.replicas): the JSONPath of the rule cannot be read: an expression stands in braces";
        assert!(condition.message.contains(why), "{}", condition.message);
        scene.until(82).await;
        let task = scene.task("default/web", "m1").await.unwrap();
        assert_eq!(task.preserved_label_state["failover.example.com/job"], "J1");
        assert_eq!(task.preserved_label_state.len(), 1);
        assert_eq!(scene.events("StateNotPreserved").await.len(), 2);
    });
}

/// The new copy fails before it was ever healthy: what was kept of the first one goes on to the third, and is not
/// replaced by what the second one shows. (karmada#6232, C99)
#[rstest]
fn c99_a_second_failover_keeps_the_state_of_the_first(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2", "m3", "m4"]);
        let mut spec = keeps_job();
        spec["placement"] =
            json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]});
        scene.binding("web", &["m1"], spec);
        report(&scene, "default/web", "m1", &json!({"job": "J1"})).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        // The scheduler places it on m2, where it never becomes healthy and shows a state of its own.
        scene.placed("default/web", &["m2"]).await;
        let items = json!([
            {"clusterName": "m1", "applied": true, "health": "Healthy", "status": {"job": "J1"}},
            {"clusterName": "m2", "applied": true, "health": "Unhealthy", "status": {"job": "J2"}},
        ]);
        scene
            .patch_status("default/web", json!({"aggregatedStatus": items}))
            .await;
        scene.taint("m2", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(30).await;
        for cluster in ["m1", "m2"] {
            let task = scene.task("default/web", cluster).await.unwrap();
            assert_eq!(
                task.preserved_label_state["failover.example.com/job"], "J1",
                "{cluster}"
            );
        }
    });
}
