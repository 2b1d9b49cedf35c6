//! An API server of the control plane that is away, slow, or full of conflicts.

use std::time::Duration;

use jiff::SignedDuration;
use kube_sandbox::rules::Settings;
use kube_sandbox::{Effect, Match, Reachability};

use crate::common::simulate;
use crate::scene::{PACE, Scene};

/// When the API server goes away, in seconds after member1 stopped.
const MOMENTS: [u64; 3] = [35, 95, 105];

/// Away for a minute at moments of the story. Leases cannot be renewed, so the process ends, and one that starts later
/// takes the story up where it stood.
#[test]
fn away_for_a_minute() {
    for after in MOMENTS {
        simulate(|| async {
            let mut scene = Scene::new(&[]).await;
            scene.member("member1").stop();
            tokio::time::sleep(Duration::from_secs(after)).await;
            let faults = scene.world.fleet.control_plane().faults();
            let away = faults.inject(Match::any(), Effect::Disconnect);
            faults.cut_watches(Match::any());
            scene.minutes(1).await;
            faults.remove(away);
            scene.minutes(10).await;
            assert!(scene.starts() > 1, "the lease was lost, and its process ended");
            scene.assert_logged(&["WARN", "lease", "trying again"]);
            assert!(scene.moved().await.is_some(), "away {after} s after the member stopped");
            scene.member("member1").resume();
            scene.moved_and_clean(10).await;
            scene.finish().await;
        });
    }
}

/// Away for less than the renew deadline: the process goes on.
#[test]
fn away_for_some_seconds() {
    simulate(|| async {
        let mut scene = Scene::new(&[]).await;
        scene.member("member1").stop();
        let plane = scene.world.fleet.control_plane().clone();
        for _ in 0..8 {
            tokio::time::sleep(Duration::from_secs(20)).await;
            plane.set_reachability(Reachability::Stopped);
            tokio::time::sleep(Duration::from_secs(4)).await;
            plane.set_reachability(Reachability::Up);
        }
        scene.minutes(5).await;
        assert_eq!(scene.starts(), 1);
        assert!(scene.metric("failover_informer_errors_total", "") > 0.0);
        scene.assert_logged(&["WARN", "failed"]);
        scene.assert_logged(&["INFO", "answered again"]);
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        scene.finish().await;
    });
}

/// Every request, and every watch event, takes two seconds.
#[test]
fn slow() {
    simulate(|| async {
        let settings = Settings {
            lag: SignedDuration::from_secs(10),
            ..Settings::exact(PACE.evictions_per_second)
        };
        let mut scene = Scene::watched(settings, &[]).await;
        scene
            .world
            .fleet
            .control_plane()
            .set_reachability(Reachability::Slow(Duration::from_secs(2)));
        scene.minutes(3).await;
        scene.member("member1").stop();
        scene.minutes(10).await;
        assert_eq!(scene.starts(), 1, "slow is not away");
        assert!(scene.metric("failover_api_slow_requests_total", "") > 0.0);
        scene.assert_logged(&["WARN", "the API server is slow"]);
        assert!(scene.moved().await.is_some());
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        scene.finish().await;
    });
}

/// Every second write is refused as if somebody else had just written.
#[test]
fn full_of_conflicts() {
    simulate(|| async {
        let mut scene = Scene::new(&[]).await;
        let faults = scene.world.fleet.control_plane().faults();
        for resource in [
            "clusters",
            "resourcebindings",
            "works",
            "leases",
            "events",
            "deployments",
            "clustertaintpolicies",
            "failoverrecords",
        ] {
            for k in 0..200 {
                faults.inject_times(Match::writes().resource(resource), 2 * k, 1, Effect::Conflict);
            }
        }
        scene.member("member1").stop();
        scene.minutes(10).await;
        assert_eq!(scene.starts(), 1, "a conflict on a Lease is no loss of it");
        assert!(scene.moved().await.is_some());
        assert!(scene.metric("failover_api_requests_total", "code=\"409\"") > 10.0);
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        scene.finish().await;
    });
}
