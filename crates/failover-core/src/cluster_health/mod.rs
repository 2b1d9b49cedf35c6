//! What a cluster's Ready condition says, from what probes saw, and from whether anybody still reports.
//!
//! Who reports, in two pure steps: [`probe`] turns one answer, or the lack of one, into an [`Observation`]; [`threshold`]
//! turns observations into the condition: it follows an observation only after that held for its threshold, whatever made
//! it, so that a single lost packet or a secret that is missing for a moment moves nothing.
//!
//! Who watches those who report, in three: [`silence`] knows how long one of them has been silent, by the watcher's own
//! time; [`watch`] whom to give up, and when it is the watcher that hears nothing; [`standing`] what that means for a
//! cluster, and [`saying`] what its conditions say. [`freshness`] knows for how long its last reports count, [`deletion`]
//! what the end of a Cluster waits for.

pub mod deletion;
pub mod freshness;
pub mod on_leases;
mod probe;
pub mod saying;
pub mod silence;
pub mod standing;
mod threshold;
pub mod watch;

pub use probe::{
    Health, HealthzStep, Observation, ProbeAnswer, ReadyzStep, after_healthz, after_readyz, cannot_connect,
};
pub use threshold::{Memory, Settled, Step, StoredReady, Thresholds, Verdict, step, transition};

/// Reasons and messages of the Ready condition; those that stock Karmada writes are spelled as there.
pub mod words {
    /// The member answers and says that it is healthy.
    pub const READY: &str = "ClusterReady";
    /// Message of [`READY`].
    pub const READY_MESSAGE: &str = "cluster is healthy and ready to accept workloads";
    /// The member answers, but not that it is healthy.
    pub const NOT_READY: &str = "ClusterNotReady";
    /// Message of [`NOT_READY`].
    pub const NOT_READY_MESSAGE: &str = "cluster is reachable but health endpoint responded without ok";
    /// The member does not answer.
    pub const NOT_REACHABLE: &str = "ClusterNotReachable";
    /// Message of [`NOT_REACHABLE`].
    pub const NOT_REACHABLE_MESSAGE: &str = "cluster is not reachable";
    /// No client can be made for the member: its secret or its spec is wrong.
    pub const COLLECTION_FAILED: &str = "StatusCollectionFailed";
    /// Nobody has looked at the member yet.
    pub const NEVER_UPDATED: &str = "ClusterStatusNeverUpdated";
    /// Message of [`NEVER_UPDATED`].
    pub const NEVER_UPDATED_MESSAGE: &str = "Cluster status controller never posted cluster status.";
    /// Who used to report on the member no longer does.
    pub const UNKNOWN: &str = "ClusterStatusUnknown";
    /// Message of [`UNKNOWN`].
    pub const UNKNOWN_MESSAGE: &str = "Cluster status controller stopped posting cluster status.";
    /// Reason of the condition `ReporterDown` while it is True.
    pub const REPORTER_SILENT: &str = "LeaseNotRenewed";
    /// Reason of the condition `ReporterDown` while the reporter lives and can ask no member at all.
    pub const NOTHING_PROBED: &str = "NothingProbed";
    /// Reason of the condition `ReporterDown` when it is over.
    pub const REPORTER_HEARD: &str = "LeaseRenewed";
    /// Reason of the condition `MonitorIsolated` while it is True.
    pub const ALL_SILENT: &str = "AllLeasesStale";
    /// Reason of the condition `MonitorIsolated` when it is over.
    pub const SOMEBODY_HEARD: &str = "LeaseRenewed";
    /// Reason of the event when Ready became Unknown.
    pub const EVENT_UNKNOWN: &str = "ClusterUnknown";
}
