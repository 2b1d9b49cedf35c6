//! Wall clocks that are set, forward and back: every window ends on its second of elapsed time, in the process that saw
//! the clock being set and in the next one.

use controller_kit::Running;
use tokio::time::{Instant, sleep, sleep_until};

use super::*;

const HOUR: SignedDuration = SignedDuration::from_hours(1);

const SMALL: SignedDuration = SignedDuration::from_millis(900);

/// When the clock is set, in the life of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Set {
    BeforeTheWindow,
    InTheWindow,
}

/// Each way of setting it.
fn each_way() -> impl Iterator<Item = (SignedDuration, Set)> {
    [HOUR, -HOUR, SMALL, -SMALL]
        .into_iter()
        .flat_map(|step| [(step, Set::BeforeTheWindow), (step, Set::InTheWindow)])
}

async fn pass(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

/// Ready becomes `status`, which begins a window; the clock is set; and a while later, with nothing else happening, the
/// process crashes and another one starts. When the window began, and the other process.
async fn across_a_restart(
    bench: &Bench,
    taints: Running,
    status: &str,
    (step, set): (SignedDuration, Set),
) -> (Instant, Running) {
    if set == Set::BeforeTheWindow {
        bench.step_clock(step);
        pass(5).await;
    }
    let began = Instant::now();
    bench.set_ready("m1", status).await;
    pass(40).await;
    if set == Set::InTheWindow {
        bench.step_clock(step);
    }
    pass(40).await;
    taints.crash();
    let taints = bench.start_taints("taints-1").await;
    (began, taints)
}

/// A fleet with a member that has been tainted for long, or not.
async fn bench(ready: &str) -> (Bench, Running) {
    let bench = Bench::new(&["m1"]);
    bench.put_not_ready_policy();
    bench.set_ready("m1", ready).await;
    let taints = bench.start_taints("taints-0").await;
    pass(400).await;
    (bench, taints)
}

/// The taints are `before` until `seconds` after `began`, and `after` within a second of that.
async fn assert_on_the_second(
    bench: &Bench,
    began: Instant,
    seconds: u64,
    before: &[&str],
    after: &[&str],
    how: (SignedDuration, Set),
) {
    let due = began + Duration::from_secs(seconds);
    sleep_until(due - Duration::from_millis(1)).await;
    assert_eq!(bench.taints("m1").await, before, "early: {how:?}");
    sleep_until(due + Duration::from_secs(1)).await;
    assert_eq!(bench.taints("m1").await, after, "late: {how:?}");
}

#[test]
fn a_wall_clock_that_is_set_moves_no_window() {
    paused(async {
        for jump in [2 * HOUR, -2 * HOUR] {
            let bench = Bench::new(&["m1"]);
            bench.put_not_ready_policy();
            bench.set_ready("m1", "False").await;
            let _taints = bench.start_taints("taints-0").await;
            pass(100).await;
            bench.step_clock(jump);
            pass(199).await;
            assert!(bench.taints("m1").await.is_empty());
            sleep(Duration::from_millis(1100)).await;
            assert_eq!(bench.taints("m1").await, [TAINT]);
            let added = bench.cluster("m1").await.spec.taints[0].time_added.clone().unwrap().0;
            let off = bench.clock.now().duration_since(added).as_secs();
            assert!(
                (0..=2).contains(&off),
                "others compare timeAdded with their wall clock: {off} s"
            );
        }
    });
}

#[test]
fn a_wall_clock_that_is_set_makes_no_taint_early_or_late_in_the_next_process() {
    paused(async {
        for how in each_way() {
            let (bench, taints) = bench("True").await;
            let (began, _taints) = across_a_restart(&bench, taints, "False", how).await;
            assert_on_the_second(&bench, began, 300, &[], &[TAINT], how).await;
        }
    });
}

#[test]
fn a_wall_clock_that_is_set_moves_no_removal_in_the_next_process() {
    paused(async {
        for how in each_way() {
            let (bench, taints) = bench("False").await;
            let (began, _taints) = across_a_restart(&bench, taints, "True", how).await;
            assert_on_the_second(&bench, began, 180, &[TAINT], &[], how).await;
        }
    });
}

/// A taint that a person took back stays away until its policy has not matched for 180 s. It fails again just before
/// that, or just after.
#[test]
fn a_wall_clock_that_is_set_shortens_no_dismissal_in_the_next_process() {
    paused(async {
        for how in each_way() {
            for (calm, comes_back) in [(179, false), (181, true)] {
                let (bench, taints) = bench("False").await;
                bench.edit_cluster("m1", json!({"spec": {"taints": null}})).await;
                pass(10).await;
                let (began, _taints) = across_a_restart(&bench, taints, "True", how).await;
                sleep_until(began + Duration::from_secs(calm)).await;
                let failed = Instant::now();
                bench.set_ready("m1", "False").await;
                let after: &[&str] = if comes_back { &[TAINT] } else { &[] };
                assert_on_the_second(&bench, failed, 300, &[], after, how).await;
            }
        }
    });
}

/// What is shown is by the wall clock, soon after it was set; and setting it costs one write for each Cluster with a
/// window, not one for each look.
#[test]
fn what_is_shown_follows_a_wall_clock_that_is_set() {
    paused(async {
        let (bench, _taints) = bench("True").await;
        bench.set_ready("m1", "False").await;
        pass(10).await;
        let fires_at = async || {
            bench.policy("not-ready").await.status.unwrap().clusters[0]
                .fires_at
                .clone()
                .unwrap()
                .0
        };
        let before = fires_at().await;
        let writes = bench.writes("taints").len();
        bench.step_clock(HOUR);
        pass(3).await;
        assert_eq!(fires_at().await, before + HOUR);
        let forecast = bench.cluster("m1").await.metadata.annotations.unwrap()
            [api_types::names::annotation::TAINT_FORECAST]
            .clone();
        assert!(forecast.starts_with(&format!("{} adds", before + HOUR)), "{forecast}");
        pass(200).await;
        let later = bench.writes("taints");
        assert_eq!(
            later.len(),
            writes + 2,
            "the Cluster and the policy's status: {later:#?}"
        );
    });
}

#[test]
fn a_process_that_is_asked_to_end_does_not_go_on_looking_at_the_clock() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let taints = bench.start_taints("taints-0").await;
        bench.until(30).await;
        let asked = Instant::now();
        assert_eq!(taints.stop().await, controller_kit::Ended::Stopped);
        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    });
}
