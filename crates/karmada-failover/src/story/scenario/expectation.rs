//! What must have followed: checks over the lines that were told and the objects as they are, each with its reason.

use std::collections::BTreeMap;

use super::objects::binding_of;
use crate::story::expect::placement;
use crate::story::line::{Line, Step};
use crate::story::teller::Teller;

/// Something that must hold at the end of a chapter.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// What.
    pub check: Check,
    /// Why it must; printed when it does not.
    pub because: String,
}

/// What can be asked of a chapter.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// Each of these steps was told, and the first time of each in this order.
    InOrder(Vec<Step>),
    /// This step was not told.
    Never(Step),
    /// It was told at least so many times.
    AtLeast(Step, usize),
    /// It was told of this binding with these words as the reason.
    Said(Step, String, &'static str),
    /// Evictions of this binding (absent: of any) were from these clusters only.
    OnlyLeft {
        /// Key of the binding, `namespace/name`.
        binding: Option<String>,
        /// Names of the clusters.
        clusters: Vec<String>,
    },
    /// So many evictions.
    Evictions(usize),
    /// The replicas of a binding by cluster.
    Placed {
        /// Its key, `namespace/name`.
        binding: String,
        /// Replicas by cluster, all of them.
        on: BTreeMap<String, i32>,
    },
    /// The affinity group that the scheduler observes for a binding.
    AffinityGroup {
        /// Its key, `namespace/name`.
        binding: String,
        /// Name of the group.
        name: &'static str,
    },
    /// When a binding's workload was first seen running, its replicas by cluster were these.
    Ran {
        /// Its key, `namespace/name`.
        binding: String,
        /// Replicas by cluster, all of them.
        on: BTreeMap<String, i32>,
    },
    /// No Cluster carries a taint.
    NoTaints,
    /// No binding has an eviction task.
    NoTasks,
    /// Regimes that came in this order; others may have passed between them.
    Regimes(Vec<&'static str>),
    /// While a regime held, evictions were released at its rate: never faster, and at least so many in all.
    Rate {
        /// Name of the regime.
        regime: &'static str,
        /// Its rate.
        evictions_per_second: f64,
        /// So many at least.
        at_least: usize,
    },
}

/// How much later than it happened something may be told, in seconds; on real servers about one.
const SLACK_SECONDS: f64 = 1.0;

/// What a chapter is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The lines of the chapter.
    pub lines: &'a [Line],
    /// The regime when it began, if one was seen.
    pub regime_before: Option<&'a str>,
    /// The objects as they are.
    pub teller: &'a Teller,
    /// Seconds since the start of the story.
    pub now: f64,
}

impl Expectation {
    /// Expects something for a reason.
    #[must_use]
    pub fn new(check: Check, because: impl Into<String>) -> Self {
        Self {
            check,
            because: because.into(),
        }
    }

    /// What is not as expected, with the reason; empty if all is.
    #[must_use]
    pub fn problems(&self, seen: Seen<'_>) -> Vec<String> {
        let found = self.check.problems(seen);
        found
            .into_iter()
            .map(|problem| format!("{problem}; expected because {}", self.because))
            .collect()
    }
}

impl Check {
    /// These steps, and after them the road of every move from a cluster that fails and returns, in this order.
    #[must_use]
    pub fn move_after(before: &[Step]) -> Self {
        let road = [
            Step::ClusterEvicted,
            Step::Rescheduled,
            Step::ReplacementHealthy,
            Step::OldCopyKept,
            Step::ClusterReturned,
            Step::OldCopyRemoved,
        ];
        Self::InOrder([before, &road].concat())
    }

    /// The replicas of a Deployment in `default` by cluster, all of them.
    #[must_use]
    pub fn placed(deployment: &str, on: &[(&str, i32)]) -> Self {
        Self::Placed {
            binding: binding_of(deployment),
            on: by_cluster(on),
        }
    }

    /// The same when it was first seen running.
    #[must_use]
    pub fn ran(deployment: &str, on: &[(&str, i32)]) -> Self {
        Self::Ran {
            binding: binding_of(deployment),
            on: by_cluster(on),
        }
    }

    /// The affinity group in use of a Deployment in `default`.
    #[must_use]
    pub fn in_group(deployment: &str, name: &'static str) -> Self {
        Self::AffinityGroup {
            binding: binding_of(deployment),
            name,
        }
    }

