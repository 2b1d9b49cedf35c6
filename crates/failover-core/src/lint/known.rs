//! What is known of the control plane when policies are looked at.

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use jiff::{SignedDuration, Timestamp};

use crate::taint_policy::FailoverGate;

/// How often a cluster is looked at if nobody says otherwise: `--cluster-status-update-frequency`.
const DEFAULT_PROBE_PERIOD: SignedDuration = SignedDuration::from_secs(10);

/// Whether a stock Karmada runs on the control plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StockKarmada {
    /// It does: its cluster controller adds and removes taints of its own.
    There,
    /// It does not, or nobody knows.
    #[default]
    NotSeen,
}

/// What is known. The default knows nothing but the files.
#[derive(Clone, Debug)]
pub struct Known<'a> {
    /// All Clusters; nothing when nobody was asked.
    pub clusters: Option<&'a [Cluster]>,
    /// Stored ClusterTaintPolicies.
    pub taint_policies: &'a [ClusterTaintPolicy],
    /// Whether a stored PropagationPolicy has failover.cluster; nothing when there is none, or nobody was asked.
    pub somebody_opted_in: Option<bool>,
    /// Feature gate Failover, as the controller of the policies has it; nothing when it does not say.
    pub gate: Option<FailoverGate>,
    /// Whether stock Karmada is there.
    pub stock_karmada: StockKarmada,
    /// Time between two looks at a cluster.
    pub probe_period: SignedDuration,
    /// The time, for what depends on it; nothing leaves such rules out.
    pub now: Option<Timestamp>,
}

impl Default for Known<'_> {
    fn default() -> Self {
        Self {
            clusters: None,
            taint_policies: &[],
            somebody_opted_in: None,
            gate: None,
            stock_karmada: StockKarmada::default(),
            probe_period: DEFAULT_PROBE_PERIOD,
            now: None,
        }
    }
}
