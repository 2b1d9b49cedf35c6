//! The rate is the rate, whatever the workers and the kind of the bindings.

use std::time::Duration;

use jiff::SignedDuration;
use kube_sandbox::{Effect, Match};
use rstest::rstest;
use serde_json::json;
use taint_manager::Flags;

use super::scene::{CLIENT, NOT_READY, Scene};
use test_bench::paused;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Namespaced,
    ClusterWide,
    /// In turns.
    Both,
}

const PER_SECOND: f64 = 2.0;
const SECONDS: u64 = 60;

// C42 (karmada#7495), S01 (karmada f8fdd02): there each worker and each kind of binding had a rate of its own.
#[rstest]
fn exact_whatever_the_workers_and_the_kind(
    #[values(1, 3, 50)] workers: u32,
    #[values(Kind::Namespaced, Kind::ClusterWide, Kind::Both)] kind: Kind,
) {
    paused(async move {
        let scene = Scene::new(&["m1", "m2"]);
        for n in 0..150 {
            match kind {
                Kind::Namespaced => scene.binding(&format!("web-{n}"), &["m1"], json!({})),
                Kind::Both if n % 2 == 0 => scene.binding(&format!("web-{n}"), &["m1"], json!({})),
                Kind::ClusterWide | Kind::Both => scene.cluster_binding(&format!("reader-{n}"), &["m1"], json!({})),
            }
        }
        let _queue = scene.queue("queue-0", PER_SECOND).await;
        let flags = Flags {
            eviction_workers: workers,
            ..Flags::default()
        };
        let _manager = scene.manager_with("manager-0", flags, "Failover=true").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        let began = scene.clock.now();
        scene.until(20 + SECONDS).await;
        let mut at: Vec<_> = scene.spec_writes().into_iter().map(|write| write.at).collect();
        at.sort_unstable();
        let expected = usize::try_from(SECONDS).unwrap() * 2;
        assert!(
            at.len().abs_diff(expected) <= 2,
            "{} evictions, {expected} by the rate",
            at.len()
        );
        assert!(at[0] >= began);
        // Over any stretch never more than the rate and the burst of one.
        for (n, first) in at.iter().enumerate() {
            let within = at[n..]
                .iter()
                .take_while(|at| at.duration_since(*first) < SignedDuration::from_secs(10));
            assert!(within.count() <= 21, "from {first} on");
        }
    });
}

// C42 (karmada#7495): workers wait for the API server, and the rate is none of theirs, as few of them as there are by default.
#[rstest]
fn a_hundred_a_second_beside_an_api_server_that_takes_its_time(#[values(8, 50)] workers: u32) {
    paused(async move {
        let scene = Scene::new(&["m1", "m2"]);
        for n in 0..700 {
            scene.binding(&format!("web-{n}"), &["m1"], json!({}));
        }
        let _queue = scene.queue("queue-0", 100.0).await;
        let flags = Flags {
            eviction_workers: workers,
            ..Flags::default()
        };
        let _manager = scene.manager_with("manager-0", flags, "Failover=true").await;
        scene.until(20).await;
        let takes_its_time = Effect::Latency(Duration::from_millis(10));
        scene.plane.faults().inject(Match::any().client(CLIENT), takes_its_time);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(21).await;
        let early = scene.evicted();
        scene.until(26).await;
        let evicted = scene.evicted() - early;
        assert!((490..=510).contains(&evicted), "{evicted} in five seconds");
    });
}
