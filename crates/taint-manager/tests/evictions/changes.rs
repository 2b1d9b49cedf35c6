//! A pause, a cluster, a flag changes while workloads leave: within a second they leave at the new rate.

use controller_kit::Mode;
use std::time::Duration;

use jiff::SignedDuration;
use kube::api::{Api, DeleteParams};
use rstest::rstest;
use serde_json::json;

use api_types::failover::FailoverPause;

use super::scene::{NOT_READY, Scene};
use test_bench::paused;

/// Evictions a second.
const RATE: f64 = 4.0;
/// When the first workloads leave: the leader of the queue is old enough.
const FIRST: u64 = 21;

/// 200 workloads on `m1` of four clusters, and some seconds of evictions.
async fn under_way(scene: &Scene) {
    for n in 0..200 {
        scene.binding(&format!("web-{n:03}"), &["m1"], json!({}));
    }
    scene.until(20).await;
    scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
    scene.until(FIRST + 4).await;
    assert!(scene.evicted() >= 12, "{}", scene.evicted());
}

/// How many leave within so many seconds.
async fn leave_within(scene: &Scene, seconds: u64) -> usize {
    let before = scene.evicted();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    scene.evicted() - before
}

#[rstest]
fn a_pause_holds_and_its_end_lets_go(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2", "m3", "m4"]);
        let _queue = scene.queue("queue-0", RATE).await;
        let _manager = scene.manager("manager-0").await;
        under_way(&scene).await;
        for scope in [
            json!({"scope": "All"}),
            json!({"scope": "Clusters", "clusters": ["m1"]}),
        ] {
            let mut spec = scope;
            spec["reason"] = json!("looking into it");
            scene.put(
                json!({"apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause",
                "metadata": {"name": "look"}, "spec": spec}),
            );
            assert!(leave_within(&scene, 1).await <= 1);
            assert_eq!(leave_within(&scene, 30).await, 0, "paused");
            Api::<FailoverPause>::all(scene.client())
                .delete("look", &DeleteParams::default())
                .await
                .unwrap();
            assert!(leave_within(&scene, 2).await >= 4, "not paused any more");
        }
        // By itself at its time.
        let until = scene.clock.now() + SignedDuration::from_secs(10);
        scene.put(
            json!({"apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause",
            "metadata": {"name": "short"}, "spec": {"scope": "All", "reason": "a moment", "until": until}}),
        );
        assert!(leave_within(&scene, 10).await <= 1);
        assert!(leave_within(&scene, 2).await >= 4, "its time is over");
    });
}

#[rstest]
fn clusters_that_fail_and_recover_change_the_rate(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2", "m3", "m4"]);
        let _queue = scene.queue("queue-0", RATE).await;
        let _manager = scene.manager("manager-0").await;
        under_way(&scene).await;
        // Three of four: more than 55 % of a small fleet.
        for cluster in ["m2", "m3"] {
            scene.taint(cluster, &json!([scene.no_execute(NOT_READY)])).await;
        }
        assert!(leave_within(&scene, 1).await <= 1);
        assert_eq!(leave_within(&scene, 30).await, 0, "halted");
        scene.taint("m2", &json!([])).await;
        assert!(leave_within(&scene, 2).await >= 4, "half of the fleet is healthy again");
    });
}

/// A flag is changed by a new process. Once it leads and has waited as a new leader waits, its rate counts from the first
/// eviction on, and never both.
#[rstest]
fn another_rate_comes_with_the_next_leader(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2", "m3", "m4"]);
        let queue = scene.queue("queue-0", RATE).await;
        let _manager = scene.manager("manager-0").await;
        under_way(&scene).await;
        let _next = scene.queue("queue-1", 1.0).await;
        queue.stop().await;
        // A Lease that was handed back is taken at the next look, within two seconds, and then the leader's grace of ten
        // seconds runs.
        let first = leave_within(&scene, 16).await;
        // Between two seconds: what leaves on the second is seen in the one before or after it.
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(first <= 5, "{first}");
        assert_eq!(leave_within(&scene, 20).await, 20);
    });
}
