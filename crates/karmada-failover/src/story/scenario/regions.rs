//! A workload that spreads over two regions, divided by what the members report of their nodes and pods.
//!
//! | | region | CPUs | web: five replicas of one CPU | after member1 failed |
//! |---|---|---|---|---|
//! | member1 | north | 4 | 4 | 0 |
//! | member2 | north | 4 | 0 | 4 |
//! | member3 | south | 1 | 1 | 1 |

use serde_json::json;

use super::objects::{asking_for, binding_of, deployment, placed_by};
use super::{Act, Action, Chapter, Check, Expectation, ObjectName, Saying, Scenario, Until};
use crate::story::example::Pace;
use crate::story::line::Step;

const BINDING: &str = "default/web-deployment";
/// What web misses without member3.
const NO_OTHER_REGION: &str =
    "the number of feasible region is less than spreadConstraint.MinGroups (1 of 2), not counting member3";

/// The story at a pace.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    let mut scenario = Scenario::of_three(
        "regions",
        "member1 and member2 are in the north with 4 CPUs each, member3 is in the south with one. web wants two \
                      regions and is divided by room. member1 fails: its replicas go to the other member of the north, \
                      and none to member3, which is full. member3 fails: the south has no other member, so web stays, \
                      although member1 has room again.",
        pace,
        Vec::new(),
        Vec::new(),
    );
    scenario.chapters = vec![with_another_member(), without_another_member(&pace)];
    scenario
}

fn is_in(member: &str, region: &str) -> Action {
    Action::Patch {
        object: ObjectName::cluster(member),
        patch: json!({"spec": {"region": region}}),
    }
}

fn with_another_member() -> Chapter {
    let in_both_regions = json!({
        "spreadConstraints": [{"spreadByField": "region", "minGroups": 2, "maxGroups": 2}],
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        },
    });
    Chapter {
        heading: "a member fails, and its region has another".to_owned(),
        acts: vec![
            Act::new(
                "member1 and member2 are in the north and have 4 CPUs each, member3 is in the south and has one",
                vec![
                    is_in("member1", "north"),
                    is_in("member2", "north"),
                    is_in("member3", "south"),
                    Action::cpus("member1", 4),
                    Action::cpus("member2", 4),
                    Action::cpus("member3", 1),
                ],
            )
            .until(Until::FreeCpus("member1", 4))
            .until(Until::FreeCpus("member2", 4))
            .until(Until::FreeCpus("member3", 1)),
            Act::new(
                "web is created: five replicas of one CPU each, in two regions, more of them where there is more room",
                vec![
                    Action::Create(asking_for(1, deployment("web", 5))),
                    Action::Create(placed_by("web", &in_both_regions)),
                ],
            )
            .until_told(Step::WorkloadRunning)
            .until(Until::FreeCpus("member1", 0))
            .until(Until::FreeCpus("member3", 0)),
            Act::new("member1's API server is stopped", vec![Action::stop("member1")])
                .until_told(Step::OldCopyKept)
                .until(Until::FreeCpus("member2", 0)),
            Act::new("member1's API server comes back", vec![Action::start("member1")])
                .until_told(Step::OldCopyRemoved)
                .until(Until::NoTaints),
            // A real member's own controllers try again ever more rarely while its API server is away, and the pods go
            // when they are back.
            Act::new("and the pods of the old copy go", Vec::new())
                .until(Until::FreeCpus("member1", 4))
                .within(120),
        ],
        expectations: vec![
            Expectation::new(
                Check::ran("web", &[("member1", 4), ("member3", 1)]),
                "of each region one member is taken, of two with the same room the first by name, and five replicas \
                 are divided by the room of the two, 4:1",
            ),
            Expectation::new(Check::move_after(&[]), "there is room in the north"),
            Expectation::new(
                Check::placed("web", &[("member2", 4), ("member3", 1)]),
                "member3 runs web already, and has no room for more",
            ),
            Expectation::new(Check::Evictions(1), "only member1 failed"),
            Expectation::new(Check::NoTasks, "the move is complete"),
        ],
    }
}

fn without_another_member(pace: &Pace) -> Chapter {
    Chapter {
        heading: "a member fails, and is the only one of its region".to_owned(),
        acts: vec![
            Act::new("member3's API server is stopped", vec![Action::stop("member3")])
                .until_told(Step::EvictionHeld)
                .until(Until::Condition(BINDING, Saying::no_target(NO_OTHER_REGION)))
                .until(Until::Explained(BINDING, NO_OTHER_REGION))
                .then_wait(u64::from(3 * pace.threshold_seconds)),
            Act::new("member3's API server comes back", vec![Action::start("member3")])
                .until_told(Step::EvictionAbandoned)
                .until(Until::NoTaints),
        ],
        expectations: vec![
            Expectation::new(
                Check::Said(Step::EvictionHeld, binding_of("web"), NO_OTHER_REGION),
                "member1 has room, and is in the north as member2 is",
            ),
            Expectation::new(Check::Evictions(0), "two regions must hold and are no wish"),
            Expectation::new(
                Check::placed("web", &[("member2", 4), ("member3", 1)]),
                "it has not moved",
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binding_is_that_of_the_workload() {
        assert_eq!(BINDING, binding_of("web"));
    }
}
