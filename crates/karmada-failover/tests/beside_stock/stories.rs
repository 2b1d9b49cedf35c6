//! The stories of the demo, with the windows of a real fleet.

use karmada_failover::story::Step;
use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::scenario::mass_failure::{self, Crowd, members, tolerate_seconds};
use karmada_failover::story::scenario::{Chapter, Scenario, application_failover, no_target, opt_in, worked_example};
use rstest::rstest;

use crate::profile::told;

const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 0.5,
};

#[rstest]
#[case(1)]
#[case(2)]
fn the_worked_example(#[case] seed: u64) {
    told(&worked_example::scenario(PACE), seed);
}

#[rstest]
#[case(3)]
#[case(4)]
fn nothing_leaves_that_has_no_place(#[case] seed: u64) {
    let told = told(&no_target::scenario(PACE), seed);
    assert!(told.of(Step::EvictionHeld).count() > 0);
}

#[rstest]
#[case(5)]
#[case(6)]
fn only_who_has_opted_in_moves(#[case] seed: u64) {
    told(&opt_in::scenario(PACE), seed);
}

#[rstest]
#[case(7)]
#[case(8)]
fn an_application_moves_on_and_never_back(#[case] seed: u64) {
    told(&application_failover::scenario(PACE), seed);
}

/// A part of `mass-failure`, with so many workloads that the brakes are felt.
fn part_of_mass_failure(homes: usize, empty: usize, refuges: usize, chapter: fn(&Crowd) -> Chapter) -> Scenario {
    let (first_empty, first_refuge) = (homes + 1, homes + empty + 1);
    let crowd = Crowd {
        homes: members(1, homes),
        empty: members(first_empty, homes + empty),
        refuges: members(first_refuge, homes + empty + refuges),
        workloads: 25,
        tolerate_seconds: tolerate_seconds(&PACE),
    };
    let mut chapter = chapter(&crowd);
    chapter.acts.insert(0, crowd.create());
    chapter.expectations.extend(crowd.ran());
    Scenario {
        name: "one chapter",
        description: String::new(),
        members: crowd.all(),
        joining: Vec::new(),
        pace: PACE,
        reduced_evictions_per_second: 0.1,
        given: example::taint_policies(&PACE),
        chapters: vec![chapter],
    }
}

#[test]
fn much_of_a_small_fleet_fails_and_nothing_moves() {
    told(
        &part_of_mass_failure(4, 0, 2, |crowd| mass_failure::halted(crowd, &PACE)),
        9,
    );
}

#[test]
fn much_of_a_large_fleet_fails_and_what_moves_moves_slowly() {
    told(
        &part_of_mass_failure(6, 2, 4, |crowd| mass_failure::reduced(crowd, &PACE, 0.1, 4)),
        10,
    );
}
