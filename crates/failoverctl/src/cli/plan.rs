//! The arguments of `plan`, `drain`, `undrain` and `dump`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use scheduler_filters::PreEvictionCheck;

use super::change::ChangeArgs;
use super::when::parse_days;

/// What is proposed.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("proposal").required(true).multiple(true).args(["fail", "drain", "policy"])))]
pub struct PlanArgs {
    /// Clusters that fail now, all at once: their Ready becomes False. May be repeated, or a list with commas.
    #[arg(long, value_name = "CLUSTER", value_delimiter = ',')]
    pub fail: Vec<String>,

    /// Clusters that are drained now. May be repeated, or a list with commas.
    #[arg(long, value_name = "CLUSTER", value_delimiter = ',')]
    pub drain: Vec<String>,

    /// With --drain: a Duplicated workload may also leave when nothing replaces the copy and a healthy one runs elsewhere.
    #[arg(long, requires = "drain")]
    pub accept_fewer_copies: bool,

    /// ClusterTaintPolicies in YAML or JSON files (a directory, or - for standard input), as if they were in force; one of
    /// a name that exists takes its place. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,

    /// As if feature gate Failover were on, however the controllers have it.
    #[arg(long)]
    pub gate_on: bool,

    /// Rates, thresholds and checks.
    #[command(flatten)]
    pub settings: PlanSettings,

    /// Rows of each table; 0 shows all. json and yaml always have all.
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub limit: usize,
}

/// What the controllers' flags say, which no object tells.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "As the controllers are configured")]
pub struct PlanSettings {
    /// --resource-eviction-rate of the eviction queue, per second. Without it: what the queue says, else 0.5.
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub resource_eviction_rate: Option<f64>,

    /// --secondary-resource-eviction-rate of the eviction queue, per second. Without it: what the queue says, else 0.1.
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub secondary_resource_eviction_rate: Option<f64>,

    /// --unhealthy-cluster-threshold of the eviction queue. Without it: what the queue says, else 0.55.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub unhealthy_cluster_threshold: Option<f64>,

    /// --large-cluster-num-threshold of the eviction queue. Without it: 10.
    #[arg(long, value_name = "COUNT")]
    pub large_cluster_num_threshold: Option<usize>,

    /// --pre-eviction-check of the evictor. With capacity each move takes its room from those after it. Without it: affinity.
    #[arg(long, value_enum, value_name = "CHECK")]
    pub pre_eviction_check: Option<CheckArg>,
}

/// How much is checked before an eviction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CheckArg {
    /// Whether a cluster may take the workload.
    #[default]
    Affinity,
    /// The same, and whether its free resources cover the replicas.
    Capacity,
    /// Nothing.
    Off,
}

impl From<CheckArg> for PreEvictionCheck {
    fn from(check: CheckArg) -> Self {
        match check {
            CheckArg::Affinity => Self::Affinity,
            CheckArg::Capacity => Self::Capacity,
            CheckArg::Off => Self::Off,
        }
    }
}

/// Which cluster is drained, and how.
#[derive(Debug, Clone, Args)]
pub struct DrainArgs {
    /// Name of a Cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,

    /// A Duplicated workload may also leave when nothing replaces the copy and a healthy one runs elsewhere; =false takes that
    /// back. Without it a drain that goes on already keeps what it has.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false")]
    pub accept_fewer_copies: Option<bool>,

    /// Why, for those who find the cluster drained; kept as an Event on the Cluster.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,

    /// Do not follow the drain: end when the taint stands.
    #[arg(long, conflicts_with = "within")]
    pub detach: bool,

    /// End with exit status 4 when something is left after this time. The drain goes on.
    #[arg(long, value_name = "DURATION", value_parser = parse_days)]
    pub within: Option<Duration>,

    /// How careful to be.
    #[command(flatten)]
    pub change: ChangeArgs,

    /// Rates, thresholds and checks.
    #[command(flatten)]
    pub settings: PlanSettings,
}

/// Where a dump goes.
#[derive(Debug, Clone, Args)]
pub struct DumpArgs {
    /// The file, which must not exist yet; - is standard output. Without it: failover-dump-SECONDS.jsonl.
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Which cluster is drained no more.
#[derive(Debug, Clone, Args)]
pub struct UndrainArgs {
    /// Name of a Cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,

    /// Why; kept as an Event on the Cluster.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,

    /// How careful to be.
    #[command(flatten)]
    pub change: ChangeArgs,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text
        .parse()
        .map_err(|_| format!("{text:?} is no number: give evictions per second, as in 0.5"))?;
    if rate.is_finite() && rate >= 0.0 {
        Ok(rate)
    } else {
        Err(format!(
            "{text} is below 0 or no number: give evictions per second, as in 0.5"
        ))
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share: f64 = text
        .parse()
        .map_err(|_| format!("{text:?} is no number: give a share, as in 0.55"))?;
    if share > 0.0 && share <= 1.0 {
        Ok(share)
    } else {
        Err(format!("{text} is not in (0, 1]: give a share, as in 0.55"))
    }
}
