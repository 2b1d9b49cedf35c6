//! Flags of the controller `cluster`; those that Karmada has are spelled and set as there.

use std::time::Duration;

use clap::Args;
use controller_kit::durations::parse_duration;

/// How the reporters are watched, and how long a deletion waits.
#[derive(Debug, Clone, Args)]
#[group(skip)]
pub struct ClusterFlags {
    /// How often the monitor looks for a person's word while it seems to be isolated. Everything else happens at its
    /// exact time.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_MONITOR_PERIOD", value_name = "DURATION",
          value_parser = parse_duration, default_value = "5s")]
    pub cluster_monitor_period: Duration,

    /// How long the agent of a new Pull cluster may take to come.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_STARTUP_GRACE_PERIOD", value_name = "DURATION",
          value_parser = parse_duration, default_value = "60s")]
    pub cluster_startup_grace_period: Duration,

    /// How long the deletion of a Cluster whose member is not Ready waits for the bindings that name it; 0: as long as it
    /// takes. Elapsed time while a process runs; across a restart the wall clock, so do not set it in between.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_DELETION_TIMEOUT", value_name = "DURATION",
          value_parser = parse_duration, default_value = "0s")]
    pub cluster_deletion_timeout: Duration,
}

impl Default for ClusterFlags {
    fn default() -> Self {
        Self {
            cluster_monitor_period: Duration::from_secs(5),
            cluster_startup_grace_period: Duration::from_secs(60),
            cluster_deletion_timeout: Duration::ZERO,
        }
    }
}

impl ClusterFlags {
    /// Every mistake, one sentence each.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.cluster_monitor_period.is_zero() {
            problems.push("--cluster-monitor-period must be above 0: it is the time between two looks".to_owned());
        }
        if self.cluster_startup_grace_period.is_zero() {
            problems.push("--cluster-startup-grace-period must be above 0: an agent needs time to come".to_owned());
        }
        problems
    }
}
