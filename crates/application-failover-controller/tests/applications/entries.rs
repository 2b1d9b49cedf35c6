//! What is published: purge mode and grace, holds, and the answers to the queue.

use controller_kit::Mode;
use eviction_queue_api::v1::{Entry, PurgeMode};
use rstest::rstest;
use serde_json::{Value, json};

use super::scene::Scene;
use test_bench::paused;

fn failover(more: &Value) -> Value {
    let mut application = json!({"decisionConditions": {"tolerationSeconds": 60}});
    for (field, value) in more.as_object().unwrap() {
        application[field] = value.clone();
    }
    json!({"failover": {"application": application}})
}

async fn entry_of(spec: Value) -> Entry {
    let scene = Scene::new(&["m1", "m2"]);
    scene.binding("web", &["m1"], spec);
    let _queue = scene.queue("queue-0", 1.0).await;
    let _controller = scene.controller("controller-0").await;
    scene.health("default/web", &[("m1", "Unhealthy")]).await;
    scene.until(20).await;
    scene.entries().await.remove(0)
}

#[rstest]
#[case::by_default(json!({}), PurgeMode::Gracefully, Some(600))]
#[case::gracefully(json!({"purgeMode": "Gracefully", "gracePeriodSeconds": 30}), PurgeMode::Gracefully, Some(30))]
#[case::old_spelling(json!({"purgeMode": "Immediately"}), PurgeMode::Directly, None)]
#[case::directly(json!({"purgeMode": "Directly"}), PurgeMode::Directly, None)]
#[case::never(json!({"purgeMode": "Never"}), PurgeMode::Never, None)]
fn the_policy_s_purge_mode_travels_with_the_entry(
    #[case] more: Value,
    #[case] mode: PurgeMode,
    #[case] grace: Option<i32>,
) {
    paused(async {
        let entry = entry_of(failover(&more)).await;
        assert_eq!(entry.producer, "applicationFailover");
        let published = entry.published.unwrap();
        assert_eq!((published.purge_mode(), published.grace_period_seconds), (mode, grace));
        assert_eq!(published.replicas, 2);
    });
}

/// A person's word holds the entry, and can be seen in the queue.
#[rstest]
fn stay_is_a_hold(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], failover(&json!({})));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _controller = scene.controller("controller-0").await;
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        let stay = json!({"metadata": {"annotations": {"failover.karmada.io/stay": r#"[{"cluster":"m1"}]"#}}});
        scene.patch("default/web", stay).await;
        scene.until(100).await;
        let seen = scene.seen().await;
        assert!(seen[0].ends_with("HELD"), "{seen:?}");
        let go = json!({"metadata": {"annotations": {"failover.karmada.io/stay": null}}});
        scene.patch("default/web", go).await;
        scene.until(101).await;
        let seen = scene.seen().await;
        assert!(seen[0].ends_with("READY"), "{seen:?}");
    });
}