    fn problems(&self, seen: Seen<'_>) -> Vec<String> {
        let of = |step: Step| seen.lines.iter().filter(move |line| line.step == step);
        match self {
            Self::InOrder(steps) => order(steps, seen.lines),
            Self::Never(step) => of(*step)
                .map(|line| format!("{step:?} was told: {}", describe(line)))
                .collect(),
            Self::AtLeast(step, times) => {
                let told = of(*step).count();
                unless(told >= *times, || {
                    format!("{step:?} was told {told} times, not {times}")
                })
            }
            Self::Said(step, binding, words) => {
                let mut lines = of(*step).filter(|line| line.binding.as_ref() == Some(binding));
                unless(lines.any(|line| line.why.contains(words)), || {
                    format!("{step:?} was not told of {binding} with {words:?}")
                })
            }
            Self::OnlyLeft { binding, clusters } => of(Step::ClusterEvicted)
                .filter(|line| {
                    let is_meant = binding.is_none() || *binding == line.binding;
                    !is_meant || !line.cluster.as_ref().is_some_and(|cluster| clusters.contains(cluster))
                })
                .map(|line| format!("an eviction that nobody asked for: {}", describe(line)))
                .collect(),
            Self::Evictions(wanted) => {
                let evictions = of(Step::ClusterEvicted).count();
                unless(evictions == *wanted, || format!("{evictions} evictions, not {wanted}"))
            }
            Self::Placed { binding, on } => match seen.teller.bindings().get(binding) {
                None => vec![format!("there is no binding {binding}")],
                Some(stored) => {
                    let placed = placement(stored);
                    unless(placed == *on, || {
                        format!("{binding} is placed on {placed:?}, not on {on:?}")
                    })
                }
            },
            Self::AffinityGroup { binding, name } => {
                let stored = seen.teller.bindings().get(binding);
                let observed = stored
                    .and_then(|stored| stored.status.as_ref())
                    .and_then(|status| status.scheduler_observed_affinity_name.as_deref());
                unless(observed == Some(*name), || {
                    format!("the affinity group of {binding} is {observed:?}, not {name}")
                })
            }
            Self::Ran { binding, on } => {
                match of(Step::WorkloadRunning).find(|line| line.binding.as_ref() == Some(binding)) {
                    None => vec![format!("{binding} was never seen running")],
                    Some(line) => unless(line.placement.as_ref() == Some(on), || {
                        format!(
                            "{binding} ran on {:?} first, not on {on:?}",
                            line.placement.clone().unwrap_or_default()
                        )
                    }),
                }
            }
            Self::NoTaints => unless(!seen.teller.sees_taints(), || {
                "a Cluster still carries a taint".to_owned()
            }),
            Self::NoTasks => {
                let left = seen.teller.with_tasks();
                unless(left.is_empty(), || {
                    format!("eviction tasks are left on {}", left.join(", "))
                })
            }
            Self::Regimes(wanted) => {
                let regimes: Vec<&str> = of(Step::RegimeChanged)
                    .filter_map(|line| line.regime.as_deref())
                    .collect();
                let mut came = regimes.iter();
                let in_order = wanted.iter().all(|wanted| came.any(|regime| regime == wanted));
                unless(in_order, || {
                    format!("the regimes were {}, not {}", regimes.join(", "), wanted.join(", "))
                })
            }
            Self::Rate {
                regime,
                evictions_per_second,
                at_least,
            } => rate(regime, *evictions_per_second, *at_least, seen),
        }
    }
}

fn by_cluster(on: &[(&str, i32)]) -> BTreeMap<String, i32> {
    let on = on.iter().map(|(cluster, replicas)| ((*cluster).to_owned(), *replicas));
    on.collect()
}

fn unless(holds: bool, problem: impl FnOnce() -> String) -> Vec<String> {
    if holds { Vec::new() } else { vec![problem()] }
}

fn describe(line: &Line) -> String {
    let place = line.cluster.as_deref().unwrap_or("no cluster");
    let what = line.binding.as_deref().unwrap_or("no binding");
    format!("{what}, {place}, at {:.1} s ({})", line.at, line.why)
}

fn order(steps: &[Step], lines: &[Line]) -> Vec<String> {
    let first = |step: Step| lines.iter().position(|line| line.step == step);
    let mut problems: Vec<String> = steps
        .iter()
        .filter(|step| first(**step).is_none())
        .map(|step| format!("{step:?} was never seen"))
        .collect();
    for pair in steps.windows(2) {
        if let (Some(earlier), Some(later)) = (first(pair[0]), first(pair[1]))
            && earlier > later
        {
            problems.push(format!("{:?} came before {:?}", pair[1], pair[0]));
        }
    }
    problems
}

/// The stretches in which a regime held, as seconds since the start.
fn stretches(regime: &str, seen: Seen<'_>) -> Vec<(f64, f64)> {
    let start = seen.lines.first().map_or(0.0, |line| line.at);
    let mut since = (seen.regime_before == Some(regime)).then_some(start);
    let mut stretches = Vec::new();
    for line in seen.lines.iter().filter(|line| line.step == Step::RegimeChanged) {
        if let Some(begin) = since.take() {
            stretches.push((begin, line.at));
        }
        since = (line.regime.as_deref() == Some(regime)).then_some(line.at);
    }
    stretches.extend(since.map(|begin| (begin, seen.now)));
    stretches
}

