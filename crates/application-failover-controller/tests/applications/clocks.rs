//! The clock: what starts it, what ends it, what it is kept through.

use controller_kit::Mode;
use rstest::rstest;
use serde_json::json;

use super::scene::{Scene, after};
use test_bench::paused;

#[rstest]
fn unhealthy_is_written_down_and_published_with_its_due_time(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1", "m2"], json!({"failover": after(60)}));
        scene
            .health("default/web", &[("m1", "Healthy"), ("m2", "Healthy")])
            .await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        scene.until(20).await;
        assert_eq!(scene.own_writes(), [], "nothing happens while nothing is wrong");
        assert_eq!(controller.readiness().missing(), [""; 0]);

        scene
            .health("default/web", &[("m1", "Unhealthy"), ("m2", "Healthy")])
            .await;
        scene.until(25).await;
        let clock = json!({"m1": {"unhealthySince": "2026-01-01T00:00:21Z", "readyMark": "2025-12-31T00:00:00Z"}});
        assert_eq!(scene.clock("default/web").await, Some(clock));
        assert_eq!(scene.seen().await, ["web on m1 since 21 due 81 WAITING"]);
        let annotations = scene.get("default/web").await.metadata.annotations.unwrap();
        assert_eq!(annotations["somebody"], "else's", "nobody's annotation is touched");
        let note = "unhealthy on m1 since 2026-01-01T00:00:21Z; leaves from 2026-01-01T00:01:21Z on, unless it is \
                    healthy before";
        assert_eq!(
            scene.said("ApplicationUnhealthy").await,
            [
                format!("Deployment/web: {note}"),
                format!("ResourceBinding/web: {note}")
            ]
        );
        let labels = [("cluster_name", "m1")];
        let published = controller
            .metrics()
            .value("application_failover_published_entries", &labels);
        assert_eq!(published, Some(1.0));

        scene
            .health("default/web", &[("m1", "Healthy"), ("m2", "Healthy")])
            .await;
        scene.until(30).await;
        assert_eq!(scene.clock("default/web").await, None);
        assert_eq!(scene.seen().await, [""; 0]);
        assert_eq!(scene.own_writes().len(), 2, "one when it began, one when it was over");
        assert_eq!(scene.said("ApplicationRecovered").await.len(), 2);

        // The next failure is counted in full (C95, karmada PR#3500).
        scene.until(100).await;
        scene
            .health("default/web", &[("m1", "Unhealthy"), ("m2", "Healthy")])
            .await;
        scene.until(101).await;
        assert_eq!(scene.seen().await, ["web on m1 since 101 due 161 WAITING"]);
    });
}

/// What nobody knows neither starts nor ends the clock (C93, karmada#7431).
#[rstest]
fn c93_unknown_in_between_does_not_begin_the_count_anew(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _controller = scene.controller("controller-0").await;
        scene.health("default/web", &[("m1", "Unknown")]).await;
        scene.until(20).await;
        assert_eq!(scene.clock("default/web").await, None, "unknown alone starts nothing");
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(50).await;
        scene.health("default/web", &[("m1", "Unknown")]).await;
        scene.until(55).await;
        assert_eq!(scene.seen().await, [""; 0], "what nobody knows now moves nothing");
        assert!(scene.clock("default/web").await.is_some(), "and ends nothing");
        assert_eq!(scene.said("ApplicationRecovered").await, [""; 0]);
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(79).await;
        assert_eq!(scene.seen().await, ["web on m1 since 21 due 81 WAITING"]);
        scene.until(82).await;
        assert_eq!(scene.seen().await, ["web on m1 since 21 due 81 READY"]);
        assert_eq!(scene.own_writes().len(), 1);
    });
}

/// A binding that was deleted and made again has the full toleration (C95, karmada PR#3500).
#[rstest]
fn c95_a_new_binding_of_the_same_name_starts_anew(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        scene.until(20).await;
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(70).await;
        let old = scene.clock("default/web").await.unwrap();
        scene.delete("default/web").await;
        scene.until(71).await;
        assert_eq!(scene.seen().await, [""; 0]);
        let labels = [("cluster_name", "m1")];
        let published = controller
            .metrics()
            .value("application_failover_published_entries", &labels);
        assert_eq!(published, None, "nothing is kept of a binding that is gone");

        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        // Even if somebody restored it from a copy with its annotations.
        let annotated = json!({"metadata": {"annotations": {"failover.karmada.io/health-clock": old.to_string()}}});
        scene.patch("default/web", annotated).await;
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(75).await;
        assert_eq!(scene.seen().await, ["web on m1 since 72 due 132 WAITING"]);
    });
}

