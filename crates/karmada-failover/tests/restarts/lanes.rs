//! Several workloads on the failing member: their order in its lane, and the rate, survive a restart in the middle.

use std::time::Duration;

use super::components::Component;
use super::outages::{Cue, Outage, Way};
use super::play::{is_full, played};
use super::steps::must_change_nothing_but_time;
use super::story::{Moment, Story};

#[test]
fn the_order_of_a_lane_survives() {
    let story = Story::several_workloads();
    let reference = played(&story, None);
    let left: Vec<String> = reference
        .evictions
        .iter()
        .map(|(_, binding, _)| binding.clone())
        .collect();
    assert_eq!(left, story.order(), "by due time, then by name");

    let mut outages = Vec::new();
    for component in [
        Component::Queue,
        Component::TaintManager,
        Component::Scheduler,
        Component::GracefulEviction,
    ] {
        for (way, down) in [(Way::Crash, 0), (Way::Stop, 0), (Way::Crash, 20), (Way::Stop, 20)] {
            for n in [1, 2, 4] {
                let cue = Cue::AtNth(Moment::Evicted, n);
                outages.push(Outage {
                    component,
                    cue,
                    way,
                    down: Duration::from_secs(down),
                });
            }
        }
    }
    // By default one of each component, another way and number each time.
    let step = if is_full() { 1 } else { 13 };
    must_change_nothing_but_time(&story, &reference, outages.into_iter().step_by(step));
}

/// The evictor dies right after each of its writes: no workload is evicted twice, none is forgotten.
#[test]
fn a_crash_of_the_evictor_between_two_evictions() {
    let story = Story::several_workloads();
    let reference = played(&story, None);
    let own = reference
        .writes
        .iter()
        .filter(|write| write.client == Component::TaintManager.identity(1));
    let telling = (1..)
        .zip(own)
        .filter(|(_, write)| write.resource == "resourcebindings" && write.subresource.is_none());
    let ks: Vec<u64> = telling.map(|(k, _)| k).collect();
    assert_eq!(ks.len(), story.workloads.len(), "one write of the spec for each");
    let step = if is_full() { 1 } else { 3 };
    let outages = ks.into_iter().step_by(step).map(|k| Outage {
        component: Component::TaintManager,
        cue: Cue::AfterWrite(k),
        way: Way::Crash,
        down: Duration::ZERO,
    });
    must_change_nothing_but_time(&story, &reference, outages);
}
