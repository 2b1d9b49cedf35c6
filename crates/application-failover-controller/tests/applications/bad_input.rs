//! What is wrong with a binding is told, once.

use serde_json::json;

use super::scene::{CLIENT, Scene, after};
use test_bench::paused;

/// A kind without a health rule can never be unhealthy: the policy asks in vain, and hears of it once a binding (C97,
/// karmada#7843).
#[test]
fn c97_a_kind_without_a_health_rule_is_told_once() {
    paused(async {
        let scene = Scene::new(&["m1", "m2"]);
        let resource =
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "namespace": "default", "name": "nightly", "uid": "t"});
        scene.binding("nightly", &["m1"], json!({"failover": after(60), "resource": resource}));
        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        scene.binding("calm", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        for second in 1..30 {
            scene.until(second * 10).await;
            let health = if second % 2 == 0 { "Healthy" } else { "Unknown" };
            scene.health("default/nightly", &[("m1", health)]).await;
        }
        let note = "spec.failover.application has no effect: no health rule for batch/v1 CronJob, so that it never counts \
                    as unhealthy";
        assert_eq!(
            scene.said("NoHealthRule").await,
            [
                format!("CronJob/nightly: {note}"),
                format!("ResourceBinding/nightly: {note}")
            ]
        );
        let counted = scene.events("ResourceBinding", "nightly");
        assert_eq!(counted.len(), 1, "{counted:?}");
        let without = || {
            controller
                .metrics()
                .value("application_failover_without_health_rule", &[])
        };
        assert_eq!(without(), Some(1.0));
        assert_eq!(scene.own_writes(), []);
        scene.delete("default/nightly").await;
        scene.until(301).await;
        assert_eq!(without(), Some(0.0));
    });
}

/// An annotation that nobody can read is told, and the count starts anew.
#[test]
fn a_clock_that_cannot_be_read_starts_anew() {
    paused(async {
        let scene = Scene::new(&["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        scene.binding("healthy", &["m1"], json!({"failover": after(60)}));
        let broken = json!({"metadata": {"annotations": {"failover.karmada.io/health-clock": "{\"m1\": yesterday}"}}});
        scene.patch("default/web", broken.clone()).await;
        scene.patch("default/healthy", broken).await;
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _controller = scene.controller("controller-0").await;
        scene.until(30).await;
        let told = scene.said("HealthClockUnreadable").await;
        assert_eq!(told.len(), 4, "of two bindings and their templates: {told:#?}");
        assert!(
            told[0].contains("failover.karmada.io/health-clock cannot be read"),
            "{told:#?}"
        );
        assert!(scene.clock("default/web").await.unwrap()["m1"]["unhealthySince"].is_string());
        assert_eq!(scene.clock("default/healthy").await, None);
        assert_eq!(scene.seen().await.len(), 1);
        assert_eq!(scene.own_writes().len(), 2);
    });
}

/// A binding that others write at the same time: nothing of theirs is lost, and the clock is written all the same.
#[test]
fn a_conflict_is_judged_anew() {
    paused(async {
        let scene = Scene::new(&["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _controller = scene.controller("controller-0").await;
        scene.until(20).await;
        // Its watches are late, so that what it knows is old when it writes.
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene
            .patch("default/web", json!({"metadata": {"annotations": {"a": "b"}}}))
            .await;
        scene.until(22).await;
        scene
            .patch("default/web", json!({"metadata": {"annotations": {"a": "c"}}}))
            .await;
        scene.health("default/web", &[("m1", "Healthy")]).await;
        scene.until(25).await;
        let annotations = scene.get("default/web").await.metadata.annotations.unwrap();
        assert_eq!(
            (annotations["a"].as_str(), annotations.len()),
            ("c", 2),
            "{annotations:?}"
        );
        assert!(scene.own_writes().iter().all(|write| write.client == CLIENT));
    });
}
