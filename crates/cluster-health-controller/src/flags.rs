//! Flags of the cluster-health-controller; names and defaults are Karmada's.

use std::time::Duration;

use clap::Args;
use controller_kit::durations::parse_duration;
use failover_core::cluster_health::Thresholds;

/// Flags of the cluster-health-controller.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster health")]
#[group(skip)]
pub struct Flags {
    /// Time between two probes of a member; also the longest that a probe may take.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_STATUS_UPDATE_FREQUENCY", value_name = "DURATION",
          value_parser = parse_duration, default_value = "10s")]
    pub cluster_status_update_frequency: Duration,

    /// How long a member must be seen healthy before its Cluster becomes Ready.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_SUCCESS_THRESHOLD", value_name = "DURATION",
          value_parser = parse_duration, default_value = "30s")]
    pub cluster_success_threshold: Duration,

    /// How long a member must be seen unhealthy, or not be seen, before its Cluster stops being Ready.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_FAILURE_THRESHOLD", value_name = "DURATION",
          value_parser = parse_duration, default_value = "30s")]
    pub cluster_failure_threshold: Duration,

    /// How many Clusters the controller `cluster` looks after at once.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_CLUSTER_SYNCS",
        value_name = "N",
        default_value_t = 5
    )]
    pub concurrent_cluster_syncs: usize,

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
            cluster_status_update_frequency: Duration::from_secs(10),
            cluster_success_threshold: Duration::from_secs(30),
            cluster_failure_threshold: Duration::from_secs(30),
            concurrent_cluster_syncs: 5,
            old: OldFlags::default(),
        }
    }
}

impl Flags {
    pub(crate) fn thresholds(&self) -> Thresholds {
        Thresholds {
            success: self.cluster_success_threshold,
            failure: self.cluster_failure_threshold,
        }
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        if self.cluster_status_update_frequency.is_zero() {
            vec!["--cluster-status-update-frequency must be above 0: it is the time between two probes".to_owned()]
        } else {
            Vec::new()
        }
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
        assert_eq!(parsed.thresholds().failure, Duration::from_secs(90));
        let old = Cli::parse_from(["x", "--failover-eviction-timeout=5m"])
            .flags
            .old
            .warnings();
        assert!(old[0].contains("addOnMatchSeconds"), "{old:?}");
        let zero = Cli::parse_from(["x", "--cluster-status-update-frequency=0s"]).flags;
        assert!(zero.problems()[0].contains("--cluster-status-update-frequency"));
    }
}
