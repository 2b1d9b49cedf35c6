//! The network between two machines loses everything for a while.

use std::rc::Rc;

use eviction_queue_api::v1::{EntryState, HoldReason};
use rstest::rstest;
use serde_json::json;

use super::machines::{Plan, Runs, on_machines};
use super::scene::{NOT_READY, Scene};

pub const ONE_OF_EACH: &[Plan] = &[("queue-0", Runs::Queue, 0), ("manager-0", Runs::Manager, 0)];

/// So many workloads on `m1`, which fails at second 20.
pub async fn m1_fails_under(scene: &Scene, workloads: usize) {
    for n in 0..workloads {
        scene.binding(&format!("web-{n:03}"), &["m1"], json!({}));
    }
    scene.until(20).await;
    scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
}

/// Each workload has left exactly once, in the order of their names, and the queue is empty.
pub async fn all_left_once(scene: &Scene, workloads: usize) {
    assert_eq!(scene.evicted(), workloads);
    assert_eq!(scene.spec_writes().len(), workloads);
    let evictions = scene.rules.evictions().into_iter();
    let order: Vec<String> = evictions.map(|(_, key, _)| key.name).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(scene.entries().await.len(), 0);
}

/// While the queue cannot be reached nothing moves, and afterwards everything goes on where it was; whether the cut is
/// too short to be noticed, long enough for connections to break, or longer than the queue believes the producer.
#[rstest]
#[case::unnoticed(3)]
#[case::broken_connections(20)]
#[case::producer_gone(100)]
fn a_cut_costs_time_and_nothing_else(#[case] seconds: u64) {
    on_machines(ONE_OF_EACH, move |scene: Rc<Scene>| async move {
        m1_fails_under(&scene, 20).await;
        scene.until(31).await;
        turmoil::partition("manager-0", "queue-0");
        let before = scene.evicted();
        assert!((4..=6).contains(&before), "{before}");
        scene.until(31 + seconds).await;
        // What had been released and confirmed before may still be carried out.
        assert!(scene.evicted() <= before + 1, "{} after {before}", scene.evicted());
        if seconds > 60 {
            let held = scene.entries().await;
            assert!(held.iter().all(|entry| {
                entry.state() == EntryState::Held && entry.hold.as_ref().unwrap().reason() == HoldReason::ProducerGone
            }));
        }
        turmoil::repair("manager-0", "queue-0");
        // A lease of which the queue never heard again lapses first.
        scene.until(31 + seconds + 140).await;
        all_left_once(&scene, 20).await;
    });
}

/// The cluster recovers while the producer cannot tell: the queue sees it for itself, and evicts nobody.
#[test]
fn who_recovers_behind_a_cut_stays() {
    on_machines(ONE_OF_EACH, |scene: Rc<Scene>| async move {
        m1_fails_under(&scene, 20).await;
        scene.until(31).await;
        turmoil::partition("manager-0", "queue-0");
        scene.taint("m1", &json!([])).await;
        let before = scene.evicted();
        scene.until(33).await;
        turmoil::repair("manager-0", "queue-0");
        scene.until(200).await;
        assert_eq!(scene.evicted(), before);
        assert_eq!(scene.entries().await.len(), 0);
    });
}

/// Only one direction is lost: the queue hears everything and is not heard, or the other way round.
#[rstest]
#[case::not_heard("queue-0", "manager-0")]
#[case::does_not_hear("manager-0", "queue-0")]
fn half_a_cut(#[case] from: &'static str, #[case] to: &'static str) {
    on_machines(ONE_OF_EACH, move |scene: Rc<Scene>| async move {
        m1_fails_under(&scene, 12).await;
        scene.until(27).await;
        turmoil::partition_oneway(from, to);
        scene.until(87).await;
        turmoil::repair_oneway(from, to);
        scene.until(230).await;
        all_left_once(&scene, 12).await;
    });
}
