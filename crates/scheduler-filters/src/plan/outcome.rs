//! What is answered.

use std::collections::BTreeSet;

use api_types::policy::PurgeMode;
use api_types::work::TargetCluster;
use api_types::{BindingKey, ClusterName};
use failover_core::eviction::queue::{HoldReason, TemplateRef};
use failover_core::eviction::regime::RegimeVerdict;
use failover_core::eviction::{Cause, NotAffected};
use failover_core::taint_policy::{TaintId, TaintState};
use jiff::Timestamp;

/// What would happen.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The clusters that the proposal is about: those that fail, those that are drained, and those that a proposed policy
    /// taints.
    pub clusters: BTreeSet<ClusterName>,
    /// Taints that are added to any cluster, in the order of time.
    pub taints: Vec<PlannedTaint>,
    /// Taints that policies want on those clusters and do not add.
    pub held_taints: Vec<HeldTaint>,
    /// How fast evictions go, from when on; the first from the beginning.
    pub regimes: Vec<RegimePhase>,
    /// Moves off those clusters, in their order.
    pub moves: Vec<Move>,
    /// What has to leave those clusters and does not, by when it is due.
    pub remaining: Vec<Remaining>,
    /// What is on those clusters and stays, by cluster and binding.
    pub staying: Vec<Staying>,
    /// What leaves other clusters meanwhile.
    pub others: Others,
    /// When the last move off those clusters happens; absent: none does.
    pub last_move_at: Option<Timestamp>,
}

/// A taint that comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTaint {
    /// On this cluster.
    pub cluster: ClusterName,
    /// Key and effect.
    pub id: TaintId,
    /// Value; empty: none.
    pub value: String,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: TaintedBy,
}

/// Who adds a taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaintedBy {
    /// The person who drains.
    Drain,
    /// These ClusterTaintPolicies, and the engine's words for why.
    Policies {
        /// Names.
        names: Vec<String>,
        /// Why now.
        why: String,
    },
}

/// A taint that a policy wants and does not add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTaint {
    /// On this cluster.
    pub cluster: ClusterName,
    /// The policy.
    pub policy: String,
    /// Key and effect.
    pub id: TaintId,
    /// HeldByGate, Dismissed, Foreign or WouldStand.
    pub state: TaintState,
}

/// How fast evictions go from a time on.
#[derive(Clone, Debug, PartialEq)]
pub struct RegimePhase {
    /// From then on.
    pub from: Timestamp,
    /// The queue's verdict.
    pub verdict: RegimeVerdict,
}

/// A workload that leaves a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The binding.
    pub binding: BindingKey,
    /// Its template.
    pub template: TemplateRef,
    /// The cluster that it leaves.
    pub from: ClusterName,
    /// Replicas there; 0 of what has none.
    pub replicas: i32,
    /// Why it leaves.
    pub cause: Cause,
    /// The verdict as a sentence.
    pub reason: String,
    /// When it is due.
    pub due_at: Timestamp,
    /// When its turn comes.
    pub leaves_at: Timestamp,
    /// What becomes of the old copy.
    pub purge_mode: PurgeMode,
    /// Where it goes.
    pub to: NewPlace,
}

/// Where a workload goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewPlace {
    /// The scheduler places it.
    Found {
        /// The result that it writes.
        result: Vec<TargetCluster>,
        /// What of it is new: clusters, or replicas on clusters that are there already. Empty: fewer copies are accepted.
        gains: Vec<TargetCluster>,
        /// Copies that it keeps until another one is healthy, in words.
        kept: Option<String>,
    },
    /// It leaves, and the scheduler finds no place; the old copy stays until there is one.
    NotFound {
        /// Why.
        why: String,
    },
    /// Nobody places it.
    Nobody {
        /// Why.
        why: String,
    },
}

/// A workload that has to leave and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// The binding.
    pub binding: BindingKey,
    /// Its template.
    pub template: TemplateRef,
    /// The cluster that it would leave.
    pub from: ClusterName,
    /// Replicas there; 0 of what has none.
    pub replicas: i32,
    /// Why it has to leave.
    pub cause: Cause,
    /// The verdict as a sentence.
    pub reason: String,
    /// When it is due.
    pub due_at: Timestamp,
    /// Why it does not go.
    pub why: NotGoing,
}

/// Why a workload that has to leave does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotGoing {
    /// No cluster can take it: the copy stays where it is.
    NoTarget {
        /// Why.
        why: String,
    },
    /// The queue holds it for another reason: a person's word, a pause, a taint that is about to go.
    Held {
        /// The queue's reason.
        reason: HoldReason,
        /// In words.
        why: String,
    },
    /// Nothing is released in the regime that results.
    Standstill {
        /// The queue's words.
        why: String,
    },
    /// It is due beyond [`super::HORIZON`].
    Later,
}

/// A workload that is on a cluster and stays there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staying {
    /// The binding.
    pub binding: BindingKey,
    /// Its template.
    pub template: TemplateRef,
    /// The cluster.
    pub cluster: ClusterName,
    /// Replicas there; 0 of what has none.
    pub replicas: i32,
    /// Why.
    pub why: NotAffected,
}

/// What leaves other clusters than those that the proposal is about: it takes turns with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// The clusters.
    pub clusters: BTreeSet<ClusterName>,
    /// Moves.
    pub moves: usize,
    /// What has to leave and does not.
    pub remaining: usize,
}
