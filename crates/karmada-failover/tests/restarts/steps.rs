//! Every component is away at every step: stopped or crashed, started again at once or after a while.

use std::time::Duration;

use rstest::rstest;

use super::comparison;
use super::components::Component;
use super::outages::{Cue, Outage, Way};
use super::play::{Outcome, is_full, played};
use super::story::{Moment, Story};

const AT_ONCE: Duration = Duration::ZERO;
const A_WHILE: Duration = Duration::from_secs(20);

/// The four ways of being away.
const WAYS: [(Way, Duration); 4] = [
    (Way::Crash, AT_ONCE),
    (Way::Stop, A_WHILE),
    (Way::Stop, AT_ONCE),
    (Way::Crash, A_WHILE),
];

/// Runs the story with each of the outages and fails with what was wrong in any of them.
pub fn must_change_nothing_but_time(story: &Story, reference: &Outcome, outages: impl IntoIterator<Item = Outage>) {
    assert!(
        reference.problems.is_empty(),
        "the reference run: {:#?}",
        reference.problems
    );
    let mut runs = 0;
    let mut failures = Vec::new();
    for outage in outages {
        let run = played(story, Some(&outage));
        runs += 1;
        let problems = comparison::problems(story, reference, &run, &outage);
        if !problems.is_empty() {
            failures.push(format!("{outage}, seed {:?}: {problems:#?}", story.latency_seed));
        }
    }
    assert!(runs > 0, "nothing was run");
    assert!(
        failures.is_empty(),
        "{} of {runs} runs came out wrong:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// The part that is always run: every fifth step, and the ways in turn; other ones for each component.
fn is_in_the_part(component: Component, row: usize, column: usize) -> bool {
    (row + component as usize).is_multiple_of(5) && column == (row / 5 + component as usize) % WAYS.len()
}

#[rstest]
#[case(Component::Health)]
#[case(Component::TaintPolicy)]
#[case(Component::TaintManager)]
#[case(Component::Queue)]
#[case(Component::Scheduler)]
#[case(Component::GracefulEviction)]
#[case(Component::Propagation)]
fn away_at_every_step(#[case] component: Component) {
    let story = Story::worked_example();
    let reference = played(&story, None);
    let everything = is_full();
    let outages = Moment::ALL.into_iter().enumerate().flat_map(|(row, moment)| {
        WAYS.into_iter().enumerate().filter_map(move |(column, (way, down))| {
            let is_chosen = everything || is_in_the_part(component, row, column);
            is_chosen.then_some(Outage {
                component,
                cue: Cue::At(moment),
                way,
                down,
            })
        })
    });
    must_change_nothing_but_time(&story, &reference, outages);
}

/// The story runs the same way every time: without that, the comparisons say nothing.
#[test]
fn two_undisturbed_runs_are_the_same() {
    let story = Story::worked_example();
    let [one, other] = [played(&story, None), played(&story, None)];
    let shown = |outcome: &Outcome| {
        outcome
            .writes
            .iter()
            .map(|write| format!("{write:?}"))
            .collect::<Vec<_>>()
    };
    let (one_wrote, other_wrote) = (shown(&one), shown(&other));
    let first = one_wrote.iter().zip(&other_wrote).position(|(one, other)| one != other);
    assert_eq!(
        first,
        None,
        "{:#?}",
        first.map(|first| (
            &one_wrote[first..(first + 3).min(one_wrote.len())],
            &other_wrote[first..(first + 3).min(other_wrote.len())]
        ))
    );
    assert_eq!(one_wrote.len(), other_wrote.len());
    assert_eq!(one.times, other.times);
    assert_eq!(
        one.times.len(),
        Moment::ALL.len(),
        "every step is told: {:#?}",
        one.times
    );
    assert_eq!(one.problems, Vec::<String>::new());
    assert_eq!(one.evictions.len(), 1);
}
