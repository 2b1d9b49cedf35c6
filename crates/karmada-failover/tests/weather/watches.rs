//! Watches that end again and again, lose events or bring them late, and lists that show the past.

use std::time::Duration;

use jiff::SignedDuration;
use kube_sandbox::rules::Settings;
use kube_sandbox::{EventEffect, Match, Verb};

use crate::common::simulate;
use crate::scene::{PACE, Scene};

/// How far behind a component may be when watches lie: until the next complete list.
fn late() -> Settings {
    Settings {
        lag: SignedDuration::from_secs(90),
        ..Settings::exact(PACE.evictions_per_second)
    }
}

#[test]
fn watches_that_end_every_few_seconds() {
    simulate(|| async {
        let mut scene = Scene::new(&[]).await;
        let faults = [
            scene.world.fleet.control_plane().faults(),
            scene.member("member1").faults(),
            scene.member("member2").faults(),
        ];
        scene.member("member1").stop();
        scene
            .minutes_in_which(5, Duration::from_secs(5), || {
                faults.iter().for_each(|faults| faults.cut_watches(Match::any()));
            })
            .await;
        scene.assert_told("watches that end early").await;
        assert!(scene.moved().await.is_some());
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        assert_eq!(scene.starts(), 1);
        scene.assert_over("watches that end early").await;
        scene.finish().await;
    });
}

/// Every third event is never sent. Lists come every minute here instead of every half an hour.
#[test]
fn watches_that_lose_events() {
    simulate(|| async {
        let mut scene = Scene::watched(late(), &["--relist-interval=60s"]).await;
        for faults in [
            scene.world.fleet.control_plane().faults(),
            scene.member("member2").faults(),
        ] {
            for k in 0..300 {
                faults.disturb_events(Match::any(), 3 * k, 1, EventEffect::Drop);
            }
        }
        scene.member("member1").stop();
        scene.minutes(15).await;
        assert!(scene.moved().await.is_some());
        assert!(scene.metric("failover_informer_relists_total", "") > 0.0);
        scene.assert_told("watches that lose events").await;
        scene.member("member1").resume();
        scene.moved_and_clean(15).await;
        scene.world.fleet.control_plane().faults().clear();
        scene.member("member2").faults().clear();
        // What was lost until now is found by the next lists.
        scene.minutes(2).await;
        scene.assert_over("watches that lose events").await;
        scene.finish().await;
    });
}

/// Every event comes between nothing and twenty seconds late.
#[test]
fn watches_that_are_late() {
    simulate(|| async {
        let mut scene = Scene::watched(late(), &[]).await;
        let faults = scene.world.fleet.control_plane().faults();
        for k in 0..100 {
            faults.disturb_events(Match::any(), 4 * k, 1, EventEffect::Delay(Duration::from_secs(k % 20)));
        }
        scene.member("member1").stop();
        scene.minutes(3).await;
        scene.assert_told("watches that are late").await;
        scene.minutes(12).await;
        assert!(scene.moved().await.is_some());
        scene.member("member1").resume();
        scene.moved_and_clean(15).await;
        faults.clear();
        scene.assert_over("watches that are late").await;
        scene.finish().await;
    });
}

/// Watches end, and the lists that follow show what was stored a while ago: nothing goes back for it.
#[test]
fn lists_that_show_the_past() {
    simulate(|| async {
        let mut scene = Scene::watched(late(), &["--relist-interval=60s"]).await;
        scene.member("member1").stop();
        let faults = scene.world.fleet.control_plane().faults();
        faults.stale_lists(Match::any().verb(Verb::List), 40);
        for _ in 0..10 {
            faults.cut_watches(Match::any());
            scene.minutes(1).await;
        }
        assert!(scene.moved().await.is_some());
        scene.assert_told("lists that show the past").await;
        scene.assert_logged(&["WARN", "list failed", "is older than"]);
        faults.clear();
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        assert_eq!(scene.starts(), 1);
        scene.assert_over("lists that show the past").await;
        scene.finish().await;
    });
}
