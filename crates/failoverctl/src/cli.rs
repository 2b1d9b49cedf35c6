//! The command line.

mod change;
mod look;
mod plan;
mod setup;
mod when;

use std::path::PathBuf;
use std::time::Duration;

use api_types::BindingKey;
use clap::{Args, Parser, Subcommand};
use controller_kit::durations::parse_duration;
use controller_kit::process::DEFAULT_SYSTEM_NAMESPACE;
use eviction_queue_api::ConnectionFlags;
use failover_core::lint::Code;

use crate::output::Format;

pub use change::{ChangeArgs, DropArgs, PauseArgs, PauseCommand, ResumeArgs, ScopeArg, UndropArgs, WhichEntries};
pub use look::{FilterArgs, HistoryArgs, ListArgs, RecentArgs, ShowArgs, StateFilter, WatchArgs};
pub use plan::{CheckArg, DrainArgs, DumpArgs, PlanArgs, PlanSettings, UndrainArgs};
pub use setup::{CheckArgs, CompletionArgs, HandbackArgs, KubeconfigArgs, ManArgs};
pub use when::Since;

/// What is moving between the clusters of a Karmada control plane, what is not, and why.
///
/// Exit status: 0 all is well, 1 a problem was found, 2 wrong usage, 3 the API server or the eviction queue cannot be
/// reached, 4 no answer in time.
#[derive(Debug, Parser)]
#[command(name = "failoverctl", version = controller_kit::VERSION)]
pub struct Cli {
    /// Where to ask.
    #[command(flatten)]
    pub target: Target,

    /// How the answer looks; json and yaml are documented in docs/failoverctl.md and versioned.
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub output: Format,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Where to ask.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub struct Target {
    /// Kubeconfig of the control plane. Without it: $KUBECONFIG, then the pod's service account, then ~/.kube/config.
    #[arg(long, global = true, env = "KARMADA_FAILOVER_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Context in the kubeconfig; its current one if not given.
    #[arg(long, global = true, env = "KARMADA_FAILOVER_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,

    /// Kubeconfig of the cluster that runs the components' pods, where that is another one. With it, or with
    /// --host-context, the eviction queue is reached by a port-forward to its leader's pod, and check reads the arguments
    /// of a stock Karmada.
    #[arg(long, global = true, env = "KARMADA_FAILOVER_HOST_KUBECONFIG", value_name = "FILE")]
    pub host_kubeconfig: Option<PathBuf>,

    /// Context of that cluster; without --host-kubeconfig in the kubeconfig that kubectl uses.
    #[arg(long, global = true, env = "KARMADA_FAILOVER_HOST_CONTEXT", value_name = "NAME")]
    pub host_context: Option<String>,

    /// Namespace of the pods in that cluster.
    #[arg(
        long,
        global = true,
        env = "KARMADA_FAILOVER_HOST_NAMESPACE",
        value_name = "NAME",
        default_value = DEFAULT_SYSTEM_NAMESPACE
    )]
    pub host_namespace: String,

    /// Where the eviction queue serves gRPC. Without it: a port-forward to its leader's pod, where the API server or
    /// --host-kubeconfig has that pod, else what the leader wrote on its Lease.
    #[arg(
        long,
        global = true,
        env = "KARMADA_FAILOVER_QUEUE_ADDRESS",
        value_name = "HOST:PORT"
    )]
    pub queue_address: Option<String>,

    /// How the eviction queue is called.
    #[command(flatten)]
    pub queue: ConnectionFlags,

    /// Namespace of the Leases in the control plane.
    #[arg(
        long,
        global = true,
        env = "KARMADA_FAILOVER_SYSTEM_NAMESPACE",
        value_name = "NAME",
        default_value = DEFAULT_SYSTEM_NAMESPACE
    )]
    pub system_namespace: String,

    /// Look at a file that failoverctl dump wrote instead of a control plane; - is standard input. Goes before all else
    /// that says where to ask.
    #[arg(long, global = true, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// How long to wait for the whole answer.
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_duration, default_value = "30s")]
    pub timeout: Duration,
}

