//! Ordered groups of clusters: a workload stays in the group in use while a member of it is left, falls back to the next one
//! when the whole group has failed, and does not come back by itself.
//!
//! | | group | web: four replicas | member1 failed | member2 failed, too | both are back | asked for anew |
//! |---|---|---|---|---|---|---|
//! | member1 | primary | 2 | 0 | 0 | 0 | 2 |
//! | member2 | primary | 2 | 4 | 0 | 0 | 2 |
//! | member3 | backup | 0 | 0 | 4 | 4 | 0 |
//! | member4 | none | 0 | 0 | 0 | 0 | 0 |

use api_types::work::condition::SCHEDULED;
use serde_json::json;

use super::objects::{binding_of, deployment, placed_by};
use super::{Act, Action, Chapter, Check, Expectation, Saying, Scenario, Until};
use crate::story::example::{self, Pace};
use crate::story::line::Step;

const BINDING: &str = "default/web-deployment";
/// What web misses when both members of its first group have failed and the second group takes nothing new.
const NO_GROUP: &str = "(This is of the affinity group primary. backup: 0/2 clusters are available: 1 cluster(s) did not match \
                        the placement cluster affinity constraint, 1 cluster(s) had untolerated taint";

/// The story at a pace.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    Scenario {
        name: "fallback",
        description: "web runs in the group primary, which is member1 and member2; the group backup is member3, and member4 is \
                      in none. member1 fails: all of web goes to member2. member2 fails, and member3 takes nothing new: \
                      web stays and says what either group lacks. member3 takes workloads again, and web falls back to \
                      it. The first group is well again, and web stays where it is until a person asks for a fresh \
                      placement."
            .to_owned(),
        members: ["member1", "member2", "member3", "member4"].map(str::to_owned).to_vec(),
        joining: Vec::new(),
        pace,
        reduced_evictions_per_second: 0.1,
        given: example::taint_policies(&pace),
        chapters: vec![in_the_group(), to_the_next_group(), no_way_back(&pace), asked_for()],
    }
}

fn in_the_group() -> Chapter {
    let in_order = json!({
        "clusterAffinities": [
            {"affinityName": "primary", "clusterNames": ["member1", "member2"]},
            {"affinityName": "backup", "clusterNames": ["member3"]},
        ],
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": [
                {"targetCluster": {"clusterNames": ["member1"]}, "weight": 1},
                {"targetCluster": {"clusterNames": ["member2"]}, "weight": 1},
                {"targetCluster": {"clusterNames": ["member3"]}, "weight": 1},
            ]},
        },
    });
    Chapter {
        heading: "a member of the group in use fails".to_owned(),
        acts: vec![
            Act::new(
                "web is created: four replicas, in the group primary (member1, member2), else in the group backup (member3)",
                vec![
                    Action::Create(deployment("web", 4)),
                    Action::Create(placed_by("web", &in_order)),
                ],
            )
            .until_told(Step::WorkloadRunning)
            .until(Until::Explained(BINDING, "primary, the first of primary, backup")),
            Act::new("member1's API server is stopped", vec![Action::stop("member1")]).until_told(Step::OldCopyKept),
        ],
        expectations: vec![
            Expectation::new(
                Check::ran("web", &[("member1", 2), ("member2", 2)]),
                "the first group fits, and no other is looked at",
            ),
            Expectation::new(
                Check::placed("web", &[("member2", 4)]),
                "a member of the group in use is left",
            ),
            Expectation::new(Check::in_group("web", "primary"), "the group in use still fits"),
            Expectation::new(Check::Evictions(1), "only member1 failed"),
        ],
    }
}

fn to_the_next_group() -> Chapter {
    Chapter {
        heading: "the whole group has failed".to_owned(),
        acts: vec![
            Act::new("member3 takes nothing new", vec![Action::cordon("member3")])
                .until_told(Step::TaintAdded)
                .until(Until::Explained(
                    BINDING,
                    "member3 candidate - True - refused by ClusterAffinity",
                )),
            Act::new("member2's API server is stopped, too", vec![Action::stop("member2")])
                .until_told(Step::EvictionHeld)
                .until(Until::Condition(BINDING, Saying::no_target(NO_GROUP)))
                .until(Until::Explained(BINDING, NO_GROUP)),
            Act::new("member3 takes workloads again", vec![Action::uncordon("member3")])
                .until_told(Step::OldCopyKept)
                .until(Until::Condition(BINDING, PLACED))
                .until(Until::Explained(BINDING, "backup, number 2 of primary, backup")),
        ],
        expectations: vec![
            Expectation::new(
                Check::Said(Step::EvictionHeld, binding_of("web"), NO_GROUP),
                "member4 is well, and in no group",
            ),
            Expectation::new(
                Check::InOrder(vec![
                    Step::EvictionHeld,
                    Step::ClusterEvicted,
                    Step::Rescheduled,
                    Step::ReplacementHealthy,
                    Step::OldCopyKept,
                ]),
                "nobody leaves before a group takes all of it",
            ),
            Expectation::new(
                Check::placed("web", &[("member3", 4)]),
                "the second group has one member",
            ),
            Expectation::new(Check::in_group("web", "backup"), "the first group has nobody left"),
            Expectation::new(Check::Evictions(1), "all of web was on member2"),
        ],
    }
}

fn no_way_back(pace: &Pace) -> Chapter {
    Chapter {
        heading: "the first group is well again".to_owned(),
        acts: vec![
            Act::new(
                "the API servers of member1 and member2 come back",
                vec![Action::start("member1"), Action::start("member2")],
            )
            .until(Until::Told(Step::OldCopyRemoved, 2))
            .until(Until::NoTaints)
            .until(Until::Explained(
                BINDING,
                "member1 candidate - True - refused by ClusterAffinity",
            ))
            .until(Until::Explained(
                BINDING,
                "spec.rescheduleTriggeredAt goes back to primary",
            ))
            .then_wait(u64::from(3 * pace.threshold_seconds)),
        ],
        expectations: vec![
            Expectation::new(
                Check::placed("web", &[("member3", 4)]),
                "nothing goes back to an earlier group by itself",
            ),
            Expectation::new(Check::in_group("web", "backup"), "the group in use still fits"),
            Expectation::new(Check::Evictions(0), "no cluster failed"),
            Expectation::new(Check::NoTasks, "the moves are complete"),
        ],
    }
}

fn asked_for() -> Chapter {
    Chapter {
        heading: "a person asks for a fresh placement".to_owned(),
        acts: vec![
            Act::new(
                "spec.rescheduleTriggeredAt of the binding is set",
                vec![Action::reschedule("web")],
            )
            .until_told(Step::OldCopyRemoved)
            .until(Until::Condition(BINDING, PLACED))
            .until(Until::Explained(BINDING, "primary, the first of primary, backup")),
        ],
        expectations: vec![
            Expectation::new(
                Check::placed("web", &[("member1", 2), ("member2", 2)]),
                "a fresh placement begins with the first group",
            ),
            Expectation::new(Check::in_group("web", "primary"), "the first group fits"),
            Expectation::new(
                Check::Evictions(0),
                "nothing failed: the scheduler moves it, and takes the copy on member3 away when another one works",
            ),
            Expectation::new(Check::NoTasks, "nobody was evicted"),
        ],
    }
}

/// Placed, and no copy is kept beside what was chosen.
const PLACED: Saying = Saying {
    condition: SCHEDULED,
    status: "True",
    reason: "Success",
    words: "Binding has been scheduled successfully.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binding_is_that_of_the_workload() {
        assert_eq!(BINDING, binding_of("web"));
    }
}
