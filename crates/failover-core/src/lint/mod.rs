//! Whether policies say what their authors most likely meant.
//!
//! [`lint`] takes objects that were read from files and what is known of the control plane; findings come out, each
//! with a stable [`Code`], the field, what is wrong, why, and what to do. What the API server itself refuses is not
//! looked for here. Guarantees: whom a policy speaks of, whether conditions hold, and what is tolerated is decided by
//! the functions that the controllers use; nothing is found without naming a field; the findings of an object stand in
//! the order of their fields' discovery, and do not depend on the order of other objects.

mod annotations;
mod binding;
mod code;
mod conditions;
mod finding;
mod known;
mod pairs;
mod pause;
mod propagation;
mod sense;
mod similar;
mod taint_policy;
mod target;
mod tolerations;

#[cfg(test)]
mod tests;

use api_types::failover::FailoverPause;
use api_types::policy::{Policy, PolicyKind};
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::Binding;

pub use code::{Code, Needs, Severity, UnknownCode};
pub use finding::Finding;
pub use known::{Known, StockKarmada};
pub use propagation::opted_in;
pub use similar::nearest;

use crate::taint_policy::{PlannedTaint, Reading};

/// An object to look at.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A ClusterTaintPolicy.
    TaintPolicy(Box<ClusterTaintPolicy>),
    /// A PropagationPolicy or ClusterPropagationPolicy: the same rules for both.
    Propagation(PolicyKind, Box<Policy>),
    /// A FailoverPause.
    Pause(Box<FailoverPause>),
    /// A ResourceBinding or ClusterResourceBinding, of which only what people write is looked at.
    Binding(Box<Binding>),
}

/// Looks at all subjects; each finding with the index of its subject.
#[must_use]
pub fn lint(subjects: &[Subject], known: &Known<'_>) -> Vec<(usize, Finding)> {
    let around = Around::of(subjects, known);
    let mut findings = Vec::new();
    for (index, subject) in subjects.iter().enumerate() {
        let of_this = match subject {
            Subject::TaintPolicy(policy) => {
                let mut found = taint_policy::findings(policy, known, &around);
                found.extend(pairs::findings(index, &around.policies));
                found
            }
            Subject::Propagation(_, policy) => propagation::findings(policy, known, &around),
            Subject::Pause(pause) => pause::findings(pause, known),
            Subject::Binding(binding) => binding::findings(binding),
        };
        findings.extend(of_this.into_iter().map(|finding| (index, finding)));
    }
    findings
}

/// A ClusterTaintPolicy, read once for all comparisons.
struct Neighbour<'a> {
    /// Which subject it is; nothing for a stored one.
    index: Option<usize>,
    policy: &'a ClusterTaintPolicy,
    reading: Reading<'a>,
    /// Its taints; none when nothing can be done for it.
    taints: Vec<PlannedTaint>,
}

impl<'a> Neighbour<'a> {
    fn of(index: Option<usize>, policy: &'a ClusterTaintPolicy) -> Self {
        let reading = Reading::of(policy);
        let taints = if reading.invalid().is_none() {
            reading.taints()
        } else {
            Vec::new()
        };
        Self {
            index,
            policy,
            reading,
            taints,
        }
    }
}

/// What stands beside an object: in the files, and on the control plane.
struct Around<'a> {
    /// ClusterTaintPolicies of the files, and stored ones that no file replaces.
    policies: Vec<Neighbour<'a>>,
    /// Whether anybody has failover.cluster; nothing when no PropagationPolicy is known.
    somebody_opted_in: Option<bool>,
}

impl<'a> Around<'a> {
    fn of(subjects: &'a [Subject], known: &'a Known<'_>) -> Self {
        let in_files: Vec<(usize, &ClusterTaintPolicy)> = subjects
            .iter()
            .enumerate()
            .filter_map(|(index, subject)| match subject {
                Subject::TaintPolicy(policy) => Some((index, policy.as_ref())),
                _ => None,
            })
            .collect();
        let replaced = |name: &Option<String>| in_files.iter().any(|(_, policy)| policy.metadata.name == *name);
        let mut policies: Vec<Neighbour<'_>> = in_files
            .iter()
            .map(|(index, policy)| Neighbour::of(Some(*index), policy))
            .collect();
        let stored = known
            .taint_policies
            .iter()
            .filter(|policy| !replaced(&policy.metadata.name));
        policies.extend(stored.map(|policy| Neighbour::of(None, policy)));
        let opted_in = subjects.iter().filter_map(|subject| match subject {
            Subject::Propagation(_, policy) => Some(opted_in(policy)),
            _ => None,
        });
        let in_the_files: Vec<bool> = opted_in.collect();
        let somebody_opted_in = match (known.somebody_opted_in, &in_the_files[..]) {
            (None, []) => None,
            (stored, files) => Some(stored == Some(true) || files.contains(&true)),
        };
        Self {
            policies,
            somebody_opted_in,
        }
    }
}