impl Target {
    /// Time limit of one request: a part of the whole, so that one silent server leaves time to ask the others and to
    /// say which one was silent.
    #[must_use]
    pub fn request_timeout(&self) -> Duration {
        self.timeout / 3
    }

    /// The arguments that lead to the same place.
    #[must_use]
    pub fn as_args(&self) -> Vec<String> {
        let file = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let namespace = Some(&self.system_namespace).filter(|namespace| *namespace != DEFAULT_SYSTEM_NAMESPACE);
        let host_namespace = Some(&self.host_namespace).filter(|namespace| *namespace != DEFAULT_SYSTEM_NAMESPACE);
        let queue = &self.queue;
        [
            ("--kubeconfig", file(&self.kubeconfig)),
            ("--context", self.context.clone()),
            ("--host-kubeconfig", file(&self.host_kubeconfig)),
            ("--host-context", self.host_context.clone()),
            ("--host-namespace", host_namespace.cloned()),
            ("--queue-address", self.queue_address.clone()),
            ("--system-namespace", namespace.cloned()),
            ("--queue-ca-file", file(&queue.queue_ca_file)),
            ("--queue-client-cert-file", file(&queue.queue_client_cert_file)),
            ("--queue-client-key-file", file(&queue.queue_client_key_file)),
            ("--queue-server-name", queue.queue_server_name.clone()),
            ("--queue-token-file", file(&queue.queue_token_file)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some([name.to_owned(), value?]))
        .flatten()
        .collect()
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// How fast evictions go and why, what is in the queue, who runs, and what is not done because something is off.
    Status {
        /// Only this cluster.
        cluster: Option<String>,
    },
    /// What waits to be evicted, what became of it, and how to keep it.
    #[command(subcommand)]
    Queue(QueueCommand),
    /// Why something moved, why not, and what would change that.
    #[command(subcommand)]
    Explain(ExplainCommand),
    /// Stop evictions: all, from clusters or of namespaces. Everything is still computed and shown.
    Pause(PauseArgs),
    /// End pauses: what they held back goes on, at the queue's rate.
    Resume(ResumeArgs),
    /// The moves that happened and how each ended, newest first.
    History(HistoryArgs),
    /// What would move if clusters failed, were drained or a policy were in force: where to, when, and what has no place.
    ///
    /// Worked out by the controllers' own functions on what is stored now, in simulated time. Changes nothing. Exit status
    /// 1 when something that has to leave finds no place, or is not released at all.
    Plan(PlanArgs),
    /// Move everything off a cluster that may leave it, at the queue's rate, and follow that until nothing is left.
    ///
    /// Shows first what would move, as plan --drain does. Ctrl-C ends the following and not the drain.
    Drain(DrainArgs),
    /// End the drain of a cluster: what has not left it stays. Nothing comes back by itself.
    Undrain(UndrainArgs),
    /// Write everything that the reading commands read into one file, for people who have no access. It holds no Secret.
    ///
    /// Exit status 1 when something could not be read; the dump says what and why. To look at it: --from FILE.
    Dump(DumpArgs),
    /// Whether policies in files say what their authors most likely meant.
    ///
    /// Looks at ClusterTaintPolicies, PropagationPolicies and ClusterPropagationPolicies, and at whether an API server
    /// takes our other kinds; all else is skipped. Where a control plane can be asked, what only it knows is compared
    /// too. Each finding has a code, which docs/lint.md explains. Exit status 1 when there is an error or a warning.
    Lint(LintArgs),
    /// Whether the control plane is such that failover works on it: what it serves and keeps, what a stock Karmada beside
    /// leaves to us, who runs, who may do what.
    ///
    /// Each check has a code, which docs/checks.md explains. Changes nothing. Exit status 1 when there is a problem.
    Check(CheckArgs),
    /// Print a kubeconfig with a component's own token, for the Secret that its chart mounts.
    Kubeconfig(KubeconfigArgs),
    /// Take everything of ours off a control plane that another Karmada, or nobody, will look after: taints, annotations,
    /// mirror tasks, Leases.
    ///
    /// For when our controllers are gone. Refuses while one runs, and while a workload that is being moved needs a mirror.
    Handback(HandbackArgs),
    /// Print the completion for a shell.
    Completion(CompletionArgs),
    /// Write man pages.
    #[command(hide = true)]
    ManPages(ManArgs),
}

/// Which files.
#[derive(Debug, Clone, Args)]
pub struct LintArgs {
    /// YAML or JSON files, directories that hold some, or - for standard input.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Ask no control plane. Without this, one that is not named by --kubeconfig or --context is asked if it answers.
    #[arg(long)]
    pub offline: bool,

    /// Leave out findings of these codes; may be repeated, or a list with commas.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub ignore: Vec<Code>,

    /// Time between two looks at a cluster, as the flag --cluster-status-update-frequency of the cluster health
    /// controller has it.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s")]
    pub probe_period: Duration,
}

/// What to do with the queue.
#[derive(Debug, Subcommand)]
pub enum QueueCommand {
    /// The entries, lane by lane in their order.
    List(ListArgs),
    /// Everything about the entries of one binding.
    Show(ShowArgs),
    /// Every change as it happens, one line each, until Ctrl-C.
    Watch(WatchArgs),
    /// What became of the entries that were released, newest first.
    Recent(RecentArgs),
    /// Keep workloads where they are: the queue holds their entries, and the bindings get the annotation that says so.
    Drop(DropArgs),
    /// Take drops back: the workloads may leave again.
    Undrop(UndropArgs),
}

/// What to explain.
#[derive(Debug, Subcommand)]
pub enum ExplainCommand {
    /// Why a workload moved or did not.
    Binding {
        /// NAMESPACE/NAME of a ResourceBinding, or NAME of a ClusterResourceBinding.
        #[arg(value_name = "[NAMESPACE/]NAME", value_parser = parse_binding)]
        binding: BindingKey,
    },
    /// How a cluster is, which ClusterTaintPolicies taint it and when, and what keeps them from it.
    Cluster {
        /// Name of a Cluster.
        name: String,
    },
    /// What a ClusterTaintPolicy does on each cluster and when, and what keeps it from it.
    Policy {
        /// Name of a ClusterTaintPolicy.
        name: String,
    },
}

fn parse_binding(text: &str) -> Result<BindingKey, String> {
    let wrong = |why: &str| {
        Err(format!(
            "{why}: give NAMESPACE/NAME, or NAME of a ClusterResourceBinding, as in default/nginx-deployment"
        ))
    };
    match text.split('/').collect::<Vec<_>>()[..] {
        [""] => wrong("the name is empty"),
        [name] => Ok(BindingKey::cluster(name)),
        ["", _] | [_, ""] => wrong("a part is empty"),
        [namespace, name] => Ok(BindingKey::namespaced(namespace, name)),
        _ => wrong("more than one '/'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn bindings_are_named_by_namespace_and_name() {
        assert_eq!(parse_binding("a/b"), Ok(BindingKey::namespaced("a", "b")));
        assert_eq!(parse_binding("b"), Ok(BindingKey::cluster("b")));
        for wrong in ["", "/b", "a/", "a/b/c"] {
            assert!(
                parse_binding(wrong).unwrap_err().contains("default/nginx-deployment"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn cluster_scope_can_be_asked_for() {
        let cli = Cli::try_parse_from(["failoverctl", "queue", "list", "-n", "-", "--state", "Held"]).unwrap();
        let Command::Queue(QueueCommand::List(args)) = cli.command else {
            unreachable!()
        };
        assert_eq!(args.filter.namespace.as_deref(), Some("-"));
        assert_eq!(args.filter.state, Some(StateFilter::Held));
    }
}
