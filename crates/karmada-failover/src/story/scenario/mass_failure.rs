//! Much of the fleet fails at once: the brakes of the eviction queue. Four chapters, each also a story of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use super::objects::{binding_of, deployment, divided, tolerating};
use super::{Act, Action, Chapter, Check, Expectation, Network, Scenario, Until};
use crate::story::example::{self, Pace};
use crate::story::line::Step;

/// Evictions a second at a watchable pace while much of a large fleet is faulty: the default.
const REDUCED: f64 = 0.1;
/// The same at a fast pace.
const REDUCED_FAST: f64 = 0.25;

/// Windows for watching.
pub const WATCHABLE: Pace = Pace {
    remove_on_mismatch_seconds: 12,
    ..Pace::WATCHABLE
};
/// Windows for tests: the story in less than two minutes.
pub const FAST: Pace = Pace {
    remove_on_mismatch_seconds: 4,
    evictions_per_second: 2.0,
    ..Pace::FAST
};

/// Clusters and the workloads on them: `app-1`, `app-2`… have two replicas, one on a home that will fail and one on
/// another cluster, and are allowed on these two only.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// Clusters that fail and hold workloads.
    pub homes: Vec<String>,
    /// Clusters that fail and hold none.
    pub empty: Vec<String>,
    /// The other clusters of the workloads.
    pub refuges: Vec<String>,
    /// How many workloads.
    pub workloads: usize,
    /// For how many seconds they bear a failed cluster.
    pub tolerate_seconds: u32,
}

/// `member3`, `member4`… from one number to another.
#[must_use]
pub fn members(from: usize, to: usize) -> Vec<String> {
    (from..=to).map(|number| format!("member{number}")).collect()
}

/// The whole story, on a fleet of six that grows to twelve.
#[must_use]
pub fn scenario(pace: Pace, reduced_evictions_per_second: f64) -> Scenario {
    let small = Crowd {
        homes: members(1, 4),
        empty: Vec::new(),
        refuges: members(5, 6),
        workloads: 8,
        tolerate_seconds: tolerate_seconds(&pace),
    };
    let large = Crowd {
        empty: members(7, 10),
        ..small.clone()
    };
    let mut halted = halted(&small, &pace);
    halted.acts.insert(0, small.create());
    halted.expectations.extend(small.ran());
    let mut reduced = reduced(&large, &pace, reduced_evictions_per_second, 2);
    let joining = members(7, 12);
    let join = joining.iter().map(|name| Action::join(name)).collect();
    reduced.acts.insert(
        0,
        Act::new("six more clusters join: now there are twelve", join).until_told(Step::FleetReady),
    );
    Scenario {
        name: "mass-failure",
        description: "Much of the fleet fails at once. That is more often one broken network than many broken \
                      clusters, so the eviction queue has brakes: it stops when too much of a small fleet or all of \
                      any fleet has failed, slows down when too much of a large one has, and goes on by itself when \
                      enough is well again."
            .to_owned(),
        members: members(1, 6),
        joining,
        pace,
        reduced_evictions_per_second,
        given: example::taint_policies(&pace),
        chapters: vec![halted, network_cut(&small, &pace), all_fail(&small, &pace), reduced],
    }
}

/// The whole story for watching.
#[must_use]
pub fn watchable() -> Scenario {
    scenario(WATCHABLE, REDUCED)
}

/// The whole story for tests.
#[must_use]
pub fn fast() -> Scenario {
    scenario(FAST, REDUCED_FAST)
}

/// Long enough that every cluster of a mass failure is tainted before the first workload is due.
#[must_use]
pub fn tolerate_seconds(pace: &Pace) -> u32 {
    2 * pace.probe_seconds + 1
}

/// Too much of a small fleet fails, and returns. Nothing moves.
#[must_use]
pub fn halted(crowd: &Crowd, pace: &Pace) -> Chapter {
    let failing = crowd.failing();
    Chapter {
        heading: format!(
            "{} of {} clusters fail: too many of a small fleet",
            failing.len(),
            crowd.all().len()
        ),
        acts: vec![
            Act::new(format!("{} stop", list(&failing)), each(&failing, Action::stop))
                .until(Until::Told(Step::EvictionQueued, crowd.workloads))
                .until(Until::Regime("Halted"))
                .then_wait(u64::from(crowd.tolerate_seconds + 2 * pace.probe_seconds)),
            Act::new("they come back", each(&failing, Action::start))
                .until(Until::NoTaints)
                .until(Until::Regime("Normal"))
                .until(Until::Told(Step::EvictionAbandoned, crowd.workloads)),
        ],
        expectations: vec![
            Expectation::new(
                Check::Regimes(vec!["Halted", "Normal"]),
                "more than 55 % of a fleet of at most 10 failed",
            ),
            Expectation::new(Check::Never(Step::EvictionReleased), "a halted queue lets nothing go"),
            Expectation::new(
                Check::Evictions(0),
                "the clusters came back before anybody may leave them",
            ),
            Expectation::new(Check::NoTaints, "the failure is over"),
        ],
    }
}

