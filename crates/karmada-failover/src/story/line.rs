//! One line of the timeline, for people and for programs.

use std::collections::BTreeMap;

use serde::Serialize;

/// What can happen in the story of clusters that fail and return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Step {
    /// Every Cluster that was made known is Ready, and what its API server serves is known.
    FleetReady,
    /// The workload runs where its policy says.
    WorkloadRunning,
    /// A member's API server stopped answering: seen by asking it.
    ClusterFailed,
    /// The Cluster's Ready condition left True.
    ClusterNotReady,
    /// A copy that was healthy is not any more, on a cluster that is Ready, and its policy says when it has to move for
    /// that.
    ApplicationFailed,
    /// A taint was put on the Cluster.
    TaintAdded,
    /// The eviction queue is in another regime: it may go faster, slower or not at all.
    RegimeChanged,
    /// An entry stands in the eviction queue.
    EvictionQueued,
    /// The queue holds the entry, whatever its turn.
    EvictionHeld,
    /// The queue let the entry go.
    EvictionReleased,
    /// The entry left the queue, and the workload did not leave the cluster.
    EvictionAbandoned,
    /// The cluster moved from spec.clusters to spec.gracefulEvictionTasks.
    ClusterEvicted,
    /// The scheduler chose anew.
    Rescheduled,
    /// The new copies are available in full.
    ReplacementHealthy,
    /// The task is done, and the old Work waits for its cluster.
    OldCopyKept,
    /// The Cluster's Ready condition is True again.
    ClusterReturned,
    /// A taint was taken off the Cluster.
    TaintRemoved,
    /// The old Work is gone.
    OldCopyRemoved,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What.
    pub step: Step,
    /// Seconds since the start.
    #[serde(serialize_with = "to_milliseconds")]
    pub at: f64,
    /// Where, if it happened to a cluster: the one that is left, or of Rescheduled and ReplacementHealthy the one (or,
    /// joined by commas, those) that the binding goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// To which binding, if it happened to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// Where the replicas of the binding are now, if the step is about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<BTreeMap<String, i32>>,
    /// Of RegimeChanged: the name of the new regime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<String>,
    /// Of RegimeChanged: the evictions a second that it allows.
    #[serde(rename = "evictionsPerSecond", skip_serializing_if = "Option::is_none")]
    pub evictions_per_second: Option<f64>,
    /// Why, in the words of the object that it was read off.
    pub why: String,
}

impl Line {
    /// A step that happened to nothing yet.
    pub(super) fn of(step: Step, at: f64, why: String) -> Self {
        Self {
            step,
            at,
            cluster: None,
            binding: None,
            placement: None,
            regime: None,
            evictions_per_second: None,
            why,
        }
    }

    /// The same, to a binding.
    pub(super) fn to(mut self, binding: &str) -> Self {
        self.binding = Some(binding.to_owned());
        self
    }

    /// The same, to a cluster.
    pub(super) fn on(mut self, cluster: &str) -> Self {
        self.cluster = Some(cluster.to_owned());
        self
    }
}

/// What is finer than a millisecond is noise.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's serialize_with passes a reference"
)]
pub(super) fn to_milliseconds<S: serde::Serializer>(seconds: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((seconds * 1000.0).round() / 1000.0)
}