/// Both kinds of binding alike, and whether dependencies are propagated or not (C96, karmada#7458, karmada#3738).
#[rstest]
fn c96_both_kinds_of_binding_with_and_without_dependencies(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let with = json!({"failover": after(60), "propagateDeps": true});
        let without = json!({"failover": after(60), "propagateDeps": false});
        scene.binding("a-with", &["m1"], with.clone());
        scene.binding("b-without", &["m1"], without.clone());
        scene.cluster_binding("c-with", &["m1"], with);
        scene.cluster_binding("d-without", &["m1"], without);
        let keys = ["default/a-with", "default/b-without", "c-with", "d-without"];
        let _queue = scene.queue("queue-0", 1.0).await;
        let _controller = scene.controller("controller-0").await;
        scene.until(20).await;
        for key in keys {
            scene.health(key, &[("m1", "Unhealthy")]).await;
        }
        scene.until(22).await;
        assert_eq!(
            scene.seen().await,
            [
                "a-with on m1 since 21 due 81 WAITING",
                "b-without on m1 since 21 due 81 WAITING",
                "c-with on m1 since 21 due 81 WAITING",
                "d-without on m1 since 21 due 81 WAITING",
            ]
        );
    });
}

/// The stale health of a cluster that is not Ready starts no clock, and what was published is taken back: that cluster's
/// failure is the taint manager's matter. Back again, the full toleration counts from its return.
#[rstest]
fn a_cluster_that_is_not_ready_starts_nothing(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        scene.binding("api", &["m1"], json!({"failover": after(60)}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _controller = scene.controller("controller-0").await;
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(20).await;
        assert_eq!(scene.seen().await.len(), 1);
        scene.ready("m1", "False").await;
        scene.health("default/api", &[("m1", "Unhealthy")]).await;
        scene.until(200).await;
        assert_eq!(scene.seen().await, [""; 0]);
        assert_eq!(scene.clock("default/api").await, None);
        assert!(
            scene.clock("default/web").await.is_some(),
            "what is known of before is kept"
        );
        scene.ready("m1", "True").await;
        scene.until(201).await;
        let seen = scene.seen().await;
        assert_eq!(
            (seen[0].as_str(), seen[1].ends_with("due 261 WAITING")),
            ("api on m1 since 201 due 261 WAITING", true),
            "{seen:?}"
        );
    });
}

/// Once the policy does not ask for it any more, nothing is left of it; a shorter toleration takes effect at once.
#[rstest]
fn what_the_policy_says_now_counts(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(600)}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _controller = scene.controller("controller-0").await;
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(30).await;
        let since = scene.seen().await;
        let first = "web on m1 since ";
        assert!(
            since[0].starts_with(first) && since[0].ends_with("WAITING"),
            "{since:?}"
        );
        scene
            .patch("default/web", json!({"spec": {"failover": after(20)}}))
            .await;
        scene.until(31).await;
        assert!(scene.seen().await[0].ends_with("READY"));
        scene
            .patch("default/web", json!({"spec": {"failover": {"application": null}}}))
            .await;
        scene.until(32).await;
        assert_eq!(scene.seen().await, [""; 0]);
        assert_eq!(scene.clock("default/web").await, None);
        assert_eq!(scene.own_writes().len(), 2);
        assert_eq!(
            scene.said("ApplicationRecovered").await,
            [""; 0],
            "nobody says that it did"
        );
        let over = scene.said("ApplicationNotCounted").await;
        assert!(
            over.len() == 2 && over[0].ends_with("the binding has no spec.failover.application"),
            "{over:?}"
        );
    });
}

/// With preconditions: not before a delay since its status was first collected, and only what was once healthy. Where the
/// status does not say so itself, the annotation does.
#[rstest]
fn preconditions_are_kept_in_the_annotation(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let failover = json!({"application": {
            "decisionConditions": {"tolerationSeconds": 10},
            "preConditions": {"delaySeconds": 100, "healthyState": "Healthy"},
        }});
        scene.binding("web", &["m1"], json!({"failover": failover}));
        scene.binding("never", &["m1"], json!({"failover": failover}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _controller = scene.controller("controller-0").await;
        scene.until(20).await;
        scene.health("default/web", &[("m1", "Healthy")]).await;
        scene.health("default/never", &[("m1", "Unhealthy")]).await;
        scene.until(30).await;
        let clock = scene.clock("default/web").await.unwrap();
        assert_eq!(
            clock,
            json!({"m1": {"settled": true, "firstCollected": "2026-01-01T00:00:21Z"}})
        );
        scene.health("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(300).await;
        assert_eq!(
            scene.seen().await,
            ["web on m1 since 31 due 121 READY"],
            "the delay ends after the toleration; who was never healthy stays"
        );
        assert_eq!(scene.own_writes().len(), 3);
    });
}
