//! What is wrong with a binding is told, once.

use controller_kit::Mode;
use rstest::rstest;
use serde_json::json;

use super::scene::{CLIENT, Scene, after};
use kube_sandbox::{Effect, Match};
use test_bench::paused;

/// A kind without a health rule can never be unhealthy: the policy asks in vain, and hears of it once a binding (C97,
/// karmada#7843).
#[rstest]
fn c97_a_kind_without_a_health_rule_is_told_once(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let resource = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "namespace": "default", "name": "nightly", "uid": "t"});
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
        let note = "spec.failover.application has no effect, unless somebody else's interpreter reports a health: no health \
                    rule for autoscaling/v2 HorizontalPodAutoscaler, so that it never counts as unhealthy";
        assert_eq!(
            scene.said("NoHealthRule").await,
            [
                format!("HorizontalPodAutoscaler/nightly: {note}"),
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
#[rstest]
fn a_clock_that_cannot_be_read_starts_anew(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
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

/// A kind with a rule of somebody else's: once a copy was unhealthy nobody is told that it could not be.
#[rstest]
fn a_kind_with_a_rule_of_somebody_else_s_is_not_told_of(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let resource = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "namespace": "default", "name": "nightly", "uid": "t"});
        scene.binding("nightly", &["m1"], json!({"failover": after(60), "resource": resource}));
        scene.health("default/nightly", &[("m1", "Unhealthy")]).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        for (second, health) in [(30, "Healthy"), (40, "Unknown"), (50, "Unhealthy"), (60, "Healthy")] {
            scene.until(second).await;
            scene.health("default/nightly", &[("m1", health)]).await;
        }
        scene.until(70).await;
        assert_eq!(scene.said("NoHealthRule").await, [""; 0]);
        let without = controller
            .metrics()
            .value("application_failover_without_health_rule", &[]);
        assert_eq!(without, Some(0.0));
    });
}

/// A kind for which a script speaks: nobody is told that it asks in vain, from the moment the script is stored.
#[rstest]
fn a_kind_with_a_script_is_not_told_of(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let resource = json!({"apiVersion": "example.io/v1", "kind": "Widget", "namespace": "default", "name": "gear", "uid": "t"});
        scene.binding("gear", &["m1"], json!({"failover": after(60), "resource": resource}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        scene.until(10).await;
        let without = || {
            controller
                .metrics()
                .value("application_failover_without_health_rule", &[])
        };
        assert_eq!((scene.said("NoHealthRule").await.len(), without()), (2, Some(1.0)));
        let script = json!({"luaScript": "function InterpretHealth(o) return o.status.phase == 'Running' end"});
        scene.put(json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
            "metadata": {"name": "widgets"},
            "spec": {"target": {"apiVersion": "example.io/v1", "kind": "Widget"}, "customizations": {"healthInterpretation": script}}}));
        scene.until(20).await;
        assert_eq!(without(), Some(0.0));
    });
}

/// A binding that others write at the same time: nothing of theirs is lost, and the clock is written all the same.
#[test]
fn a_conflict_is_judged_anew() {
    paused(async {
        let scene = Scene::new(&["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        scene.until(20).await;
        let ours = Match::writes().client(CLIENT).resource("resourcebindings");
        scene.plane.faults().inject_times(ours, 0, 3, Effect::Conflict);
        scene
            .patch("default/web", json!({"metadata": {"annotations": {"a": "b"}}}))
            .await;
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(30).await;
        let clock = scene.clock("default/web").await.unwrap();
        assert!(clock["m1"]["unhealthySince"].is_string(), "{clock}");
        let annotations = scene.get("default/web").await.metadata.annotations.unwrap();
        assert_eq!(
            (annotations["a"].as_str(), annotations.len()),
            ("b", 3),
            "{annotations:?}"
        );
        assert_eq!(scene.own_writes().len(), 1);
        assert_eq!(scene.seen().await.len(), 1);
        let writes = |outcome| {
            let labels = [("outcome", outcome)];
            controller
                .metrics()
                .value("application_failover_clock_writes_total", &labels)
        };
        assert_eq!((writes("conflict"), writes("written")), (Some(3.0), Some(1.0)));
    });
}

/// A webhook refuses the clock: that is told once, counted, and tried again until it may be written.
#[rstest]
fn a_clock_that_is_refused_is_told_and_tried_again(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        scene.until(20).await;
        let ours = Match::writes().client(CLIENT).resource("resourcebindings");
        let refusal = Effect::Error {
            code: 403,
            reason: "Forbidden".into(),
            message: "admission webhook no-annotations denied the request".into(),
        };
        scene.plane.faults().inject_times(ours, 0, 4, refusal);
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(150).await;
        assert_eq!(scene.clock("default/web").await, None);
        assert_eq!(scene.seen().await, [""; 0], "what is not written down moves nothing");
        let told = scene.said("HealthClockNotWritten").await;
        assert_eq!(told.len(), 2, "on binding and template, once: {told:#?}");
        assert!(told[0].contains("no-annotations denied the request"), "{told:#?}");
        scene.until(300).await;
        assert!(
            scene.clock("default/web").await.is_some(),
            "a minute after the last refusal"
        );
        assert_eq!(scene.seen().await.len(), 1);
        let labels = [("outcome", "refused")];
        let refused = controller
            .metrics()
            .value("application_failover_clock_writes_total", &labels);
        assert_eq!(refused, Some(4.0));
    });
}
