//! Crashes of the producer, the evictor and the queue, and a queue that is not there.

use controller_kit::Mode;
use kube_sandbox::Match;
use rstest::rstest;
use serde_json::json;

use super::scene::{CLIENT, NOT_READY, Scene};
use test_bench::paused;

fn many(scene: &Scene, count: usize) {
    for n in 0..count {
        scene.binding(&format!("web-{n:03}"), &["m1"], json!({}));
    }
}

/// Whoever crashes, everything is evicted exactly once, in the order in which it was due, and not faster.
#[rstest]
fn nothing_is_lost_or_done_twice(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        for who in ["manager", "queue", "both"] {
            let scene = Scene::in_mode(mode, &["m1", "m2"]);
            many(&scene, 20);
            let mut queue = scene.queue("queue-0", 0.5).await;
            let mut manager = scene.manager("manager-0").await;
            scene.until(20).await;
            scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
            scene.until(31).await;
            let before = scene.evicted();
            assert!((5..=6).contains(&before), "{who}: {before}");
            if who != "queue" {
                manager.crash();
                manager = scene.manager("manager-1").await;
            }
            if who != "manager" {
                queue.crash();
                queue = scene.queue("queue-1", 0.5).await;
            }
            scene.until(150).await;
            assert_eq!(scene.evicted(), 20, "{who}");
            assert_eq!(scene.spec_writes().len(), 20, "{who}");
            let order: Vec<String> = scene
                .rules
                .evictions()
                .into_iter()
                .map(|(_, key, _)| key.name)
                .collect();
            assert!(order.is_sorted(), "{who}: {order:?}");
            assert!(scene.entries().await.is_empty(), "{who}");
            drop((manager, queue));
        }
    });
}

/// Without a queue nothing moves; readiness says so, and it goes on when the queue comes.
#[rstest]
fn a_queue_that_is_not_there_is_waited_for(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        many(&scene, 2);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        let manager = scene.manager("manager-0").await;
        scene.until(60).await;
        let missing = manager.readiness().missing();
        for stream in ["lease", "publish", "watch"] {
            let named = missing
                .iter()
                .find(|text| text.starts_with(&format!("eviction queue ({stream})")));
            assert!(
                named.is_some_and(|text| text.contains("is the eviction-queue running?")),
                "{missing:?}"
            );
            assert_eq!(
                manager
                    .metrics()
                    .value("failover_eviction_queue_stream_up", &[("stream", stream)]),
                Some(0.0)
            );
        }
        let _queue = scene.queue("queue-0", 1.0).await;
        scene.until(90).await;
        assert_eq!(scene.evicted(), 2);
        assert_eq!(manager.readiness().missing(), [""; 0]);
        assert_eq!(
            manager
                .metrics()
                .value("failover_eviction_queue_stream_up", &[("stream", "publish")]),
            Some(1.0)
        );
    });
}

/// A network that breaks in between costs time and nothing else.
#[rstest]
fn broken_connections_are_made_good(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        many(&scene, 10);
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        for second in 21..26 {
            scene.until(second).await;
            scene.network.cut("memory:queue-0");
        }
        // Leases that were lost on their way lapse first.
        scene.until(150).await;
        assert_eq!(scene.evicted(), 10);
        assert_eq!(scene.spec_writes().len(), 10);
        assert!(scene.entries().await.is_empty());
    });
}

/// Dies right after each of its writes in turn, leases, events and conditions included: the end is always the same.
#[rstest]
fn a_crash_after_any_write_changes_nothing_but_time(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let by_us = || Match::writes().client(CLIENT);
        let mut k = 0;
        loop {
            k += 1;
            let scene = Scene::in_mode(mode, &["m1", "m2"]);
            many(&scene, 4);
            let _queue = scene.queue("queue-0", 0.5).await;
            scene.plane.faults().freeze_after_write(by_us(), k);
            let manager = scene.manager("manager-0").await;
            scene.until(20).await;
            scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
            let faults = scene.plane.faults();
            let all_done = tokio::select! {
                biased;
                () = faults.frozen() => false,
                () = scene.until(60) => true,
            };
            manager.crash();
            faults.thaw();
            let _manager = scene.manager("manager-1").await;
            scene.until(150).await;
            assert_eq!(scene.evicted(), 4, "after write {k}");
            assert_eq!(scene.spec_writes().len(), 4, "after write {k}");
            assert!(scene.entries().await.is_empty(), "after write {k}");
            for n in 0..4 {
                let binding = scene.get(&format!("default/web-{n:03}")).await;
                assert!(binding.condition("EvictionPending").is_none(), "after write {k}: {n}");
            }
            if all_done {
                break;
            }
        }
        assert!(k > 25, "{k} writes");
    });
}

/// The queue's leader changes: what its successor hears from the producers again was told before.
#[rstest]
fn a_new_leader_of_the_queue_is_no_news(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1"]);
        scene.cluster("full", &json!({}), &json!([{"key": "full", "effect": "NoSchedule"}]));
        many(&scene, 2);
        let queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(40).await;
        let told = |scene: &Scene| {
            let events = scene.plane.list("v1", "Event").into_iter();
            events
                .filter(|event| matches!(event["reason"].as_str(), Some("EvictionHeld" | "EvictionsQueued")))
                .map(|event| event["count"].as_i64().unwrap())
                .sum::<i64>()
        };
        assert_eq!(told(&scene), 3);
        queue.crash();
        let _queue = scene.queue("queue-1", 1.0).await;
        scene.until(120).await;
        assert_eq!(scene.entries().await.len(), 2);
        assert_eq!(told(&scene), 3);
    });
}
