//! Restarts of the controller and of the queue.

use controller_kit::Mode;
use rstest::rstest;
use serde_json::json;

use super::scene::{Scene, after};
use test_bench::paused;

/// A restart in mid toleration changes no due time (C94, karmada PR#7181).
#[rstest]
fn c94_a_restart_does_not_begin_the_count_anew(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(300)}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        scene.until(20).await;
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(310).await;
        controller.crash();
        controller.ended().await;
        let _again = scene.controller("controller-1").await;
        scene.until(320).await;
        assert_eq!(
            scene.seen().await,
            ["web on m1 since 21 due 321 WAITING"],
            "never before the time"
        );
        scene.until(340).await;
        assert_eq!(scene.seen().await, ["web on m1 since 21 due 321 READY"]);
        assert_eq!(scene.own_writes().len(), 1);
        assert_eq!(scene.said("ApplicationUnhealthy").await.len(), 2, "it is told once");
    });
}

/// What changed while nobody looked is judged at the start, before anything is published.
#[rstest]
fn what_changed_meanwhile_is_judged_at_the_start(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        for name in ["recovers", "fails", "leaves"] {
            scene.binding(name, &["m1"], json!({"failover": after(60)}));
        }
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        scene.until(20).await;
        scene.health("default/recovers", &[("m1", "Unhealthy")]).await;
        scene.health("default/leaves", &[("m1", "Unhealthy")]).await;
        scene.until(30).await;
        controller.stop().await;
        scene.health("default/recovers", &[("m1", "Healthy")]).await;
        scene.health("default/fails", &[("m1", "Unhealthy")]).await;
        scene
            .patch(
                "default/leaves",
                json!({"spec": {"clusters": [{"name": "m2", "replicas": 2}]}}),
            )
            .await;
        scene.until(200).await;
        let _again = scene.controller("controller-1").await;
        scene.until(205).await;
        let seen = scene.seen().await;
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert!(
            seen[0].starts_with("fails on m1 since 201") || seen[0].starts_with("fails on m1 since 200"),
            "{seen:?}"
        );
        assert_eq!(scene.clock("default/recovers").await, None);
        assert_eq!(scene.clock("default/leaves").await, None);
    });
}

/// The queue is away at first: the clock does not wait for it, and what is due is told when it comes.
#[rstest]
fn a_queue_that_comes_late_is_told_all(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        for name in ["web", "api"] {
            scene.binding(name, &["m1"], json!({"failover": after(60)}));
        }
        let controller = scene.controller("controller-0").await;
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(30).await;
        assert!(scene.clock("default/web").await.is_some());
        let missing = controller.readiness().missing();
        let named = missing
            .iter()
            .find(|text| text.starts_with("eviction queue (publish-applications)"));
        assert!(
            named.is_some_and(|text| text.contains("is the eviction-queue running?")),
            "{missing:?}"
        );
        let labels = [("stream", "publish-applications")];
        let up = || controller.metrics().value("failover_eviction_queue_stream_up", &labels);
        assert_eq!(up(), Some(0.0));

        let queue = scene.queue("queue-0", 1.0).await;
        scene.until(60).await;
        assert_eq!((up(), scene.seen().await.len()), (Some(1.0), 1));
        assert_eq!(controller.readiness().missing(), [""; 0]);

        // Another leader of the queue knows nothing, and is told.
        queue.crash();
        queue.ended().await;
        scene.health("default/api", &[("m1", "Unhealthy")]).await;
        let _queue = scene.queue("queue-1", 1.0).await;
        scene.until(120).await;
        assert_eq!(scene.seen().await.len(), 2);
    });
}
