//! A cluster that comes and goes: nothing moves for a failure that does not last, and one that lasts moves each
//! workload once.

use std::collections::BTreeMap;

use super::objects::{binding_of, deployment, divided};
use super::{Act, Action, Chapter, Check, Expectation, Scenario, Until};
use crate::story::example::{self, Pace};
use crate::story::line::Step;

const NAME: &str = "web";

/// For watching: the window is longer than a failure and the recovery from it together.
pub const WATCHABLE: Pace = Pace {
    add_on_match_seconds: 24,
    remove_on_mismatch_seconds: 12,
    ..Pace::WATCHABLE
};
/// For tests.
pub const FAST: Pace = Pace {
    add_on_match_seconds: 10,
    remove_on_mismatch_seconds: 6,
    ..Pace::FAST
};

/// The story at a pace whose `add_on_match_seconds` is longer than a failure and the recovery from it.
#[must_use]
pub fn scenario(pace: Pace) -> Scenario {
    Scenario {
        name: "flapping",
        description: "member1 comes and goes. A blip shorter than the threshold changes nothing at all; a failure \
                      shorter than the policy's window makes member1 not Ready for a while, and nothing moves; one that \
                      lasts moves web, once. While member1 recovers it falters again: its taint goes only when it has \
                      been well for the whole removal window."
            .to_owned(),
        members: ["member1", "member2", "member3"].map(str::to_owned).to_vec(),
        joining: Vec::new(),
        pace,
        reduced_evictions_per_second: 0.1,
        given: example::taint_policies(&pace),
        chapters: vec![blips(&pace), short_failure(&pace), lasting_failure(&pace)],
    }
}

fn blips(pace: &Pace) -> Chapter {
    let away = u64::from(pace.threshold_seconds / 2);
    let blip = [
        Action::stop("member1"),
        Action::wait(away),
        Action::start("member1"),
        Action::wait(u64::from(pace.threshold_seconds)),
    ];
    Chapter {
        heading: "Blips, shorter than the threshold".to_owned(),
        acts: vec![
            Act::new(
                "web is created on member1 and member2",
                vec![
                    Action::Create(deployment(NAME, 2)),
                    Action::Create(divided(NAME, &[("member1", 1), ("member2", 1)])),
                ],
            )
            .until_told(Step::WorkloadRunning),
            Act::new(
                "member1 blips three times",
                blip.iter().cycle().take(12).cloned().collect(),
            )
            .then_wait(u64::from(pace.threshold_seconds)),
        ],
        expectations: vec![
            Expectation::new(Check::Never(Step::ClusterNotReady), "no blip lasted for the threshold"),
            Expectation::new(Check::Never(Step::TaintAdded), "no condition changed"),
        ],
    }
}

fn short_failure(pace: &Pace) -> Chapter {
    Chapter {
        heading: "A failure shorter than the policy's window".to_owned(),
        acts: vec![
            Act::new("member1's API server is stopped", vec![Action::stop("member1")])
                .until_told(Step::ClusterNotReady),
            Act::new("and comes back soon", vec![Action::start("member1")])
                .until_told(Step::ClusterReturned)
                .until(Until::NoTaints)
                .then_wait(pace.add_on_match_seconds.unsigned_abs().into()),
        ],
        expectations: vec![
            Expectation::new(Check::Never(Step::EvictionQueued), "the window had not passed"),
            Expectation::new(Check::Evictions(0), "nothing moves"),
            Expectation::new(Check::NoTaints, "the failure is over"),
        ],
    }
}

fn lasting_failure(pace: &Pace) -> Chapter {
    let removal = u64::from(pace.remove_on_mismatch_seconds.unsigned_abs());
    Chapter {
        heading: "A failure that lasts, and a recovery that falters".to_owned(),
        acts: vec![
            Act::new("member1's API server is stopped", vec![Action::stop("member1")]).until_told(Step::OldCopyKept),
            Act::new("it comes back", vec![Action::start("member1")]).until_told(Step::ClusterReturned),
            Act::new(
                "and stops again before its taint is removed",
                vec![Action::stop("member1")],
            )
            .until(Until::Told(Step::ClusterNotReady, 1))
            .then_wait(removal),
            Act::new("it comes back for good", vec![Action::start("member1")])
                .until_told(Step::ClusterReturned)
                .until(Until::NoTaints)
                // Whoever moves things back by itself would do it now.
                .then_wait(u64::from(pace.threshold_seconds)),
        ],
        expectations: vec![
            Expectation::new(
                Check::Evictions(1),
                "one failure that lasts moves web once, however often it falters",
            ),
            Expectation::new(
                Check::Placed {
                    binding: binding_of(NAME),
                    on: BTreeMap::from([("member2".to_owned(), 2)]),
                },
                "nothing moves back by itself",
            ),
            Expectation::new(Check::NoTaints, "the failure is over"),
            Expectation::new(Check::NoTasks, "the move is complete"),
        ],
    }
}
