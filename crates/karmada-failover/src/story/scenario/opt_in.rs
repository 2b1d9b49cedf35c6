//! Only who asked for it moves: a PreferNoExecute taint, and two workloads of which one has opted in.

use api_types::cluster::effect;
use serde_json::json;

use super::objects::{binding_of, deployment, divided, failing_over};
use super::{Act, Action, Check, Expectation, Scenario, Until};
use crate::story::example::Pace;
use crate::story::line::Step;

/// The story at a pace.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    let mut scenario = Scenario::of_three(
        "opt-in",
        "A failed cluster is tainted PreferNoExecute here: whoever says so in spec.failover.cluster moves, \
                      after the time that it names; all others stay and wait for the cluster. member1 fails: web moves, \
                      cache stays.",
        pace,
        acts(&pace),
        expectations(),
    );
    if let Some(leave) = scenario.given.last_mut() {
        leave["metadata"]["name"] = json!("not-ready-prefer-no-execute");
        leave["spec"]["taintsToAdd"][0]["effect"] = json!(effect::PREFER_NO_EXECUTE);
    }
    scenario
}

fn acts(pace: &Pace) -> Vec<Act> {
    let behavior = json!({"cluster": {"purgeMode": "Gracefully", "tolerationSeconds": pace.threshold_seconds}});
    let both = [("member1", 1), ("member2", 1)];
    vec![
        Act::new(
            "web and cache are created on member1 and member2; web's policy has a spec.failover.cluster",
            vec![
                Action::Create(deployment("web", 2)),
                Action::Create(failing_over(divided("web", &both), behavior)),
                Action::Create(deployment("cache", 2)),
                Action::Create(divided("cache", &both)),
            ],
        )
        .until(Until::Told(Step::WorkloadRunning, 2)),
        Act::new("member1's API server is stopped", vec![Action::stop("member1")])
            .until_told(Step::OldCopyKept)
            .then_wait(u64::from(3 * pace.threshold_seconds)),
        Act::new("member1's API server comes back", vec![Action::start("member1")])
            .until_told(Step::OldCopyRemoved)
            .until(Until::NoTaints),
    ]
}

fn expectations() -> Vec<Expectation> {
    vec![
        Expectation::new(
            Check::move_after(&[Step::TaintAdded, Step::EvictionQueued, Step::EvictionReleased]),
            "who has opted in moves as for any failure",
        ),
        Expectation::new(
            Check::OnlyLeft {
                binding: Some(binding_of("web")),
                clusters: vec!["member1".to_owned()],
            },
            "cache has not opted in",
        ),
        Expectation::new(Check::Evictions(1), "web leaves once"),
        Expectation::new(Check::placed("web", &[("member2", 2)]), "nothing moves back by itself"),
        Expectation::new(
            Check::placed("cache", &[("member1", 1), ("member2", 1)]),
            "it has never moved",
        ),
        Expectation::new(Check::NoTasks, "the move is complete"),
    ]
}
