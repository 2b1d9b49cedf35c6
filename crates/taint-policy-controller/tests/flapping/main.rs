//! A cluster that never rests, for a day.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "shared with the tests of taints, which need more of it")]
#[path = "../taints/bench.rs"]
mod bench;

use std::collections::BTreeSet;

use bench::{Bench, stock_spec};
use controller_kit::Running;
use test_bench::{Heap, assert_flat, heap, held_to_its_end, paused};

#[global_allocator]
static HEAP: Heap = heap();

/// In the first hours everything happens that will happen later.
const FIRST_HOURS: u64 = 4;

/// What the process keeps, as far as it can be counted from outside: the series of its metrics, and how much waits in
/// its queues.
fn kept(taints: &Running) -> (BTreeSet<String>, Vec<String>) {
    let text = taints.metrics().render();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs: Vec<(&str, &str)> = lines.filter_map(|line| line.rsplit_once(' ')).collect();
    let series = pairs.iter().map(|(name, _)| (*name).to_owned()).collect();
    let depths = pairs.iter().filter(|(name, _)| name.contains("depth"));
    (series, depths.map(|(_, value)| (*value).to_owned()).collect())
}

/// Lets the cluster flap for some hours and then rest, and tells how many bytes the process held at the end.
async fn flap(hours: u64) -> usize {
    let bench = Bench::new(&["m1", "m2"]);
    bench.put_not_ready_policy();
    bench.put_policy("stock", &stock_spec());
    bench.set_ready("m1", "True").await;
    bench.set_ready("m2", "True").await;
    let taints = bench.start_taints("taints-0").await;
    let states = ["False", "Unknown", "True", "True"];
    // Windows run out, and are cut short.
    let lengths = [680, 200, 400, 560, 60, 30, 180, 100];
    let mut second = 60;
    let mut at_first = None;
    let mut most_annotated = 0;
    for round in 0_usize.. {
        bench.until(second).await;
        bench.set_ready("m1", states[round % states.len()]).await;
        second += lengths[round % lengths.len()];
        let annotations = bench.cluster("m1").await.metadata.annotations.unwrap_or_default();
        most_annotated = most_annotated.max(annotations.values().map(String::len).sum());
        if second > FIRST_HOURS * 3600 && at_first.is_none() {
            at_first = Some(kept(&taints));
        }
        if second > hours * 3600 {
            break;
        }
    }
    bench.set_ready("m1", "True").await;
    bench.until(second + 600).await;
    let (series, depths) = kept(&taints);
    let (series_at_first, _) = at_first.unwrap();
    let new: Vec<_> = series.difference(&series_at_first).collect();
    assert_eq!(new, [""; 0]);
    assert!(
        !depths.is_empty() && depths.iter().all(|depth| depth == "0"),
        "{depths:?}"
    );
    assert!(most_annotated < 2000, "{most_annotated} bytes");
    let left = bench.cluster("m1").await.metadata.annotations.unwrap_or_default();
    let left: Vec<_> = left.keys().collect();
    assert_eq!(left, ["failover.karmada.io/flap-score"]);
    assert_eq!(bench.taints("m1").await, [""; 0]);
    held_to_its_end(&HEAP, taints).await
}

#[test]
fn a_day_of_flapping_leaves_nothing_behind() {
    let after_the_first_hours = paused(flap(FIRST_HOURS));
    let after_a_day = paused(flap(24));
    assert_flat("the taint policy controller", after_the_first_hours, after_a_day);
}
