//! Flags of the cluster-health-controller; names and defaults are Karmada's.

use std::time::Duration;

use clap::Args;
use controller_kit::durations::parse_duration;

use crate::cluster::ClusterFlags;
use crate::cluster_status::StatusFlags;

/// Flags of the cluster-health-controller.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster health")]
#[group(skip)]
pub struct Flags {
    /// How members are probed.
    #[command(flatten)]
    pub status: StatusFlags,

    /// How long nobody may report on a member before its Cluster becomes Unknown.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_MONITOR_GRACE_PERIOD", value_name = "DURATION",
          value_parser = parse_duration, default_value = "40s")]
    pub cluster_monitor_grace_period: Duration,

    /// How many Clusters the controller `cluster` looks after at once.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_CLUSTER_SYNCS",
        value_name = "N",
        default_value_t = 5
    )]
    pub concurrent_cluster_syncs: usize,

    /// How the reporters are watched, and how long a deletion waits.
    #[command(flatten)]
    pub cluster: ClusterFlags,

    /// Flags of Karmada that have no effect here.
    #[command(flatten)]
    pub old: OldFlags,
}

controller_kit::deprecated_flags! {
    /// The flag by which Karmada's cluster controller waits before it takes workloads off a failed cluster.
    pub struct OldFlags {
        "failover-eviction-timeout" => "a ClusterTaintPolicy says how long a cluster must fail before workloads leave: \
            use its taintsToAdd[].addOnMatchSeconds",
    }
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            status: StatusFlags::default(),
            cluster_monitor_grace_period: Duration::from_secs(40),
            concurrent_cluster_syncs: 5,
            cluster: ClusterFlags::default(),
            old: OldFlags::default(),
        }
    }
}

impl Flags {
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.status.problems();
        problems.extend(self.cluster.problems());
        if self.cluster_monitor_grace_period.is_zero() {
            problems.push("--cluster-monitor-grace-period must be above 0: nobody reports without a pause".to_owned());
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        flags: Flags,
    }

    #[test]
    fn defaults_are_karmadas_and_durations_read_as_there() {
        let defaults = Flags::default();
        let parsed = Cli::parse_from(["x"]).flags;
        assert_eq!(format!("{parsed:?}"), format!("{defaults:?}"));
        let parsed = Cli::parse_from(["x", "--cluster-failure-threshold=1m30s"]).flags;
        assert_eq!(parsed.status.thresholds().failure, Duration::from_secs(90));
        let old = Cli::parse_from(["x", "--failover-eviction-timeout=5m"])
            .flags
            .old
            .warnings();
        assert!(old[0].contains("addOnMatchSeconds"), "{old:?}");
        let zero = Cli::parse_from(["x", "--cluster-status-update-frequency=0s"]).flags;
        assert!(zero.problems()[0].contains("--cluster-status-update-frequency"));
    }
}
