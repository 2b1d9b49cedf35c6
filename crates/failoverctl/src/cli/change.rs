//! The arguments of what changes something.

use std::time::Duration;

use api_types::BindingKey;
use api_types::failover::PauseScope;
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;

use super::parse_binding;
use super::when::parse_days;

/// How careful to be.
#[derive(Debug, Clone, Default, Args)]
pub struct ChangeArgs {
    /// Only say what would be done; nothing is changed.
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask. Needed where there is no terminal.
    #[arg(short, long)]
    pub yes: bool,
}

/// Whose workloads stay.
#[derive(Debug, Clone, Args)]
pub struct DropArgs {
    /// Which entries.
    #[command(flatten)]
    pub which: WhichEntries,

    /// Why, for those who find the workload on a failed cluster; at most 256 bytes.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,

    /// How careful to be.
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Whose workloads may leave again.
#[derive(Debug, Clone, Args)]
pub struct UndropArgs {
    /// Which entries.
    #[command(flatten)]
    pub which: WhichEntries,

    /// Why; at most 256 bytes.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,

    /// How careful to be.
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Entries of the queue, by binding or by cluster.
#[derive(Debug, Clone, Args)]
pub struct WhichEntries {
    /// NAMESPACE/NAME of a ResourceBinding, or NAME of a ClusterResourceBinding.
    #[arg(value_name = "[NAMESPACE/]NAME", value_parser = parse_binding, required_unless_present = "all")]
    pub binding: Option<BindingKey>,

    /// Only the entry that leaves this cluster.
    #[arg(short, long, value_name = "NAME")]
    pub cluster: Option<String>,

    /// Every entry that leaves the cluster of --cluster.
    #[arg(long, requires = "cluster", conflicts_with = "binding")]
    pub all: bool,
}

/// What is paused, or `list`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct PauseArgs {
    /// Instead of a new pause.
    #[command(subcommand)]
    pub command: Option<PauseCommand>,

    /// What is paused: all evictions, those from --cluster, or those of --namespace. Without this it follows from them.
    #[arg(long, value_enum, ignore_case = true, value_name = "SCOPE")]
    pub scope: Option<ScopeArg>,

    /// Evictions from this cluster; may be repeated, or a list with commas.
    #[arg(short, long = "cluster", value_name = "NAME", value_delimiter = ',')]
    pub clusters: Vec<String>,

    /// Evictions of bindings in this namespace, `-` for bindings of cluster scope; may be repeated, or a list with commas.
    #[arg(
        short,
        long = "namespace",
        value_name = "NAME",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub namespaces: Vec<String>,

    /// Why, for those who find evictions stopped.
    #[arg(long, value_name = "TEXT", required = true)]
    pub reason: Option<String>,

    /// For how long, as in 2h or 1d; without --for and --until: until somebody resumes.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_days, conflicts_with = "until")]
    pub lasts: Option<Duration>,

    /// Until when, as in 2026-01-31T18:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub until: Option<Timestamp>,

    /// Name of the FailoverPause; without it one is made from what is paused and the time.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// How careful to be.
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// What else there is to do with pauses.
#[derive(Debug, Clone, Subcommand)]
pub enum PauseCommand {
    /// The pauses that there are, what each stops, until when, and how many entries it holds.
    List,
}

/// Scope of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScopeArg {
    /// Every eviction.
    All,
    /// Evictions from clusters.
    Clusters,
    /// Evictions of bindings in namespaces.
    Namespaces,
}

impl From<ScopeArg> for PauseScope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::All => Self::All,
            ScopeArg::Clusters => Self::Clusters,
            ScopeArg::Namespaces => Self::Namespaces,
        }
    }
}

/// Which pauses end.
#[derive(Debug, Clone, Args)]
pub struct ResumeArgs {
    /// Name of a FailoverPause.
    #[arg(value_name = "NAME", required_unless_present = "all")]
    pub name: Option<String>,

    /// Every FailoverPause.
    #[arg(long, conflicts_with = "name")]
    pub all: bool,

    /// How careful to be.
    #[command(flatten)]
    pub change: ChangeArgs,
}
