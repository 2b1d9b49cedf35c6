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

// C52, kubernetes#108844: the wall clock jumps, and all is well: no Unknown, no taint, no lease lost.
#[test]
fn a_jump_at_rest_changes_nothing() {
    for by in JUMPS {
        simulate(|| async {
            let mut scene = Scene::new(&[]).await;
            let told = scene.events("ClusterNotReady").len();
            scene.world.step_clock(by);
            scene.minutes(5).await;
            assert!(scene.untouched().await.is_some(), "{by}");
            assert_eq!(scene.ready("member1").await.0, "True");
            assert_eq!(scene.starts(), 1, "{by}: leases live by elapsed time");
            assert_eq!(scene.events("ClusterNotReady").len(), told);
            assert_eq!(scene.metric("failover_clock_steps_total", ""), 1.0, "{by}");
            scene.assert_told("a clock that jumps").await;
            scene.assert_over("a clock that jumps").await;
            scene.finish().await;
        });
    }
}

/// What happens to the clock, and to the process, so many seconds after member1 stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Jump(SignedDuration),
    Restart,
}

/// member1 stops, and two minutes pass with what happens in them. After how many seconds it had its NoExecute taint.
async fn fail(scene: &mut Scene, fates: &[(u32, Fate)]) -> Option<u32> {
    scene.member("member1").stop();
    let mut tainted = None;
    for second in 1..=120 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let taints = scene.world.cluster("member1").await.spec.taints;
        if tainted.is_none() && taints.iter().any(|taint| taint.effect == "NoExecute") {
            tainted = Some(second);
        }
        for (_, fate) in fates.iter().filter(|(at, _)| *at == second) {
            match fate {
                Fate::Jump(by) => scene.world.step_clock(*by),
                Fate::Restart => scene.crash_and_start().await,
            }
        }
    }
    tainted
}

/// It jumps while a member fails, at moments of the story, and in some of them the process is started anew after that.
/// The taint comes on its second all the same, never early and never late; a window that an earlier process stored is
/// judged 0.2 s behind, and its taint is seen with the next look. What is due by `timeAdded` may come later, by a clock
/// that went back; nothing else.
#[test]
fn a_jump_during_a_failure_loses_nothing() {
    let on_its_second = 100;
    simulate(move || async move {
        let mut scene = Scene::new(&[]).await;
        assert_eq!(fail(&mut scene, &[]).await, Some(on_its_second), "where nothing jumps");
        scene.finish().await;
    });
    for by in JUMPS {
        let (in_the_window, tainted) = ((60, Fate::Jump(by)), (105, Fate::Jump(by)));
        for fates in [
            vec![in_the_window],
            vec![in_the_window, (70, Fate::Restart)],
            vec![tainted],
        ] {
            simulate(move || async move {
                let mut scene = Scene::new(&[]).await;
                let restarts = fates.iter().filter(|(_, fate)| *fate == Fate::Restart).count();
                let second = on_its_second + u32::from(restarts > 0);
                assert_eq!(fail(&mut scene, &fates).await, Some(second), "{by}: {fates:?}");
                scene.minutes(4).await;
                let waits = scene.moved().await.is_none();
                assert!(
                    !waits || (by.is_negative() && fates[0] == tainted),
                    "{by}, {fates:?}: only what a clock that went back makes due later may wait"
                );
                let waited = if waits { 65 } else { 0 };
                scene.minutes(waited).await;
                assert!(scene.moved().await.is_some(), "{by}, {fates:?}");
                scene.member("member1").resume();
                scene.moved_and_clean(10).await;
                assert_eq!(scene.starts() as usize, 1 + restarts, "{by}, {fates:?}");
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
