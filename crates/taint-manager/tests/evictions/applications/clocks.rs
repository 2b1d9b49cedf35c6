//! For how long a copy is unhealthy, whatever happens meanwhile.

use controller_kit::Mode;
use rstest::rstest;
use serde_json::json;

use super::{Stage, asks, tolerates};
use test_bench::paused;

/// How much later than due a test of this room sees the task: the producer looks once a second.
const LATE: u64 = 2;

/// Unhealthy and Unknown in turn: only Healthy begins anew. (C93, karmada#7431)
#[rstest]
fn c93_what_nobody_knows_neither_starts_nor_ends_the_clock(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
        let scene = &stage.scene;
        for name in ["web", "unknown"] {
            scene.binding(name, &["m1"], tolerates(60));
        }
        stage.report("default/unknown", &[("m1", "Unknown")]).await;
        stage.report("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(50).await;
        stage.report("default/web", &[("m1", "Unknown")]).await;
        scene.until(100).await;
        assert!(
            scene.task("default/web", "m1").await.is_none(),
            "nobody knows whether it fails when it is due"
        );
        stage.report("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(100 + LATE).await;
        assert!(
            scene.task("default/web", "m1").await.is_some(),
            "counted from the beginning"
        );
        scene.until(600).await;
        assert!(
            scene.task("default/unknown", "m1").await.is_none(),
            "Unknown alone starts nothing"
        );
    });
}

/// Whoever keeps the clock starts anew ten seconds before the end. (C94, karmada PR#7181)
#[rstest]
fn c94_a_restart_makes_a_failover_neither_later_nor_earlier(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let mut stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
        stage.scene.binding("web", &["m1"], tolerates(300));
        stage.report("default/web", &[("m1", "Unhealthy")]).await;
        stage.scene.until(310).await;
        stage.restart_producer();
        stage.scene.until(319).await;
        assert!(stage.scene.task("default/web", "m1").await.is_none());
        stage.scene.until(320 + LATE).await;
        let at = stage.scene.evicted_at("default/web", "m1").await.unwrap();
        assert!((320..=322).contains(&at), "{at}");
    });
}

/// Marks of before do not shorten the next failure. (C95, karmada PR#3500)
#[rstest]
fn c95_what_recovered_or_was_made_anew_is_counted_from_the_beginning(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
        let scene = &stage.scene;
        for name in ["recovers", "anew"] {
            scene.binding(name, &["m1"], tolerates(60));
            stage.report(&format!("default/{name}"), &[("m1", "Unhealthy")]).await;
        }
        scene.until(70).await;
        stage.report("default/recovers", &[("m1", "Healthy")]).await;
        // As a backup brings it back: with the annotation of the first one.
        let old = scene.get("default/anew").await;
        scene.delete("default/anew").await;
        scene.until(75).await;
        scene.binding("anew", &["m1"], tolerates(60));
        scene
            .patch(
                "default/anew",
                json!({"metadata": {"annotations": old.metadata.annotations}}),
            )
            .await;
        for name in ["recovers", "anew"] {
            stage.report(&format!("default/{name}"), &[("m1", "Unhealthy")]).await;
        }
        scene.until(134).await;
        assert_eq!(scene.evicted(), 0);
        scene.until(135 + 2 * LATE).await;
        assert_eq!(scene.evicted(), 2);
    });
}

/// Preconditions: only what was once healthy, and not before a time since its status was first collected. What a stock
/// bindingStatus does not keep of these, the annotation does.
#[rstest]
fn preconditions_hold_through_a_restart(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let mut stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
        let rules =
            json!({"decisionConditions": {"tolerationSeconds": 10}, "preConditions": {"healthyState": "Healthy"}});
        stage.scene.binding("never-healthy", &["m1"], asks(rules.clone()));
        stage.scene.binding("once-healthy", &["m1"], asks(rules));
        let rules = json!({"decisionConditions": {"tolerationSeconds": 10}, "preConditions": {"delaySeconds": 100}});
        stage.scene.binding("slow", &["m1"], asks(rules));
        stage.report("default/once-healthy", &[("m1", "Healthy")]).await;
        for key in ["default/never-healthy", "default/slow"] {
            stage.report(key, &[("m1", "Unhealthy")]).await;
        }
        stage.scene.until(30).await;
        stage.report("default/once-healthy", &[("m1", "Unhealthy")]).await;
        stage.scene.until(35).await;
        stage.restart_producer();
        stage.scene.until(40 + LATE).await;
        assert!(stage.scene.task("default/once-healthy", "m1").await.is_some());
        stage.scene.until(119).await;
        assert!(stage.scene.task("default/slow", "m1").await.is_none());
        stage.scene.until(120 + LATE).await;
        assert!(stage.scene.task("default/slow", "m1").await.is_some());
        stage.scene.until(600).await;
        assert!(stage.scene.task("default/never-healthy", "m1").await.is_none());
    });
}

/// What somebody wrote into the annotation is told nobody's workload: the clock starts anew.
#[rstest]
fn an_annotation_that_is_no_clock_moves_nobody_early(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
        let scene = &stage.scene;
        for (name, text) in [
            ("nonsense", "m1"),
            ("ancient", r#"{"m1": {"unhealthySince": "1970-01-01T00:00:00Z"}}"#),
            ("to-come", r#"{"m1": {"unhealthySince": "2999-01-01T00:00:00Z"}}"#),
        ] {
            scene.binding(name, &["m1"], tolerates(60));
            let annotated = json!({"metadata": {"annotations": {"failover.karmada.io/health-clock": text}}});
            scene.patch(&format!("default/{name}"), annotated).await;
            stage.report(&format!("default/{name}"), &[("m1", "Unhealthy")]).await;
        }
        scene.until(79).await;
        assert_eq!(scene.evicted(), 0);
        scene.until(90).await;
        assert_eq!(scene.evicted(), 3);
    });
}
