//! An API server of the control plane that is away, slow, or full of conflicts.

use std::cell::Cell;
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
            // While its leases are good it is there to be asked.
            tokio::time::sleep(Duration::from_secs(7)).await;
            scene.assert_told("an API server that is away").await;
            scene.minutes(1).await;
            faults.remove(away);
            scene.minutes(10).await;
            assert!(scene.starts() > 1, "the lease was lost, and its process ended");
            scene.assert_logged(&["WARN", "lease", "trying again"]);
            assert!(scene.moved().await.is_some(), "away {after} s after the member stopped");
            scene.member("member1").resume();
            scene.moved_and_clean(10).await;
            scene.assert_over("an API server that is away").await;
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
        scene.assert_told("an API server that is slow").await;
        assert!(scene.moved().await.is_some());
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        scene.world.fleet.control_plane().set_reachability(Reachability::Up);
        scene.assert_over("an API server that is slow").await;
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
        // Somebody is busy meanwhile, so that there is something to write all the time.
        let plane = scene.world.fleet.control_plane().clone();
        let images = Cell::new(0);
        let change_image = || {
            images.set(images.get() + 1);
            let mut nginx = plane.get("apps/v1", "Deployment", Some("default"), "nginx").unwrap();
            nginx["spec"]["template"]["spec"]["containers"][0]["image"] = format!("nginx:{}", images.get()).into();
            plane.put(nginx).unwrap();
        };
        scene.minutes_in_which(3, Duration::from_secs(20), change_image).await;
        scene.assert_told("an API server that is full of conflicts").await;
        scene.minutes(7).await;
        assert_eq!(scene.image("member2"), Some("nginx:9".to_owned()));
        scene.assert_logged(&["INFO", "writes meet no more conflicts than they do normally"]);
        assert_eq!(scene.starts(), 1, "a conflict on a Lease is no loss of it");
        assert!(scene.moved().await.is_some());
        assert!(scene.metric("failover_api_requests_total", "code=\"409\"") > 10.0);
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        faults.clear();
        scene.assert_over("an API server that is full of conflicts").await;
        scene.finish().await;
    });
}
