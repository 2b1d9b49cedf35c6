//! What must have followed: checks over the lines that were told and the objects as they are, each with its reason.

use std::collections::BTreeMap;

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
