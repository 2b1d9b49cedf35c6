//! Flags of the taint-policy-controller.

use clap::Args;

/// Flags of the taint-policy-controller.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Taint policies")]
#[group(skip)]
pub struct Flags {
    /// How many Clusters are looked at at once.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_CLUSTER_TAINT_POLICY_SYNCS",
        value_name = "N",
        default_value_t = 5
    )]
    pub concurrent_cluster_taint_policy_syncs: usize,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            concurrent_cluster_taint_policy_syncs: 5,
        }
    }
}
