//! What a look depends on.

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use jiff::Timestamp;

use super::windows::Memory;

/// The feature gate `Failover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverGate {
    /// A cluster's failure may move workloads.
    Enabled,
    /// It may not: NoExecute and PreferNoExecute taints are not added. Removal goes on.
    Disabled,
}

/// Everything that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// All policies, in any order.
    pub policies: &'a [&'a ClusterTaintPolicy],
    /// The Cluster, as stored. Must not be older than what the memory saw or was told that it is stored.
    pub cluster: &'a Cluster,
    /// What this process remembers of it; absent at its first look.
    pub memory: Option<&'a Memory>,
    /// The gate.
    pub gate: FailoverGate,
    /// The time by which windows run. Must not jump while the process runs.
    pub now: Timestamp,
    /// The wall clock: what others compare with theirs. `timeAdded` is of it, and so is all that is stored or told.
    pub wall: Timestamp,
}
