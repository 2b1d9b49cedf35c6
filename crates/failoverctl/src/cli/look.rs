//! The arguments of what only looks.

use std::time::Duration;

use api_types::BindingKey;
use clap::{Args, ValueEnum};

use super::parse_binding;
use super::when::{Since, parse_days, parse_since};

/// Which entries.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArgs {
    /// Only entries that leave this cluster.
    #[arg(short, long, value_name = "NAME")]
    pub cluster: Option<String>,

    /// Only bindings of this namespace; `-` for bindings of cluster scope.
    #[arg(short, long, value_name = "NAME", allow_hyphen_values = true)]
    pub namespace: Option<String>,

    /// Only entries in this state.
    #[arg(long, value_enum, ignore_case = true, value_name = "STATE")]
    pub state: Option<StateFilter>,
}

/// Which entries, and how many.
#[derive(Debug, Clone, Default, Args)]
pub struct ListArgs {
    /// Which entries.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Show at most so many; 0 shows all.
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    pub limit: u32,
}

/// State of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateFilter {
    /// Due later.
    Waiting,
    /// Due: goes when its turn comes.
    Ready,
    /// The evictor works on it.
    Leased,
    /// Not released, for a reason that it says.
    Held,
}

/// Which binding.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// NAMESPACE/NAME of a ResourceBinding, or NAME of a ClusterResourceBinding.
    #[arg(value_name = "[NAMESPACE/]NAME", value_parser = parse_binding)]
    pub binding: BindingKey,

    /// Only the entry that leaves this cluster.
    #[arg(short, long, value_name = "NAME")]
    pub cluster: Option<String>,
}

/// What is watched, and until when.
#[derive(Debug, Clone, Default, Args)]
pub struct WatchArgs {
    /// Which entries.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Begin with the entries that are there; without it only changes are shown.
    #[arg(long)]
    pub list_first: bool,

    /// End with exit status 0 when no entry matches any more. Says on standard error how many are left and when the
    /// last is expected to go.
    #[arg(long)]
    pub until_empty: bool,

    /// With --until-empty: end with exit status 4 when entries are left after this time.
    #[arg(long, value_name = "DURATION", value_parser = parse_days, requires = "until_empty")]
    pub within: Option<Duration>,
}

/// Which outcomes.
#[derive(Debug, Clone, Args)]
pub struct RecentArgs {
    /// Only those of entries that leave this cluster.
    #[arg(short, long, value_name = "NAME")]
    pub cluster: Option<String>,

    /// Show at most so many; 0 shows all that the queue remembers, up to 10,000.
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub limit: u32,
}

/// Which moves.
#[derive(Debug, Clone, Default, Args)]
pub struct HistoryArgs {
    /// Only moves of this binding: NAMESPACE/NAME of a ResourceBinding, or NAME of a ClusterResourceBinding.
    #[arg(value_name = "[NAMESPACE/]NAME", value_parser = parse_binding, conflicts_with = "namespace")]
    pub binding: Option<BindingKey>,

    /// The whole story of one move: NAMESPACE/NAME of its FailoverRecord, or NAME of one in the system namespace.
    #[arg(
        long,
        value_name = "[NAMESPACE/]NAME",
        value_parser = parse_binding,
        conflicts_with_all = ["binding", "cluster", "namespace", "since"]
    )]
    pub record: Option<BindingKey>,

    /// Only moves away from this cluster.
    #[arg(short, long, value_name = "NAME")]
    pub cluster: Option<String>,

    /// Only bindings of this namespace; `-` for bindings of cluster scope.
    #[arg(short, long, value_name = "NAME", allow_hyphen_values = true)]
    pub namespace: Option<String>,

    /// Only moves that go on: of which the old copy has not gone yet.
    #[arg(long, conflicts_with = "record")]
    pub open: bool,

    /// Only what was evicted since this time, or so long ago, as in 2h or 7d.
    #[arg(long, value_name = "TIME|DURATION", value_parser = parse_since)]
    pub since: Option<Since>,

    /// Show at most so many; 0 shows all.
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub limit: usize,
}
