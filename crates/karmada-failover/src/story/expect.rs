//! Whether the worked example came out right: three replicas in the ratio 1:2, member1 fails and returns.

use std::collections::BTreeMap;

use api_types::work::Binding;

use super::line::Step;
use super::teller::Teller;

/// The binding of the example.
pub const BINDING: &str = "default/nginx-deployment";
/// The member that fails.
pub const FAILING: &str = "member1";
/// The member that takes over.
pub const TAKES_OVER: &str = "member2";

/// The order in which the story is told; the last two in either order.
const ORDER: [Step; 13] = [
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
    Step::OldCopyRemoved,
];

/// Whether the last thing that the example waits for has happened.
#[must_use]
pub fn is_over(teller: &Teller) -> bool {
    let has_told = |step: &Step| teller.told().iter().any(|line| line.step == *step);
    [Step::TaintRemoved, Step::OldCopyRemoved].iter().all(has_told) && !teller.sees_taints()
}

/// What went wrong; empty if nothing did.
#[must_use]
pub fn problems(teller: &Teller) -> Vec<String> {
    let (lines, bindings) = (teller.told(), teller.bindings());
    let first = |step: Step| lines.iter().position(|line| line.step == step);
    let mut problems = Vec::new();
    for step in ORDER {
        if first(step).is_none() {
            problems.push(format!("{step:?} was never seen"));
        }
    }
    for pair in ORDER[..ORDER.len() - 1].windows(2) {
        if let (Some(earlier), Some(later)) = (first(pair[0]), first(pair[1]))
            && earlier > later
        {
            problems.push(format!("{:?} came before {:?}", pair[1], pair[0]));
        }
    }
    for line in lines.iter().filter(|line| line.step == Step::ClusterEvicted) {
        if line.cluster.as_deref() != Some(FAILING) || line.binding.as_deref() != Some(BINDING) {
            problems.push(format!("{:?} left {:?}, which nobody asked for", line.binding, line.cluster));
        }
    }
    if teller.sees_taints() {
        problems.push("a cluster still carries a taint".to_owned());
    }
    match bindings.get(BINDING) {
        None => problems.push(format!("there is no binding {BINDING}")),
        Some(binding) => {
            let placed = placement(binding);
            if placed != BTreeMap::from([(TAKES_OVER.to_owned(), 3)]) {
                problems.push(format!("{BINDING} ended on {placed:?}, not on {TAKES_OVER} with 3 replicas: nothing may move back by itself"));
            }
            if !binding.spec.graceful_eviction_tasks.is_empty() {
                problems.push(format!("{BINDING} still has eviction tasks"));
            }
        }
    }
    problems
}

/// Replicas by cluster.
#[must_use]
pub fn placement(binding: &Binding) -> BTreeMap<String, i32> {
    binding.spec.clusters.iter().map(|target| (target.name.clone(), target.replicas)).collect()
}
