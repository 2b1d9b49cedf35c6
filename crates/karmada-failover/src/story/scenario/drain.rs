//! A healthy cluster is drained: what finds a place leaves it in order, what does not stays and says why.

use serde_json::json;

use super::objects::{binding_of, deployment, divided, duplicated};
use super::{Act, Action, Check, Expectation, Scenario, Until};
use crate::story::example::Pace;
use crate::story::line::Step;
use api_types::names::taint;

/// The story at a pace.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    Scenario::of_three(
        "drain",
        "member1 is to be taken out of service while it is well, and is drained. web moves to member2; \
                      ledger has a copy on each of its clusters and nowhere else to go, so it stays until somebody \
                      decides; agent tolerates the drain. The drain is taken back: nothing else moves.",
        pace,
        acts(&pace),
        expectations(),
    )
}

fn acts(pace: &Pace) -> Vec<Act> {
    let mut tolerant = duplicated("agent", &["member1"], 1);
    tolerant["spec"]["placement"]["clusterTolerations"] =
        json!([{"key": taint::DRAIN, "operator": "Exists", "effect": "NoExecute"}]);
    vec![
        Act::new(
            "three workloads are created, all with a copy on member1",
            vec![
                Action::Create(deployment("web", 2)),
                Action::Create(divided("web", &[("member1", 1), ("member2", 1)])),
                Action::Create(deployment("ledger", 1)),
                Action::Create(duplicated("ledger", &["member1", "member2"], 2)),
                Action::Create(deployment("agent", 1)),
                Action::Create(tolerant),
            ],
        )
        .until(Until::Told(Step::WorkloadRunning, 3)),
        Act::new("member1 is drained", vec![Action::drain("member1")])
            .until_told(Step::EvictionHeld)
            .until_told(Step::OldCopyRemoved)
            .until(Until::NoTasks)
            .then_wait(u64::from(2 * pace.threshold_seconds)),
        Act::new("the drain is taken back", vec![Action::undrain("member1")])
            .until(Until::NoTaints)
            .until_told(Step::EvictionAbandoned)
            // Whoever moves things back by itself would do it now.
            .then_wait(u64::from(2 * pace.threshold_seconds)),
    ]
}

fn expectations() -> Vec<Expectation> {
    vec![
        Expectation::new(
            Check::InOrder(vec![
                Step::TaintAdded,
                Step::EvictionQueued,
                Step::EvictionReleased,
                Step::ClusterEvicted,
                Step::Rescheduled,
                Step::ReplacementHealthy,
                Step::OldCopyRemoved,
                Step::TaintRemoved,
            ]),
            "a drain takes the same road as a failure",
        ),
        Expectation::new(
            Check::Never(Step::RegimeChanged),
            "a drained cluster is not a faulty one",
        ),
        Expectation::new(Check::Never(Step::ClusterNotReady), "member1 is well all the time"),
        Expectation::new(
            Check::OnlyLeft {
                binding: Some(binding_of("web")),
                clusters: vec!["member1".to_owned()],
            },
            "the others have no place, or tolerate the drain",
        ),
        Expectation::new(Check::Evictions(1), "web leaves once"),
        Expectation::new(Check::placed("web", &[("member2", 2)]), "nothing moves back by itself"),
        Expectation::new(
            Check::placed("ledger", &[("member1", 1), ("member2", 1)]),
            "it has nowhere else to go",
        ),
        Expectation::new(Check::placed("agent", &[("member1", 1)]), "it tolerates the drain"),
        Expectation::new(Check::NoTasks, "the move is complete"),
    ]
}