/// The control plane's own network is cut, and comes back. Nothing moves.
#[must_use]
pub fn network_cut(crowd: &Crowd, pace: &Pace) -> Chapter {
    Chapter {
        heading: "The control plane loses its own network: every cluster seems to fail".to_owned(),
        acts: vec![
            Act::new(
                "no member can be reached any more; their workloads run on",
                vec![Action::Network(Network::Cut)],
            )
            .until(Until::Regime("AllFaulty"))
            .then_wait(u64::from(crowd.tolerate_seconds + 2 * pace.probe_seconds)),
            Act::new("the network is back", vec![Action::Network(Network::Whole)])
                .until(Until::NoTaints)
                .until(Until::Regime("Normal"))
                .then_wait(2),
        ],
        expectations: vec![
            Expectation::new(
                Check::Regimes(vec!["AllFaulty", "Normal"]),
                "every cluster counts as failed meanwhile",
            ),
            Expectation::new(
                Check::AtLeast(Step::EvictionQueued, crowd.workloads),
                "each cluster is tainted as usual",
            ),
            Expectation::new(
                Check::Evictions(0),
                "what fails together and returns together is our own fault, also while the taints go one by one",
            ),
            Expectation::new(Check::NoTaints, "the failure is over"),
        ],
    }
}

/// Every cluster fails, one after another within one window, and all but one return so. The last refuge is the
/// straggler: who is on it leaves it, once the others are well.
#[must_use]
pub fn all_fail(crowd: &Crowd, pace: &Pace) -> Chapter {
    let all = crowd.all();
    let straggler = crowd.refuges.last().cloned().unwrap_or_default();
    let others: Vec<String> = all.iter().filter(|name| **name != straggler).cloned().collect();
    let leaving = crowd.bindings_with_refuge(&straggler).len();
    let gaps = u32::try_from(all.len()).unwrap_or(u32::MAX).saturating_add(1);
    // All fail before the first of them is tainted, and return before the first taint goes.
    let window = |seconds: i32| Duration::from_secs(u64::from(seconds.unsigned_abs()));
    let failing_apart = window(pace.add_on_match_seconds) / gaps;
    let returning_apart = window(pace.remove_on_mismatch_seconds) / gaps / 2;
    Chapter {
        heading: "Every cluster fails, one after another".to_owned(),
        acts: vec![
            Act::new(
                "all clusters stop, one by one",
                one_by_one(&all, Action::stop, failing_apart),
            )
            .until(Until::Regime("AllFaulty"))
            .then_wait(u64::from(crowd.tolerate_seconds + 2 * pace.probe_seconds)),
            Act::new(
                format!("they come back one by one, all but {straggler}"),
                one_by_one(&others, Action::start, returning_apart),
            )
            .until(Until::Regime("Normal"))
            .until(Until::Told(Step::OldCopyKept, leaving)),
            Act::new(format!("{straggler} comes back too"), vec![Action::start(&straggler)])
                .until(Until::Told(Step::OldCopyRemoved, leaving))
                .until(Until::NoTaints)
                .until(Until::NoTasks)
                .then_wait(2),
        ],
        expectations: vec![
            Expectation::new(
                Check::Regimes(vec!["AllFaulty", "Normal"]),
                "every cluster failed within one window",
            ),
            Expectation::new(
                Check::OnlyLeft {
                    binding: None,
                    clusters: vec![straggler],
                },
                "clusters that return within a removal window of each other were not the ones at fault",
            ),
            Expectation::new(
                Check::Evictions(leaving),
                "the straggler failed by itself, and is left as usual",
            ),
            Expectation::new(
                rate("Normal", pace.evictions_per_second, leaving),
                "stragglers are left at the regime's rate",
            ),
            Expectation::new(Check::NoTaints, "the failure is over"),
        ],
    }
}

