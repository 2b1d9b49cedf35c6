//! The flags that every binary has.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use crate::durations::parse_duration;
use crate::informer::InformerOptions;
use crate::leader::LeaseTiming;

/// The namespace of leases unless set otherwise.
pub const DEFAULT_SYSTEM_NAMESPACE: &str = "karmada-system";

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where `/healthz`, `/readyz` and `/metrics` are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminAddress {
    /// Nowhere.
    Off,
    /// There.
    At(SocketAddr),
}

impl std::str::FromStr for AdminAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if matches!(text, "0" | "off") {
            return Ok(Self::Off);
        }
        // `:8080` as Kubernetes components take it.
        let full = if text.starts_with(':') {
            format!("0.0.0.0{text}")
        } else {
            text.to_owned()
        };
        full.parse()
            .map(Self::At)
            .map_err(|_| format!("{text:?} is not HOST:PORT (0 switches it off)"))
    }
}

/// Flags of every binary; each can also come from its environment variable.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common")]
pub struct KitFlags {
    /// Kubeconfig of the control plane. Without it: $KUBECONFIG, then the pod's service account, then ~/.kube/config.
    #[arg(long, env = "KARMADA_FAILOVER_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Context in the kubeconfig; its current one if not given.
    #[arg(long, env = "KARMADA_FAILOVER_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,

    /// Controllers to run: `*` = all that are on by default, NAME = on, -NAME = off. A name wins over `*`; of two
    /// mentions of one name the first wins.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONTROLLERS",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "*",
        allow_hyphen_values = true
    )]
    pub controllers: Vec<String>,

    /// Switches as NAME=true|false, separated by commas: Failover (default false) lets faulty clusters cause moves.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_FEATURE_GATES",
        value_name = "LIST",
        value_delimiter = ','
    )]
    pub feature_gates: Vec<String>,

    /// Namespace of the leases in the control plane.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_SYSTEM_NAMESPACE",
        value_name = "NAME",
        default_value = DEFAULT_SYSTEM_NAMESPACE
    )]
    pub system_namespace: String,

    /// Whether controllers take their Lease first. Off only when nothing else can run the same controllers.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_LEADER_ELECT",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    pub leader_elect: bool,

    /// How long a lease is good without a renewal.
    #[arg(long, env = "KARMADA_FAILOVER_LEADER_ELECT_LEASE_DURATION", value_name = "DURATION",
          value_parser = parse_duration, default_value = "15s")]
    pub leader_elect_lease_duration: Duration,

    /// A leader that could not renew for this long ends its process.
    #[arg(long, env = "KARMADA_FAILOVER_LEADER_ELECT_RENEW_DEADLINE", value_name = "DURATION",
          value_parser = parse_duration, default_value = "10s")]
    pub leader_elect_renew_deadline: Duration,

    /// Time between renewals of a lease, and between a candidate's looks at it.
    #[arg(long, env = "KARMADA_FAILOVER_LEADER_ELECT_RETRY_PERIOD", value_name = "DURATION",
          value_parser = parse_duration, default_value = "5s")]
    pub leader_elect_retry_period: Duration,

    /// Address of /healthz, /readyz and /metrics; 0 switches them off.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_ADMIN_BIND_ADDRESS",
        value_name = "HOST:PORT",
        default_value = "0.0.0.0:8080"
    )]
    pub admin_bind_address: AdminAddress,

    /// Time limit of a request to the control plane that is not a watch.
    #[arg(long, env = "KARMADA_FAILOVER_REQUEST_TIMEOUT", value_name = "DURATION",
          value_parser = parse_duration, default_value = "30s")]
    pub request_timeout: Duration,

    /// How often everything is listed anew, to find what a watch missed.
    #[arg(long, env = "KARMADA_FAILOVER_RELIST_INTERVAL", value_name = "DURATION",
          value_parser = parse_duration, default_value = "2h")]
    pub relist_interval: Duration,

    /// How log lines look.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value = "text"
    )]
    pub log_format: LogFormat,

    /// What is logged: a level, or filters as in `info,kube_client=debug`.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_LOG_LEVEL",
        value_name = "FILTER",
        default_value = "info"
    )]
    pub log_level: String,

    /// Where traces are sent (OTLP over gRPC), as in http://localhost:4317. Off without it.
    #[arg(long, env = "KARMADA_FAILOVER_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<String>,
}

