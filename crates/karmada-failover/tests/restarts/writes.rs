//! A crash right after every write: what was written is stored, who wrote it never hears of it.
//!
//! The Ready condition and the taints are two writes (C60); so are the eviction and its record, and the task's end and
//! the old Work's. A crash between any two leaves nothing half done.

use std::time::Duration;

use kube_sandbox::WriteRecord;
use rstest::rstest;

use super::components::Component;
use super::outages::{Cue, Outage, Way};
use super::play::{Outcome, is_full, played};
use super::steps::must_change_nothing_but_time;
use super::story::Story;

// The queue is missing in the cases below: but its Leases it writes nothing.

/// Of the writes of a component only every so many-th is tried by default.
const SOME: usize = 6;

fn crash(component: Component, cue: Cue) -> Outage {
    Outage {
        component,
        cue,
        way: Way::Crash,
        down: Duration::ZERO,
    }
}

/// The writes of a component that mean something, as numbers (from 1) among all of its writes. That it renews its Leases
/// and publishes Events means nothing to anybody else.
fn telling(component: Component, run: &Outcome) -> Vec<u64> {
    let own = run.writes.iter().filter(|write| write.client == component.identity(1));
    (1..)
        .zip(own)
        .filter(|(_, write)| is_telling(write))
        .map(|(k, _)| k)
        .collect()
}

fn is_telling(write: &WriteRecord) -> bool {
    write.resource != "leases" && write.resource != "events"
}

fn crashes(component: Component, reference: &Outcome) -> Vec<Outage> {
    let control_plane = telling(component, reference).into_iter().map(Cue::AfterWrite);
    let mut cues: Vec<Cue> = control_plane.collect();
    if component == Component::Propagation {
        for member in ["member1", "member2"] {
            let count = reference.member_writes[member].len() as u64;
            cues.extend((1..=count).map(|k| Cue::AfterMemberWrite(member, k)));
        }
    }
    cues.into_iter().map(|cue| crash(component, cue)).collect()
}

#[rstest]
#[case(Component::Health)]
#[case(Component::TaintPolicy)]
#[case(Component::TaintManager)]
#[case(Component::Scheduler)]
#[case(Component::GracefulEviction)]
#[case(Component::Propagation)]
fn a_crash_after_any_write(#[case] component: Component) {
    let story = Story::worked_example();
    let reference = played(&story, None);
    let all = crashes(component, &reference);
    let (first, step) = if is_full() {
        (0, 1)
    } else {
        (component as usize % SOME.min(all.len()), SOME)
    };
    must_change_nothing_but_time(&story, &reference, all.into_iter().skip(first).step_by(step));
}

/// Other interleavings: every request takes a while, by a seed.
#[rstest]
#[case(1)]
#[case(2)]
#[case(3)]
fn a_crash_after_a_write_on_a_slow_server(#[case] seed: u64) {
    let story = Story {
        latency_seed: Some(seed),
        ..Story::worked_example()
    };
    let reference = played(&story, None);
    let all: Vec<Outage> = Component::ALL
        .into_iter()
        .flat_map(|component| crashes(component, &reference))
        .collect();
    let (first, step) = if is_full() {
        (0, 1)
    } else {
        (usize::try_from(seed).unwrap() * 7, 40)
    };
    must_change_nothing_but_time(&story, &reference, all.into_iter().skip(first).step_by(step));
}
