//! A workload that goes where it fits: what the members report of their nodes and pods decides.
//!
//! | | CPUs | cache: one CPU each | free | db: two replicas of two CPUs | after member1 failed |
//! |---|---|---|---|---|---|
//! | member1 | 3, then 4 | 0 | 3, then 4 | 2 | 0 |
//! | member2 | 4 | 3, later 2 | 1, later 2 | 0 | 1 |
//! | member3 | 1, later 2 | 0 | 1, later 2 | 0 | 1 |

use api_types::work::condition::SCHEDULED;
use serde_json::json;

use super::objects::{asking_for, binding_of, deployment, duplicated, placed_by};
use super::{Act, Action, Check, Expectation, Saying, Scenario, Until};
use crate::story::example::Pace;
use crate::story::line::Step;

const BINDING: &str = "default/db-deployment";
/// What db is told while member1 has room for one replica.
const NOT_ENOUGH: Saying = Saying {
    condition: SCHEDULED,
    status: "False",
    reason: "Unschedulable",
    words: "Clusters available replicas 1 are not enough to schedule.",
};
/// What the others have for db when member1 fails.
const NO_ROOM: &str = "2 replicas want a place, and the other clusters have room for 0";
/// And when cache has become smaller.
const TOO_LITTLE_ROOM: &str = "2 replicas want a place, and the other clusters have room for 1";

/// The story at a pace.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    Scenario::of_three(
        "room",
        "db has two replicas of two CPUs each, and goes to as few members as have room for them: nowhere until member1 \
                      has grown, and then there alone. It fails, and the others have one CPU free each: db stays, and \
                      the queue says why. A pod less on member2 makes room for one replica, which is not enough; a CPU \
                      more on member3 makes room for the other, and db moves.",
        pace,
        acts(),
        expectations(),
    )
}

fn acts() -> Vec<Act> {
    let on_few = json!({"replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Aggregated",
    }});
    vec![
        Act::new(
            "member1 has three CPUs, member2 four and member3 one; cache takes three of member2",
            vec![
                Action::cpus("member1", 3),
                Action::cpus("member2", 4),
                Action::cpus("member3", 1),
                Action::Create(asking_for(1, deployment("cache", 3))),
                Action::Create(duplicated("cache", &["member2"], 1)),
            ],
        )
        .until_told(Step::WorkloadRunning)
        .until(Until::FreeCpus("member1", 3))
        .until(Until::FreeCpus("member2", 1))
        .until(Until::FreeCpus("member3", 1)),
        Act::new(
            "db is created: two replicas of two CPUs each, on as few members as have room for them",
            vec![
                Action::Create(asking_for(2, deployment("db", 2))),
                Action::Create(placed_by("db", &on_few)),
            ],
        )
        .until(Until::Condition(BINDING, NOT_ENOUGH)),
        Act::new("member1 gets a CPU more", vec![Action::cpus("member1", 4)])
            .until_told(Step::WorkloadRunning)
            .until(Until::FreeCpus("member1", 0)),
        Act::new("member1's API server is stopped", vec![Action::stop("member1")])
            .until_told(Step::EvictionHeld)
            .until(Until::Condition(BINDING, Saying::no_target(NO_ROOM)))
            .until(Until::Explained(BINDING, NO_ROOM)),
        Act::new(
            "cache is scaled down by one: room for one replica of db",
            vec![Action::scale("default", "cache", 2)],
        )
        .until(Until::FreeCpus("member2", 2))
        .until(Until::Explained(BINDING, TOO_LITTLE_ROOM)),
        Act::new("member3 gets a CPU more", vec![Action::cpus("member3", 2)])
            .until_told(Step::OldCopyKept)
            .until(Until::FreeCpus("member2", 0))
            .until(Until::FreeCpus("member3", 0)),
        Act::new("member1's API server comes back", vec![Action::start("member1")])
            .until_told(Step::OldCopyRemoved)
            .until(Until::NoTaints),
    ]
}

fn expectations() -> Vec<Expectation> {
    vec![
        Expectation::new(
            Check::ran("db", &[("member1", 2)]),
            "all is placed or nothing, and no other member has room for one replica",
        ),
        Expectation::new(
            Check::Said(Step::EvictionHeld, binding_of("db"), NO_ROOM),
            "one free CPU is no room for a replica of two, on however many members",
        ),
        Expectation::new(
            Check::move_after(&[Step::EvictionQueued, Step::EvictionHeld]),
            "nobody leaves before there is room",
        ),
        Expectation::new(
            Check::placed("db", &[("member2", 1), ("member3", 1)]),
            "each has room for one, and nothing moves back by itself",
        ),
        Expectation::new(Check::placed("cache", &[("member2", 2)]), "cache is not concerned"),
        Expectation::new(Check::Evictions(1), "db leaves once"),
        Expectation::new(Check::NoTasks, "the move is complete"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binding_is_that_of_the_workload() {
        assert_eq!(BINDING, binding_of("db"));
    }
}
