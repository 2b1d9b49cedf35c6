//! A cluster fails and nothing fits elsewhere: the workload stays, says so, and moves as soon as there is a place.

use serde_json::json;

use super::objects::{binding_of, deployment, duplicated};
use super::{Act, Action, Check, Expectation, ObjectName, Scenario, Until};
use crate::story::example::Pace;
use crate::story::line::Step;

/// The story at a pace.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    Scenario::of_three(
        "no-target",
        "member1 fails. db may run nowhere else, and web has a copy on each of its two clusters: neither \
                      would find a place, so neither leaves; the queue holds both and says why. web's policy gains a \
                      cluster, and web moves. member1 returns, and db has never moved.",
        pace,
        acts(&pace),
        expectations(),
    )
}

fn acts(pace: &Pace) -> Vec<Act> {
    let wider =
        json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member1", "member2", "member3"]}}}});
    vec![
        Act::new(
            "db is created, for member1 alone, and web, for member1 and member2",
            vec![
                Action::Create(deployment("db", 1)),
                Action::Create(duplicated("db", &["member1"], 1)),
                Action::Create(deployment("web", 1)),
                Action::Create(duplicated("web", &["member1", "member2"], 2)),
            ],
        )
        .until(Until::Told(Step::WorkloadRunning, 2)),
        Act::new("member1's API server is stopped", vec![Action::stop("member1")])
            .until(Until::Told(Step::EvictionHeld, 2))
            .then_wait(u64::from(3 * pace.threshold_seconds)),
        Act::new(
            "the policy of web allows member3 too",
            vec![Action::Patch {
                object: ObjectName::propagation_policy("default", "web-propagation"),
                patch: wider,
            }],
        )
        .until_told(Step::OldCopyKept),
        Act::new("member1's API server comes back", vec![Action::start("member1")])
            .until_told(Step::EvictionAbandoned)
            .until_told(Step::OldCopyRemoved)
            .until(Until::NoTaints),
    ]
}

fn expectations() -> Vec<Expectation> {
    vec![
        Expectation::new(
            Check::move_after(&[Step::EvictionQueued, Step::EvictionHeld]),
            "nobody leaves before there is a place",
        ),
        Expectation::new(
            Check::OnlyLeft {
                binding: Some(binding_of("web")),
                clusters: vec!["member1".to_owned()],
            },
            "db has no other place at any time",
        ),
        Expectation::new(Check::Evictions(1), "web leaves once"),
        Expectation::new(Check::placed("db", &[("member1", 1)]), "it has never moved"),
        Expectation::new(
            Check::placed("web", &[("member2", 1), ("member3", 1)]),
            "nothing moves back by itself",
        ),
        Expectation::new(Check::NoTasks, "the move is complete"),
    ]
}
