//! Flags of the agent; names and defaults are those of Karmada's agent where it has them.

use std::path::PathBuf;
use std::process::ExitCode;

use api_types::ClusterName;
use clap::{Args, ValueEnum};
use cluster_health_controller::{LeaseFlags, StatusFlags};
use controller_kit::MemberAccess;
use propagation_controllers::MemberFlags;
use serde_json::json;

use crate::rights;

/// The longest name of a Cluster: `karmada-es-NAME` has to be a namespace's.
const LONGEST_NAME: usize = 48;

/// Flags of the agent.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Agent")]
#[group(skip)]
pub struct Flags {
    /// Name of the Cluster object of this member. Required.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CLUSTER_NAME",
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub cluster_name: String,

    /// Kubeconfig of the member. Without it: the pod's service account.
    #[arg(long, env = "KARMADA_FAILOVER_MEMBER_KUBECONFIG", value_name = "FILE")]
    pub member_kubeconfig: Option<PathBuf>,

    /// Context in the member's kubeconfig; its current one if not given.
    #[arg(long, env = "KARMADA_FAILOVER_MEMBER_CONTEXT", value_name = "NAME")]
    pub member_context: Option<String>,

    /// URL of the member's API server, for the Cluster object that the agent makes; people's tools use it.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_API_ENDPOINT", value_name = "URL")]
    pub cluster_api_endpoint: Option<String>,

    /// URL of a proxy towards the member, for the Cluster object that the agent makes.
    #[arg(long, env = "KARMADA_FAILOVER_PROXY_SERVER_ADDRESS", value_name = "URL")]
    pub proxy_server_address: Option<String>,

    /// Provider of the member, for the Cluster object that the agent makes.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_PROVIDER", value_name = "NAME")]
    pub cluster_provider: Option<String>,

    /// Region of the member, for the Cluster object that the agent makes.
    #[arg(long, env = "KARMADA_FAILOVER_CLUSTER_REGION", value_name = "NAME")]
    pub cluster_region: Option<String>,

    /// Zones of the member, for the Cluster object that the agent makes.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CLUSTER_ZONES",
        value_name = "LIST",
        value_delimiter = ','
    )]
    pub cluster_zones: Vec<String>,

    /// How the member is probed.
    #[command(flatten)]
    pub status: StatusFlags,

    /// The member's Lease.
    #[command(flatten)]
    pub lease: LeaseFlags,

    /// How Works are applied.
    #[command(flatten)]
    pub member: MemberFlags,

    /// Print the rights that the agent needs, as a list for `kubectl apply -f -`, and end.
    #[arg(long, value_name = "WHERE", value_enum)]
    pub print_rights: Option<Where>,

    /// Flags of Karmada that have no effect here.
    #[command(flatten)]
    pub old: OldFlags,
}

/// On which of its two API servers the agent needs rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Where {
    /// Those on the control plane, for the service account NAME-agent in --system-namespace.
    ControlPlane,
    /// Those on the member, for the service account agent in --system-namespace.
    Member,
}

controller_kit::deprecated_flags! {
    /// Flags of Karmada's agent that have no effect here.
    pub struct OldFlags {
        "report-secrets" => "no credentials of the member are given to the control plane",
        "cluster-namespace" => "no credentials are kept, and the member's Lease stands in karmada-cluster as with Karmada",
        "enable-cluster-resource-modeling" => "resources are always summed up, and nodes never graded",
    }
}

impl Flags {
    pub(crate) fn cluster(&self) -> ClusterName {
        ClusterName::from(self.cluster_name.as_str())
    }

    /// How the member is reached.
    #[must_use]
    pub fn member_access(&self) -> MemberAccess {
        MemberAccess {
            kubeconfig: self.member_kubeconfig.clone(),
            context: self.member_context.clone(),
        }
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.name_problem();
        problems.extend(self.status.problems());
        problems.extend(self.lease.problems());
        problems
    }

    fn name_problem(&self) -> Vec<String> {
        let name = &self.cluster_name;
        let label = |name: &str| {
            let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            name.chars().all(inner) && !name.starts_with('-') && !name.ends_with('-')
        };
        if name.is_empty() {
            vec!["--cluster-name is missing: it names the Cluster object of this member".to_owned()]
        } else if !label(name) || name.len() > LONGEST_NAME {
            vec![format!(
                "--cluster-name {name:?} cannot be a Cluster's: it takes at most {LONGEST_NAME} lower case letters, digits \
                 and '-'"
            )]
        } else {
            Vec::new()
        }
    }

    /// Prints the rights that are asked for; nothing when none are. Service accounts, and the Leases of controllers, are in
    /// `system_namespace`.
    #[must_use]
    #[expect(
        clippy::print_stdout,
        clippy::print_stderr,
        reason = "what is printed is what was asked for"
    )]
    pub fn print_rights(&self, system_namespace: &str) -> Option<ExitCode> {
        let wanted = self.print_rights?;
        if let Some(problem) = self.name_problem().first() {
            eprintln!("agent: error: {problem}");
            return Some(ExitCode::from(2));
        }
        let objects = match wanted {
            Where::ControlPlane => {
                let account = format!("{}-agent", self.cluster_name);
                let rights = rights::control_plane(&self.cluster(), system_namespace);
                rights.objects(&rights::service_account(&account, system_namespace))
            }
            Where::Member => rights::member().objects(&rights::service_account("agent", system_namespace)),
        };
        println!("{:#}", json!({"apiVersion": "v1", "kind": "List", "items": objects}));
        Some(ExitCode::SUCCESS)
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
    fn defaults_are_karmadas() {
        let parsed = Cli::parse_from(["x"]).flags;
        assert_eq!(format!("{parsed:?}"), format!("{:?}", Flags::default()));
    }

    #[test]
    fn a_name_must_be_one() {
        let problems = |name: &str| {
            Cli::parse_from(["x".to_owned(), format!("--cluster-name={name}")])
                .flags
                .problems()
        };
        assert_eq!(problems("member-1"), [""; 0]);
        for wrong in ["", "Member", "a.b", "-a", "a-", &"a".repeat(49)] {
            assert_eq!(problems(wrong).len(), 1, "{wrong}");
        }
    }
}
