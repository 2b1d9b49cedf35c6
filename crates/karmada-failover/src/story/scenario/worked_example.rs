//! The worked example: three replicas in the ratio 1:2, member1 fails and returns.

use std::collections::BTreeMap;

use super::{Act, Action, Check, Expectation, Scenario, Until};
use crate::story::example::{self, Pace};
use crate::story::expect::{BINDING, FAILING, TAKES_OVER};
use crate::story::line::Step;

/// The story at a pace.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    Scenario::of_three(
        "worked-example",
        "Three replicas of nginx run on member1 and member2, 1:2. member1 stops answering: after the \
                      windows of the policies its replica is replaced on member2, and only then given up. member1 \
                      returns: its old copy goes, and nothing moves back by itself.",
        pace,
        acts(),
        expectations(),
    )
}

fn acts() -> Vec<Act> {
    vec![
        Act::new(
            "an nginx of three replicas is created, and a policy that spreads it 1:2 over member1 and member2",
            vec![
                Action::Create(example::deployment()),
                Action::Create(example::propagation_policy()),
            ],
        )
        .until_told(Step::WorkloadRunning),
        Act::new("member1's API server is stopped", vec![Action::stop(FAILING)]).until_told(Step::OldCopyKept),
        Act::new("member1's API server comes back", vec![Action::start(FAILING)])
            .until_told(Step::TaintRemoved)
            .until_told(Step::OldCopyRemoved)
            .until(Until::NoTaints)
            // Whoever moves things back by itself would do it now.
            .then_wait(3),
    ]
}

fn expectations() -> Vec<Expectation> {
    let told_in_order = vec![
        Step::WorkloadRunning,
        Step::ClusterFailed,
        Step::ClusterNotReady,
        Step::TaintAdded,
        Step::EvictionQueued,
        Step::EvictionReleased,
        Step::ClusterEvicted,
        Step::Rescheduled,
        Step::ReplacementHealthy,
        Step::OldCopyKept,
        Step::ClusterReturned,
        Step::TaintRemoved,
    ];
    vec![
        Expectation::new(
            Check::Ran {
                binding: BINDING.to_owned(),
                on: BTreeMap::from([(FAILING.to_owned(), 1), (TAKES_OVER.to_owned(), 2)]),
            },
            "the policy divides three replicas 1:2",
        ),
        Expectation::new(
            Check::InOrder(told_in_order),
            "every step of a failover follows from the one before",
        ),
        Expectation::new(
            Check::InOrder(vec![Step::ClusterReturned, Step::OldCopyRemoved]),
            "the old copy waits until its cluster can be asked to delete it",
        ),
        Expectation::new(
            Check::OnlyLeft {
                binding: Some(BINDING.to_owned()),
                clusters: vec![FAILING.to_owned()],
            },
            "only the cluster that failed is left",
        ),
        Expectation::new(Check::NoTaints, "the failure is over"),
        Expectation::new(
            Check::Placed {
                binding: BINDING.to_owned(),
                on: BTreeMap::from([(TAKES_OVER.to_owned(), 3)]),
            },
            "nothing moves back by itself",
        ),
        Expectation::new(Check::NoTasks, "the move is complete"),
    ]
}
