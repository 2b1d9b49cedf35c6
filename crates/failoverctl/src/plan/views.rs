//! The parts of a plan as they are told.

use serde::Serialize;

use crate::entry::{CauseView, ResourceView};
use crate::history::PlaceView;
use crate::output::At;

/// A cluster that the plan is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterInPlan {
    /// Its name.
    pub name: String,
    /// Taints that come, in the order of time.
    pub taints: Vec<TaintInPlan>,
    /// Taints that a policy wants and does not add.
    pub held_taints: Vec<HeldTaintView>,
    /// How many workloads leave.
    pub moving: usize,
    /// How many have to leave and do not.
    pub remaining: usize,
    /// How many stay.
    pub staying: usize,
}

/// A taint that comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaintInPlan {
    /// `key:effect`.
    pub taint: String,
    /// Its value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// When.
    pub at: At,
    /// The ClusterTaintPolicies that add it; empty: the person who drains.
    pub policies: Vec<String>,
    /// Why.
    pub why: String,
}

/// A taint that a policy wants and does not add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldTaintView {
    /// `key:effect`.
    pub taint: String,
    /// The policy.
    pub policy: String,
    /// Why not.
    pub why: String,
}

/// How fast evictions go from a time on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegimeFrom {
    /// From then on.
    pub from: At,
    /// The regime.
    pub name: &'static str,
    /// Why, with its numbers.
    pub reason: String,
    /// Evictions per second.
    pub evictions_per_second: f64,
    /// Clusters.
    pub clusters: usize,
    /// Of them, faulty ones.
    pub faulty_clusters: usize,
    /// Their share.
    pub faulty_share: f64,
}

/// A workload that leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveInPlan {
    /// `NAMESPACE/NAME`, or `NAME` of cluster scope.
    pub binding: String,
    /// The template.
    pub resource: ResourceView,
    /// The cluster that it leaves.
    pub from: String,
    /// Replicas there; 0 of what has none.
    pub replicas: i32,
    /// Why it leaves.
    pub cause: CauseView,
    /// The verdict as a sentence.
    pub reason: String,
    /// When it is due.
    pub due_at: At,
    /// When its turn comes.
    pub leaves_at: At,
    /// What becomes of the old copy.
    pub purge_mode: &'static str,
    /// What is new where: replicas on clusters that it was on already are those that are added.
    pub to: Vec<PlaceView>,
    /// All its clusters afterwards.
    pub result: Vec<PlaceView>,
    /// Why `to` is empty, or which copies are kept beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether no scheduler finds or looks for a place.
    pub without_place: bool,
}

/// A workload that has to leave and does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemainingView {
    /// `NAMESPACE/NAME`, or `NAME` of cluster scope.
    pub binding: String,
    /// The template.
    pub resource: ResourceView,
    /// The cluster that it would leave.
    pub from: String,
    /// Replicas there; 0 of what has none.
    pub replicas: i32,
    /// Why it has to leave.
    pub cause: CauseView,
    /// The verdict as a sentence.
    pub reason: String,
    /// When it is due.
    pub due_at: At,
    /// NoTarget, Standstill, Later, or the queue's reason to hold it.
    pub word: &'static str,
    /// Why it does not go.
    pub why: String,
}

/// A workload that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StayingView {
    /// `NAMESPACE/NAME`, or `NAME` of cluster scope.
    pub binding: String,
    /// The template.
    pub resource: ResourceView,
    /// The cluster.
    pub cluster: String,
    /// Replicas there; 0 of what has none.
    pub replicas: i32,
    /// One word: Tolerated, NotOptedIn, AlreadyLeaving, …
    pub word: &'static str,
    /// Why.
    pub why: String,
}

/// What leaves other clusters meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OthersView {
    /// The clusters.
    pub clusters: Vec<String>,
    /// Workloads that leave them.
    pub moving: usize,
    /// Workloads that have to and do not.
    pub remaining: usize,
}
