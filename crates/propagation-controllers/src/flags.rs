//! The command line of these controllers.

use std::time::Duration;

use controller_kit::durations::parse_duration;
use regex::Regex;

use crate::kinds::SkippedApi;

/// Flags of propagation.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Propagation")]
#[group(skip)]
pub struct Flags {
    /// Namespaces that are not carried to members and whose objects are not propagated: regular expressions over the
    /// whole name, separated by commas. Always left out: karmada-system, karmada-cluster, karmada-es-*.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_SKIPPED_PROPAGATING_NAMESPACES",
        value_name = "REGEX",
        value_delimiter = ',',
        default_value = "kube-.*"
    )]
    pub skipped_propagating_namespaces: Vec<Regex>,
    /// APIs whose objects are not propagated, separated by semicolons: GROUP, GROUP/VERSION or GROUP/VERSION/KIND,KIND, and
    /// v1 or v1/KIND for the core group. Always left out: events, leases, nodes, endpoints and what else each API server
    /// makes for itself, and all of karmada.io.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_SKIPPED_PROPAGATING_APIS",
        value_name = "API",
        value_delimiter = ';'
    )]
    pub skipped_propagating_apis: Vec<SkippedApi>,
    /// How long a new copy waits for the end of the old one (purgeMode Directly) when the old one's cluster does not
    /// answer.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_DIRECTLY_UNREACHABLE_WAIT",
        value_name = "DURATION",
        value_parser = parse_duration,
        default_value = "30s"
    )]
    pub directly_unreachable_wait: Duration,
    /// How long the health of a copy is shown as it was reported last after its cluster stopped being Ready; then it is
    /// Unknown. Decisions do not wait for it: they look at the cluster.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_STALE_HEALTH_GRACE_PERIOD",
        value_name = "DURATION",
        value_parser = parse_duration,
        default_value = "1m"
    )]
    pub stale_health_grace_period: Duration,
    /// How members are worked on.
    #[command(flatten)]
    pub member: MemberFlags,
    /// Templates matched with policies at the same time.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_RESOURCE_TEMPLATE_SYNCS",
        value_name = "N",
        default_value_t = 5
    )]
    pub concurrent_resource_template_syncs: usize,
    /// Bindings whose dependencies are carried along, at the same time.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_DEPENDENT_RESOURCE_SYNCS",
        value_name = "N",
        default_value_t = 2
    )]
    pub concurrent_dependent_resource_syncs: usize,
    /// Bindings turned into Works, and gathered status, at the same time.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_BINDING_SYNCS",
        value_name = "N",
        default_value_t = 5
    )]
    pub concurrent_binding_syncs: usize,
}

/// Flags of `execution` and `workStatus`, the same in the control plane and in an agent.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct MemberFlags {
    /// Time limit of a request to a member cluster for applying, deleting and reading objects.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_MEMBER_OBJECT_TIMEOUT",
        value_name = "DURATION",
        value_parser = parse_duration,
        default_value = "10s"
    )]
    pub member_object_timeout: Duration,
    /// Works applied to one member at the same time.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_WORK_SYNCS",
        value_name = "N",
        default_value_t = 5
    )]
    pub concurrent_work_syncs: usize,
}

impl Default for MemberFlags {
    fn default() -> Self {
        Self {
            member_object_timeout: Duration::from_secs(10),
            concurrent_work_syncs: 5,
        }
    }
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            // The flag's default, which a test reads with the parser.
            skipped_propagating_namespaces: Regex::new("kube-.*").into_iter().collect(),
            skipped_propagating_apis: Vec::new(),
            directly_unreachable_wait: Duration::from_secs(30),
            stale_health_grace_period: Duration::from_secs(60),
            member: MemberFlags::default(),
            concurrent_resource_template_syncs: 5,
            concurrent_dependent_resource_syncs: 2,
            concurrent_binding_syncs: 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        flags: Flags,
    }

    #[test]
    fn defaults_of_the_type_are_those_of_the_flags() {
        let parsed = Cli::parse_from(["x"]).flags;
        assert_eq!(format!("{parsed:?}"), format!("{:?}", Flags::default()));
    }

    #[test]
    fn a_bad_expression_is_refused() {
        assert!(Cli::try_parse_from(["x", "--skipped-propagating-namespaces", "a("]).is_err());
    }
}
