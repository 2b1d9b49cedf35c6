//! A policy as the engine reads it, for those who look at the policy itself: what it names, whom it speaks of, and
//! whether its conditions hold together.

use std::cmp::Ordering;

use api_types::cluster::Cluster;
use api_types::taint_policy::{ClusterTaintPolicy, MatchCondition};
use jiff::SignedDuration;

use super::conditions::holds_with;
use super::form::{Form, PolicyTaint, Rule, precedence};
use super::ownership::targets;
use super::records::TaintId;

/// A policy, read.
#[derive(Debug)]
pub struct Reading<'a> {
    policy: &'a ClusterTaintPolicy,
    form: Form<'a>,
}

/// A taint that a policy may put on a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTaint {
    /// Which.
    pub id: TaintId,
    /// Its value; empty: none.
    pub value: String,
    /// How long the policy must match before it is added.
    pub add_after: SignedDuration,
    /// How long it must not match before it is removed.
    pub remove_after: SignedDuration,
    /// Whether workloads leave because of it, which is what the Failover gate governs.
    pub moves_workloads: bool,
}

impl PlannedTaint {
    fn of(taint: &PolicyTaint) -> Self {
        Self {
            id: taint.id.clone(),
            value: taint.value.clone(),
            add_after: taint.add_after,
            remove_after: taint.remove_after,
            moves_workloads: taint.moves_workloads(),
        }
    }
}

impl<'a> Reading<'a> {
    /// Reads a policy.
    #[must_use]
    pub fn of(policy: &'a ClusterTaintPolicy) -> Self {
        Self {
            policy,
            form: Form::read(policy),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.form.name
    }

    /// Whether an API server has it: only then it is older or younger than others.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.policy.metadata.creation_timestamp.is_some()
    }

    /// Why nothing is done for it. Only an API server without our rules lets such a policy in.
    #[must_use]
    pub fn invalid(&self) -> Option<&str> {
        self.form.invalid.as_deref()
    }

    /// Whether its target selects this Cluster.
    #[must_use]
    pub fn speaks_of(&self, cluster: &Cluster) -> bool {
        targets(&self.form, cluster)
    }

    /// Its conditions in words: `Ready In False,Unknown`, `… until …` in stock's form, `always` without any.
    #[must_use]
    pub fn rule_in_words(&self) -> String {
        self.form.rule_text()
    }

    /// Its taints, each key and effect once.
    #[must_use]
    pub fn taints(&self) -> Vec<PlannedTaint> {
        self.form.taints.iter().map(PlannedTaint::of).collect()
    }

    /// The conditions that bring its taints, and, in stock's form, those that take them away.
    #[must_use]
    pub fn conditions(&self) -> (&'a [MatchCondition], Option<&'a [MatchCondition]>) {
        match self.form.rule {
            Rule::Matching(wanted) => (wanted, None),
            Rule::Latched { add, remove } | Rule::Until { add, remove } => (add, Some(remove)),
        }
    }

    /// Which of two policies wins where they disagree: the lesser.
    #[must_use]
    pub fn precedence(&self, other: &Self) -> Ordering {
        precedence(self.policy, other.policy)
    }
}

/// Whether a condition holds on a Cluster on which its type has this status.
#[must_use]
pub fn condition_holds(wanted: &MatchCondition, status: &str) -> bool {
    holds_with(wanted, status)
}
