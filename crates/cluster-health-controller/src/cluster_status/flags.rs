//! Flags of `clusterStatus`, the same for the push reporter and for an agent; names and defaults are Karmada's.

use std::time::Duration;

use clap::Args;
use controller_kit::durations::parse_duration;
use failover_core::cluster_health::Thresholds;

/// How often members are looked at, and when what is seen becomes their condition.
#[derive(Debug, Clone, Args)]
#[group(skip)]
pub struct StatusFlags {
    /// Time between two probes of a member. A probe may take nine tenths of it.
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
}

impl Default for StatusFlags {
    fn default() -> Self {
        Self {
            cluster_status_update_frequency: Duration::from_secs(10),
            cluster_success_threshold: Duration::from_secs(30),
            cluster_failure_threshold: Duration::from_secs(30),
        }
    }
}

/// Shorter than this a timer does not tell two probes apart.
const SHORTEST_PERIOD: Duration = Duration::from_millis(10);

impl StatusFlags {
    pub(crate) fn thresholds(&self) -> Thresholds {
        Thresholds {
            success: self.cluster_success_threshold,
            failure: self.cluster_failure_threshold,
        }
    }

    /// Every mistake, one sentence each.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        if self.cluster_status_update_frequency < SHORTEST_PERIOD {
            vec![
                "--cluster-status-update-frequency must be above 0, at least 10ms: it is the time between two probes"
                    .to_owned(),
            ]
        } else {
            Vec::new()
        }
    }
}
