//! Clocks that jump, and clocks that differ.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kube_sandbox::MemberOptions;

use crate::common::simulate;
use crate::scene::Scene;

const JUMPS: [SignedDuration; 3] = [
    SignedDuration::from_hours(1),
    SignedDuration::from_hours(-1),
    SignedDuration::from_hours(24),
];

fn jump(scene: &Scene, by: SignedDuration) {
    scene.world.rules.clock_stepped(by);
    scene.world.clock.jump(by);
}

// C52, kubernetes#108844: the wall clock jumps, and all is well: no Unknown, no taint, no lease lost.
#[test]
fn a_jump_at_rest_changes_nothing() {
    for by in JUMPS {
        simulate(|| async {
            let mut scene = Scene::new(&[]).await;
            let told = scene.events("ClusterNotReady").len();
            jump(&scene, by);
            scene.minutes(5).await;
            assert!(scene.untouched().await.is_some(), "{by}");
            assert_eq!(scene.ready("member1").await.0, "True");
            assert_eq!(scene.starts(), 1, "{by}: leases live by elapsed time");
            assert_eq!(scene.events("ClusterNotReady").len(), told);
            assert_eq!(scene.metric("failover_clock_steps_total", ""), 1.0, "{by}");
            scene.assert_logged(&["WARN", "the wall clock was set"]);
            scene.finish().await;
        });
    }
}

/// It jumps while a member fails, at moments of the story: a window may end early or late for it, nothing else.
#[test]
fn a_jump_during_a_failure_loses_nothing() {
    for by in JUMPS {
        for after in [60, 105] {
            simulate(|| async {
                let mut scene = Scene::new(&[]).await;
                scene.member("member1").stop();
                tokio::time::sleep(Duration::from_secs(after)).await;
                jump(&scene, by);
                scene.minutes(5).await;
                let waited = if scene.moved().await.is_none() { 65 } else { 0 };
                assert!(
                    waited == 0 || by.is_negative(),
                    "{by} after {after} s: only a clock that went back may make it wait"
                );
                scene.minutes(waited).await;
                assert!(scene.moved().await.is_some(), "{by} after {after} s");
                scene.member("member1").resume();
                scene.minutes(waited).await;
                scene.moved_and_clean(10).await;
                assert_eq!(scene.starts(), 1, "{by} after {after} s");
                scene.finish().await;
            });
        }
    }
}

// C54, kubernetes#6193: the clock of a member is ten minutes behind or ahead. Nothing flaps: only times that were taken
// here are compared.
#[test]
fn a_member_whose_clock_differs_is_a_member_like_any_other() {
    for minutes in [-10, 10] {
        simulate(|| async {
            let mut scene = Scene::new(&["--feature-gates=Failover=false"]).await;
            scene.member("member1").stop();
            scene.minutes(3).await;
            let clock = scene.world.clock.clone();
            let skewed = Arc::new(move || clock.now() + SignedDuration::from_mins(minutes));
            scene.world.fleet.add_member(MemberOptions::new("member1", skewed));
            scene.minutes(3).await;
            assert_eq!(scene.ready("member1").await.0, "True");
            let told = scene.events("ClusterNotReady").len() + scene.events("ClusterReady").len();
            scene.minutes(5).await;
            assert_eq!(
                scene.events("ClusterNotReady").len() + scene.events("ClusterReady").len(),
                told,
                "no flaps"
            );
            assert!(scene.untouched().await.is_some());
            scene.member("member1").stop();
            scene.minutes(2).await;
            assert_eq!(scene.ready("member1").await.0, "False");
            scene.finish().await;
        });
    }
}
