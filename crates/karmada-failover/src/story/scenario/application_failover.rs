//! An application fails on clusters that are well: it moves on, never back to where it failed, and stays where it is
//! when no cluster is left.

use std::collections::BTreeMap;

use serde_json::json;

use super::objects::{binding_of, deployment, duplicated, failing_over};
use super::{Act, Action, Check, Expectation, ObjectName, Scenario, Until};
use crate::story::example::Pace;
use crate::story::line::Step;

const NAME: &str = "web";

/// The story at a pace.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    Scenario::of_three(
        "application-failover",
        "The pods of web fail on member1, though member1 is well: web moves to the next cluster, and once \
                      it is healthy there its old copy goes. It fails there too, and on the last one. Where it failed \
                      it is blocked, so it does not bounce between two clusters: it waits until somebody has mended it \
                      and lifts the blocks.",
        pace,
        acts(&pace),
        expectations(),
    )
}

/// For how many seconds the application may be unhealthy.
fn toleration_seconds(pace: &Pace) -> u32 {
    pace.threshold_seconds
}

fn acts(pace: &Pace) -> Vec<Act> {
    let behavior = json!({"application": {
        "decisionConditions": {"tolerationSeconds": toleration_seconds(pace)},
        "preConditions": {"healthyState": "Healthy"},
        "purgeMode": "Gracefully",
        "blockPredecessorSeconds": 0,
    }});
    let policy = failing_over(duplicated(NAME, &["member1", "member2", "member3"], 1), behavior);
    let moved = |act: Act| act.until_told(Step::OldCopyRemoved).until(Until::NoTasks);
    vec![
        Act::new(
            "web is created, and a policy that puts it on one of three clusters and lets it move when it fails",
            vec![Action::Create(deployment(NAME, 2)), Action::Create(policy)],
        )
        .until_told(Step::WorkloadRunning),
        moved(Act::new(
            "the pods of web fail on member1",
            vec![Action::fall_ill("member1", NAME)],
        )),
        moved(Act::new(
            "they fail on member2 too",
            vec![Action::fall_ill("member2", NAME)],
        )),
        Act::new("and on member3", vec![Action::fall_ill("member3", NAME)])
            .until_told(Step::EvictionHeld)
            // Whoever bounces between bad clusters would do it now.
            .then_wait(u64::from(3 * toleration_seconds(pace))),
        moved(Act::new(
            "web is mended on member1 and member2, and the blocks in spec.activeEvictionHistory are removed",
            vec![
                Action::mend("member1", NAME),
                Action::mend("member2", NAME),
                Action::Patch {
                    object: ObjectName::binding("default", "web-deployment"),
                    patch: json!({"spec": {"activeEvictionHistory": null}}),
                },
            ],
        )),
    ]
}

fn expectations() -> Vec<Expectation> {
    vec![
        Expectation::new(
            Check::Ran {
                binding: binding_of(NAME),
                on: BTreeMap::from([("member1".to_owned(), 2)]),
            },
            "of equal clusters the first by name is chosen",
        ),
        Expectation::new(
            Check::InOrder(vec![
                Step::WorkloadRunning,
                Step::ApplicationFailed,
                Step::EvictionQueued,
                Step::EvictionReleased,
                Step::ClusterEvicted,
                Step::Rescheduled,
                Step::ReplacementHealthy,
                Step::OldCopyRemoved,
                Step::EvictionHeld,
            ]),
            "an application takes the same road as a cluster's failure",
        ),
        Expectation::new(
            Check::Evictions(3),
            "it leaves each cluster once, and the last one only when there is a place",
        ),
        Expectation::new(Check::Never(Step::TaintAdded), "no cluster failed"),
        Expectation::new(Check::Never(Step::RegimeChanged), "no cluster counts as faulty"),
        Expectation::new(
            Check::Placed {
                binding: binding_of(NAME),
                on: BTreeMap::from([("member1".to_owned(), 2)]),
            },
            "the block was lifted, and the first cluster is well again",
        ),
    ]
}
