//! The parts of the report of `status`.

use api_types::cluster::effect;
use k8s_openapi::api::core::v1::Taint;
use serde::Serialize;

use crate::output::At;

/// How fast evictions go.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegimeView {
    /// Starting, Paused, AllFaulty, Halted, Reduced, Normal or Unknown.
    pub name: &'static str,
    /// Why, with its numbers.
    pub reason: String,
    /// Evictions per second; 0: none.
    pub evictions_per_second: f64,
    /// Clusters, without those being deleted.
    pub clusters: u32,
    /// Of them, faulty ones.
    pub faulty_clusters: u32,
    /// Their share, 0 to 1.
    pub faulty_share: f64,
    /// The share above which the regime changes.
    pub unhealthy_threshold: f64,
}

/// Entries by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TotalsView {
    /// Due later.
    pub waiting: u64,
    /// Due.
    pub ready: u64,
    /// In the hands of the evictor.
    pub leased: u64,
    /// Not released.
    pub held: u64,
}

/// The eviction queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    /// Where it answered.
    pub address: String,
    /// Identity of the leader.
    pub leader: String,
    /// Its term.
    pub epoch: String,
    /// Entries by state.
    pub totals: TotalsView,
    /// When the longest ready entry became ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_ready_since: Option<At>,
    /// Fill of the token bucket, 0 to 1 eviction.
    pub tokens: f64,
    /// Connected evictors.
    pub consumers: u32,
    /// Leases that may be out at once.
    pub max_outstanding_leases: u32,
    /// Who publishes.
    pub producers: Vec<ProducerView>,
}

/// A controller that publishes entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProducerView {
    /// Its name.
    pub name: String,
    /// Its process.
    pub identity: String,
    /// Whether the queue has its whole set.
    pub synced: bool,
    /// Since when it is not connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_since: Option<At>,
    /// Its entries.
    pub entries: u64,
}

/// A pause in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseView {
    /// Name of the FailoverPause.
    pub name: String,
    /// All, Clusters or Namespaces.
    pub scope: String,
    /// Why.
    pub reason: String,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<At>,
    /// Entries that would leave the queue without it.
    pub held_entries: u64,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterView {
    /// Its name.
    pub name: String,
    /// True, False or Unknown; absent: never reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_since: Option<At>,
    /// Reason and message of the Ready condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_reason: Option<String>,
    /// Whether somebody deleted it.
    pub being_deleted: bool,
    /// Whether the queue counts it as faulty; absent when the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faulty: Option<bool>,
    /// The taint that makes it faulty, as `key:effect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faulty_taint: Option<String>,
    /// All its taints.
    pub taints: Vec<TaintView>,
    /// Its lane in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneView>,
}

/// A taint of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaintView {
    /// Key.
    pub key: String,
    /// Value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Effect.
    pub effect: String,
    /// When it was added; absent: not stamped yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<At>,
}

impl TaintView {
    /// As shown.
    #[must_use]
    pub fn of(taint: &Taint) -> Self {
        Self {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.clone(),
            time_added: taint.time_added.as_ref().map(|time| At(time.0)),
        }
    }

    /// Whether it may cause evictions.
    #[must_use]
    pub fn evicts(&self) -> bool {
        matches!(self.effect.as_str(), effect::NO_EXECUTE | effect::PREFER_NO_EXECUTE)
    }
}

/// The entries that leave one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LaneView {
    /// When the lane began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<At>,
    /// Entries by state.
    pub totals: TotalsView,
    /// When the next waiting entry is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_due_at: Option<At>,
}