/// Too much of a large fleet fails: evictions go on, but slowly, until some of it has returned.
#[must_use]
pub fn reduced(crowd: &Crowd, pace: &Pace, reduced_evictions_per_second: f64, slowly: usize) -> Chapter {
    let failing = crowd.failing();
    let returning: Vec<String> = crowd.empty.iter().rev().take(2).rev().cloned().collect();
    let rest: Vec<String> = failing
        .iter()
        .filter(|name| !returning.contains(*name))
        .cloned()
        .collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "seconds of a test"
    )]
    let patience = 60
        + u64::from(pace.threshold_seconds + pace.probe_seconds + crowd.tolerate_seconds)
        + u64::from(pace.add_on_match_seconds.unsigned_abs())
        + (crowd.workloads as f64 / reduced_evictions_per_second).ceil() as u64;
    let mut expectations = vec![
        Expectation::new(
            Check::Regimes(vec!["Reduced", "Normal"]),
            "more than 55 % of a fleet of more than 10 failed",
        ),
        Expectation::new(
            rate("Reduced", reduced_evictions_per_second, slowly),
            "a reduced queue goes at the secondary rate",
        ),
        Expectation::new(
            rate("Normal", pace.evictions_per_second, 1),
            "the primary rate is restored by itself",
        ),
        Expectation::new(
            Check::OnlyLeft {
                binding: None,
                clusters: crowd.homes.clone(),
            },
            "only clusters that failed are left",
        ),
        Expectation::new(Check::Evictions(crowd.workloads), "everybody got away in the end"),
        Expectation::new(Check::NoTaints, "the failure is over"),
        Expectation::new(Check::NoTasks, "every move is complete"),
    ];
    expectations.extend((1..=crowd.workloads).map(|number| {
        let on = BTreeMap::from([(crowd.refuge(number).to_owned(), 2)]);
        Expectation::new(
            Check::Placed {
                binding: binding(number),
                on,
            },
            "nothing moves back by itself",
        )
    }));
    Chapter {
        heading: format!("{} clusters fail: too many, but of a large fleet", failing.len()),
        acts: vec![
            Act::new(format!("{} stop", list(&failing)), each(&failing, Action::stop))
                .until(Until::Regime("Reduced"))
                .until(Until::Told(Step::ClusterEvicted, slowly))
                .within(patience),
            Act::new(
                format!("{} come back: enough of the fleet is well", list(&returning)),
                each(&returning, Action::start),
            )
            .until(Until::Regime("Normal"))
            // Everybody: between two evictions there may be no task at all.
            .until(Until::ToldInChapter(Step::OldCopyKept, crowd.workloads))
            .within(patience),
            Act::new("the others come back", each(&rest, Action::start))
                .until(Until::NoTaints)
                .until_told(Step::OldCopyRemoved)
                .then_wait(3),
        ],
        expectations,
    }
}

impl Crowd {
    /// Creates the workloads and waits until they run.
    #[must_use]
    pub fn create(&self) -> Act {
        let objects = (1..=self.workloads).flat_map(|number| {
            let name = format!("app-{number}");
            let weights = [(self.home(number), 1), (self.refuge(number), 1)];
            let policy = tolerating(divided(&name, &weights), self.tolerate_seconds);
            [Action::Create(deployment(&name, 2)), Action::Create(policy)]
        });
        Act::new(
            format!(
                "{} workloads are created, each on two clusters; they bear a failed cluster for {} s",
                self.workloads, self.tolerate_seconds
            ),
            objects.collect(),
        )
        .until(Until::Told(Step::WorkloadRunning, self.workloads))
    }

    /// They ran where their policies say.
    #[must_use]
    pub fn ran(&self) -> Vec<Expectation> {
        let ran = (1..=self.workloads).map(|number| {
            let on = BTreeMap::from([(self.home(number).to_owned(), 1), (self.refuge(number).to_owned(), 1)]);
            Expectation::new(
                Check::Ran {
                    binding: binding(number),
                    on,
                },
                "the policy divides two replicas 1:1",
            )
        });
        ran.collect()
    }

    /// Clusters that fail.
    #[must_use]
    pub fn failing(&self) -> Vec<String> {
        [self.homes.clone(), self.empty.clone()].concat()
    }

    /// Clusters that hold workloads or fail.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        [self.failing(), self.refuges.clone()].concat()
    }

    /// Keys of the bindings that have this refuge.
    #[must_use]
    pub fn bindings_with_refuge(&self, refuge: &str) -> Vec<String> {
        (1..=self.workloads)
            .filter(|number| self.refuge(*number) == refuge)
            .map(binding)
            .collect()
    }

    fn home(&self, number: usize) -> &str {
        &self.homes[(number - 1) % self.homes.len()]
    }

    fn refuge(&self, number: usize) -> &str {
        &self.refuges[(number - 1) % self.refuges.len()]
    }
}

/// The key of a workload's binding.
#[must_use]
pub fn binding(number: usize) -> String {
    binding_of(&format!("app-{number}"))
}

fn rate(regime: &'static str, evictions_per_second: f64, at_least: usize) -> Check {
    Check::Rate {
        regime,
        evictions_per_second,
        at_least,
    }
}

fn each(names: &[String], action: fn(&str) -> Action) -> Vec<Action> {
    names.iter().map(|name| action(name)).collect()
}

fn one_by_one(names: &[String], action: fn(&str) -> Action, apart: Duration) -> Vec<Action> {
    names
        .iter()
        .flat_map(|name| [action(name), Action::Wait(apart)])
        .collect()
}

fn list(names: &[String]) -> String {
    match names {
        [] => "no cluster".to_owned(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}
