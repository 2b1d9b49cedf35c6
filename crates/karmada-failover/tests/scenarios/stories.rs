//! The demo's shorter stories, at the pace at which the demo tells them and with the windows of a real fleet.

use std::time::Duration;

use controller_kit::Mode;
use karmada_failover::story::Step;
use karmada_failover::story::example::Pace;
use karmada_failover::story::scenario::{
    Scenario, application_failover, custom_kind, drain, fallback, flapping, no_target, opt_in, regions, room,
};
use rstest::rstest;

use crate::chapters::PACE;
use crate::common::simulate;
use crate::stage::{Told, play_in_mode};

/// What came of a story.
fn told(mode: Mode, scenario: &Scenario) -> Told {
    let told = std::sync::Mutex::new(None);
    simulate(|| async {
        *told.lock().unwrap() = Some(play_in_mode(mode, scenario).await);
    });
    told.into_inner().unwrap().unwrap()
}

#[rstest]
#[case::to_watch(Pace::WATCHABLE)]
#[case::fast(Pace::FAST)]
#[case::of_a_real_fleet(PACE)]
fn nothing_leaves_that_has_no_place(#[case] pace: Pace) {
    let told = told(Mode::Standalone, &no_target::scenario(pace));
    let said = |binding: &str, words: &str| {
        told.of(Step::EvictionHeld)
            .any(|line| line.binding.as_deref() == Some(binding) && line.why.contains(words))
    };
    assert!(
        said("default/db-deployment", "no other cluster can take it"),
        "it has one cluster only"
    );
    assert!(
        said("default/web-deployment", "MinGroups (1 of 2)"),
        "it has a copy on both of its clusters"
    );
}

#[rstest]
#[case::to_watch(Mode::Standalone, Pace::WATCHABLE)]
#[case::fast(Mode::Standalone, Pace::FAST)]
#[case::of_a_real_fleet(Mode::Standalone, PACE)]
#[case::beside_stock(Mode::Beside, PACE)]
fn a_cluster_is_drained_and_taken_back(#[case] mode: Mode, #[case] pace: Pace) {
    told(mode, &drain::scenario(pace));
}

#[rstest]
#[case::to_watch(Pace::WATCHABLE)]
#[case::fast(Pace::FAST)]
#[case::of_a_real_fleet(PACE)]
fn only_who_has_opted_in_moves(#[case] pace: Pace) {
    told(Mode::Standalone, &opt_in::scenario(pace));
}

#[rstest]
#[case::to_watch(Mode::Standalone, Pace::WATCHABLE)]
#[case::fast(Mode::Standalone, Pace::FAST)]
#[case::of_a_real_fleet(Mode::Standalone, PACE)]
#[case::beside_stock(Mode::Beside, PACE)]
fn a_kind_of_ones_own_moves_like_any_other(#[case] mode: Mode, #[case] pace: Pace) {
    told(mode, &custom_kind::scenario(pace));
}

#[rstest]
#[case::to_watch(Mode::Standalone, Pace::WATCHABLE)]
#[case::fast(Mode::Standalone, Pace::FAST)]
#[case::of_a_real_fleet(Mode::Standalone, PACE)]
#[case::beside_stock(Mode::Beside, PACE)]
fn replicas_stay_in_their_regions(#[case] mode: Mode, #[case] pace: Pace) {
    told(mode, &regions::scenario(pace));
}

#[rstest]
#[case::to_watch(Mode::Standalone, Pace::WATCHABLE)]
#[case::fast(Mode::Standalone, Pace::FAST)]
#[case::of_a_real_fleet(Mode::Standalone, PACE)]
#[case::beside_stock(Mode::Beside, PACE)]
fn replicas_go_where_there_is_room(#[case] mode: Mode, #[case] pace: Pace) {
    told(mode, &room::scenario(pace));
}

#[rstest]
#[case::to_watch(Mode::Standalone, Pace::WATCHABLE)]
#[case::fast(Mode::Standalone, Pace::FAST)]
#[case::of_a_real_fleet(Mode::Standalone, PACE)]
#[case::beside_stock(Mode::Beside, PACE)]
fn a_workload_falls_back_to_the_next_group(#[case] mode: Mode, #[case] pace: Pace) {
    told(mode, &fallback::scenario(pace));
}

#[rstest]
#[case::to_watch(Mode::Standalone, flapping::WATCHABLE)]
#[case::fast(Mode::Standalone, flapping::FAST)]
#[case::of_a_real_fleet(Mode::Standalone, PACE)]
#[case::beside_stock(Mode::Beside, PACE)]
fn a_cluster_comes_and_goes(#[case] mode: Mode, #[case] pace: Pace) {
    told(mode, &flapping::scenario(pace));
}

/// C88 (karmada#4208): where it failed it does not go back by itself, and how long a move takes is no matter of luck.
#[rstest]
#[case::to_watch(Pace::WATCHABLE)]
#[case::fast(Pace::FAST)]
#[case::of_a_real_fleet(PACE)]
fn an_application_moves_on_and_never_back(#[case] pace: Pace) {
    let told = told(Mode::Standalone, &application_failover::scenario(pace));
    let failed = told.of(Step::ApplicationFailed).map(|line| line.at);
    let evicted = told.of(Step::ClusterEvicted).map(|line| line.at);
    let late = Duration::from_secs(u64::from(pace.threshold_seconds) + 3).as_secs_f64();
    // The first meets a queue whose leader is new and waits; the third has no place to go to until the end.
    let (failed, evicted) = failed.zip(evicted).nth(1).expect("it fails three times");
    assert!(
        evicted - failed <= late,
        "evicted {:.1} s after it failed",
        evicted - failed
    );
}