impl Default for KitFlags {
    /// The defaults of the command line, without looking at the environment, and without an admin server: what tests
    /// start from.
    fn default() -> Self {
        let lease = LeaseTiming::default();
        Self {
            kubeconfig: None,
            context: None,
            controllers: vec!["*".to_owned()],
            feature_gates: Vec::new(),
            system_namespace: DEFAULT_SYSTEM_NAMESPACE.to_owned(),
            leader_elect: true,
            leader_elect_lease_duration: lease.duration,
            leader_elect_renew_deadline: lease.renew_deadline,
            leader_elect_retry_period: lease.renew_every,
            admin_bind_address: AdminAddress::Off,
            request_timeout: Duration::from_secs(30),
            relist_interval: InformerOptions::default().relist_every,
            log_format: LogFormat::Text,
            log_level: "info".to_owned(),
            otlp_endpoint: None,
        }
    }
}

impl KitFlags {
    /// The same flags with `--controllers=LIST`.
    #[must_use]
    pub fn with_controllers(mut self, list: &str) -> Self {
        self.controllers = list.split(',').map(str::to_owned).collect();
        self
    }

    /// The same flags with `--feature-gates=LIST`.
    #[must_use]
    pub fn with_feature_gates(mut self, list: &str) -> Self {
        self.feature_gates = list.split(',').map(str::to_owned).collect();
        self
    }

    pub(crate) fn lease_timing(&self) -> LeaseTiming {
        LeaseTiming {
            duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            renew_every: self.leader_elect_retry_period,
        }
    }

    pub(crate) fn informer_options(&self) -> InformerOptions {
        InformerOptions {
            relist_every: self.relist_interval,
            request_timeout: self.request_timeout.max(Duration::from_secs(1)),
            ..InformerOptions::default()
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
        kit: KitFlags,
    }

    fn parse(args: &[&str]) -> KitFlags {
        Cli::try_parse_from([&["x"], args].concat()).unwrap().kit
    }

    #[test]
    fn the_command_line_and_the_default_agree() {
        let parsed = KitFlags {
            admin_bind_address: AdminAddress::Off,
            ..parse(&[])
        };
        assert_eq!(format!("{parsed:?}"), format!("{:?}", KitFlags::default()));
    }

    #[test]
    fn lists_may_begin_with_a_minus() {
        assert_eq!(parse(&["--controllers", "-evictor,*"]).controllers, ["-evictor", "*"]);
        assert_eq!(parse(&["--controllers=-evictor"]).controllers, ["-evictor"]);
        assert_eq!(
            parse(&["--feature-gates=Failover=true,GracefulEviction=true"])
                .feature_gates
                .len(),
            2
        );
    }

    #[test]
    fn leader_election_can_be_switched_off() {
        assert!(parse(&[]).leader_elect);
        assert!(parse(&["--leader-elect"]).leader_elect);
        assert!(!parse(&["--leader-elect=false"]).leader_elect);
    }

    #[test]
    fn admin_addresses() {
        let at = |text: &str| parse(&["--admin-bind-address", text]).admin_bind_address;
        assert_eq!(at("0"), AdminAddress::Off);
        assert_eq!(at(":9000"), AdminAddress::At("0.0.0.0:9000".parse().unwrap()));
        assert_eq!(at("[::1]:9000"), AdminAddress::At("[::1]:9000".parse().unwrap()));
        assert!(Cli::try_parse_from(["x", "--admin-bind-address=nowhere"]).is_err());
    }
}