fn rate(regime: &str, evictions_per_second: f64, at_least: usize, seen: Seen<'_>) -> Vec<String> {
    let released: Vec<f64> = seen
        .lines
        .iter()
        .filter(|line| line.step == Step::EvictionReleased)
        .map(|line| line.at)
        .collect();
    let mut problems = Vec::new();
    let mut in_all = 0;
    for (begin, end) in stretches(regime, seen) {
        let within = released.iter().filter(|at| (begin..end).contains(*at)).count();
        in_all += within;
        #[expect(clippy::cast_precision_loss, reason = "counts of evictions are small")]
        if within as f64 > evictions_per_second * (end - begin + SLACK_SECONDS) + 1.0 {
            problems.push(format!(
                "{within} evictions were released from {begin:.1} s to {end:.1} s while the regime was {regime}, at \
                 {evictions_per_second} a second"
            ));
        }
    }
    if in_all < at_least {
        problems.push(format!(
            "{in_all} evictions were released while the regime was {regime}, not {at_least}"
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn line(step: Step, at: f64) -> Line {
        Line::of(step, at, "because".to_owned()).on("member1").to("default/web")
    }

    fn regime(name: &str, at: f64) -> Line {
        let mut line = Line::of(Step::RegimeChanged, at, "because".to_owned());
        line.regime = Some(name.to_owned());
        line
    }

    fn problems(check: Check, lines: &[Line]) -> usize {
        let teller = Teller::default();
        let seen = Seen {
            lines,
            regime_before: Some("Normal"),
            teller: &teller,
            now: 100.0,
        };
        Expectation::new(check, "the test says so").problems(seen).len()
    }

    #[rstest]
    #[case::in_order(&[Step::ClusterFailed, Step::TaintAdded], 0)]
    #[case::turned_round(&[Step::TaintAdded, Step::ClusterFailed], 1)]
    #[case::never_seen(&[Step::ClusterFailed, Step::OldCopyKept], 1)]
    fn steps_have_an_order(#[case] wanted: &[Step], #[case] expected: usize) {
        let lines = [
            line(Step::ClusterFailed, 1.0),
            line(Step::TaintAdded, 2.0),
            line(Step::ClusterFailed, 3.0),
        ];
        assert_eq!(problems(Check::InOrder(wanted.to_vec()), &lines), expected);
    }

    #[rstest]
    #[case::as_they_came(&["Halted", "Normal"], 0)]
    #[case::some_left_out(&["Normal"], 0)]
    #[case::turned_round(&["Normal", "Halted"], 1)]
    #[case::never_seen(&["AllFaulty"], 1)]
    fn regimes_have_an_order(#[case] wanted: &[&'static str], #[case] expected: usize) {
        let lines = [regime("Halted", 1.0), regime("Normal", 2.0)];
        assert_eq!(problems(Check::Regimes(wanted.to_vec()), &lines), expected);
    }

    /// Fifteen seconds of Reduced at 0.1 a second bear two evictions: 0.1 × (15 + 1) + 1.
    #[rstest]
    #[case::at_the_rate(&[11.0, 21.0], 2, 0)]
    #[case::too_fast(&[11.0, 12.0, 13.0, 14.0], 1, 1)]
    #[case::too_few(&[11.0], 2, 1)]
    #[case::others_do_not_count(&[1.0, 2.0, 3.0, 30.0, 31.0], 0, 0)]
    fn a_regime_has_a_rate(#[case] released: &[f64], #[case] at_least: usize, #[case] expected: usize) {
        let mut lines: Vec<Line> = released.iter().map(|at| line(Step::EvictionReleased, *at)).collect();
        lines.extend([regime("Reduced", 10.0), regime("Normal", 25.0)]);
        let check = Check::Rate {
            regime: "Reduced",
            evictions_per_second: 0.1,
            at_least,
        };
        assert_eq!(problems(check, &lines), expected);
    }

    #[test]
    fn who_leaves_what_is_looked_at() {
        let lines = [line(Step::ClusterEvicted, 1.0)];
        let left = |binding: Option<&str>, cluster: &str| Check::OnlyLeft {
            binding: binding.map(str::to_owned),
            clusters: vec![cluster.to_owned()],
        };
        assert_eq!(problems(left(None, "member1"), &lines), 0);
        assert_eq!(problems(left(Some("default/web"), "member1"), &lines), 0);
        assert_eq!(problems(left(Some("default/db"), "member1"), &lines), 1);
        assert_eq!(problems(left(None, "member2"), &lines), 1);
        assert_eq!(problems(Check::Evictions(1), &lines), 0);
        assert_eq!(problems(Check::Never(Step::ClusterEvicted), &lines), 1);
        let said = |binding: &str, words| Check::Said(Step::ClusterEvicted, binding.to_owned(), words);
        assert_eq!(problems(said("default/web", "because"), &lines), 0);
        assert_eq!(problems(said("default/db", "because"), &lines), 1);
        assert_eq!(problems(said("default/web", "room"), &lines), 1);
    }

    #[test]
    fn a_problem_names_its_reason() {
        let seen = Seen {
            lines: &[],
            regime_before: None,
            teller: &Teller::default(),
            now: 0.0,
        };
        let found = Expectation::new(Check::Evictions(1), "somebody must move").problems(seen);
        assert_eq!(found, ["0 evictions, not 1; expected because somebody must move"]);
    }
}
