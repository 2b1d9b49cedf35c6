//! A release is upgraded while much of the fleet is gone: as a Deployment does it, of each component a new replica starts,
//! and when it is ready the old one is asked to end.

use std::time::Duration;

use controller_kit::{Ended, Running};
use karmada_failover::story::Step;
use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::scenario::mass_failure::{Crowd, members};
use karmada_failover::story::scenario::{Act, Action, Chapter, Check, Expectation, Scenario, Until};

use crate::COMPONENTS;
use crate::common::{World, simulate};
use crate::log::Log;
use crate::processes::start;
use crate::stage::{perform, world};

const WORKLOADS: usize = 30;
/// The windows of a real fleet.
const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 300,
    remove_on_mismatch_seconds: 180,
    evictions_per_second: 0.5,
};

fn story() -> Scenario {
    let crowd = Crowd {
        homes: members(1, 4),
        empty: members(5, 7),
        refuges: members(8, 12),
        workloads: WORKLOADS,
        tolerate_seconds: 60,
    };
    let stop: Vec<Action> = crowd.failing().iter().map(|name| Action::stop(name)).collect();
    let acts = vec![
        crowd.create(),
        Act::new("seven of twelve stop", stop)
            .until(Until::Told(Step::ReplacementHealthy, WORKLOADS))
            .within(1800)
            .then_wait(60),
    ];
    let once = Expectation::new(Check::Evictions(WORKLOADS), "each leaves, and none twice");
    Scenario {
        name: "rolling upgrade",
        description: String::new(),
        members: crowd.all(),
        joining: Vec::new(),
        pace: PACE,
        reduced_evictions_per_second: 0.1,
        given: example::taint_policies(&PACE),
        chapters: vec![Chapter {
            heading: String::new(),
            acts,
            expectations: [vec![once], crowd.ran()].concat(),
        }],
    }
}

/// Of each component in turn: a new one, and then the old one goes.
async fn upgraded(world: &World, story: &Scenario, old: Vec<Running>) -> Vec<Running> {
    let mut new = Vec::new();
    for ((component, _), old) in COMPONENTS.into_iter().zip(old) {
        new.push(start(world, story, component, "new", &Log::default(), &[]).await);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(old.stop().await, Ended::Stopped, "{component}");
    }
    new
}

/// Rules 1 to 8 are watched all the while.
#[test]
fn a_rolling_upgrade_of_every_component_during_a_mass_failure_breaks_no_rule() {
    simulate(|| async {
        let story = story();
        let world = world(&story);
        let mut old = Vec::new();
        for (component, _) in COMPONENTS {
            old.push(start(&world, &story, component, "old", &Log::default(), &[]).await);
        }
        let meanwhile = async {
            // The first have left, and the queue holds the others back.
            tokio::time::sleep(Duration::from_secs(520)).await;
            upgraded(&world, &story, old).await
        };
        let (_, new) = tokio::join!(perform(&world, &story, None), meanwhile);
        world.finish(new).await;
    });
}
