//! Whether policies say what their authors most likely meant.
//!
//! [`lint`] takes objects that were read from files and what is known of the control plane; findings come out, each
//! with a stable [`Code`], the field, what is wrong, why, and what to do. What the API server itself refuses is not
//! looked for here. Guarantees: whom a policy speaks of, whether conditions hold, and what is tolerated is decided by
//! the functions that the controllers use; nothing is found without naming a field; the findings of an object stand in
//! the order of their fields' discovery, and do not depend on the order of other objects.

mod code;
mod conditions;
mod finding;
mod known;
mod pairs;
mod propagation;
mod similar;
mod taint_policy;
mod target;
mod tolerations;

#[cfg(test)]
mod tests;

use api_types::policy::{Policy, PolicyKind};
use api_types::taint_policy::ClusterTaintPolicy;

pub use code::{Code, Needs, Severity, UnknownCode};
pub use finding::Finding;
pub use known::{Known, StockKarmada};
pub use similar::nearest;

/// An object to look at.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A ClusterTaintPolicy.
    TaintPolicy(Box<ClusterTaintPolicy>),
    /// A PropagationPolicy or ClusterPropagationPolicy: the same rules for both.
    Propagation(PolicyKind, Box<Policy>),
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
                found.extend(pairs::findings(policy, &around.others(index)));
                found
            }
            Subject::Propagation(_, policy) => propagation::findings(policy, known, &around),
        };
        findings.extend(of_this.into_iter().map(|finding| (index, finding)));
    }
    findings
}

/// What stands beside an object: in the files, and on the control plane.
struct Around<'a> {
    /// ClusterTaintPolicies of the files, with their indices.
    in_files: Vec<(usize, &'a ClusterTaintPolicy)>,
    /// Stored ones that no file replaces.
    stored: Vec<&'a ClusterTaintPolicy>,
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
                Subject::Propagation(..) => None,
            })
            .collect();
        let replaced = |name: &Option<String>| in_files.iter().any(|(_, policy)| policy.metadata.name == *name);
        let stored = known
            .taint_policies
            .iter()
            .filter(|policy| !replaced(&policy.metadata.name))
            .collect();
        let opted_in = subjects.iter().filter_map(|subject| match subject {
            Subject::Propagation(_, policy) => Some(propagation::opted_in(policy)),
            Subject::TaintPolicy(_) => None,
        });
        let in_the_files: Vec<bool> = opted_in.collect();
        let somebody_opted_in = match (known.somebody_opted_in, &in_the_files[..]) {
            (None, []) => None,
            (stored, files) => Some(stored == Some(true) || files.contains(&true)),
        };
        Self {
            in_files,
            stored,
            somebody_opted_in,
        }
    }

    /// All ClusterTaintPolicies but the subject of this index.
    fn others(&self, index: usize) -> Vec<&'a ClusterTaintPolicy> {
        let in_files = self.in_files.iter().filter(|(other, _)| *other != index);
        in_files
            .map(|(_, policy)| *policy)
            .chain(self.stored.iter().copied())
            .collect()
    }

    fn taint_policies(&self) -> impl Iterator<Item = &'a ClusterTaintPolicy> {
        let in_files = self.in_files.iter().map(|(_, policy)| *policy);
        in_files.chain(self.stored.iter().copied())
    }
}
