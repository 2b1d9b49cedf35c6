//! The queue's flags.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use controller_kit::Clock;
use controller_kit::durations::parse_duration;
use eviction_queue_api::memory::MemoryNetwork;
use failover_core::eviction::queue::QueueSettings;
use failover_core::eviction::regime::RegimeSettings;

use crate::access::AccessFlags;
use crate::rates::Rates;

/// Flags of the eviction queue.
#[derive(Args, Clone, Debug)]
#[group(skip)]
#[command(next_help_heading = "Eviction queue")]
pub struct Flags {
    /// Evictions per second while at most --unhealthy-cluster-threshold of the clusters are faulty; 0 stops.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_RESOURCE_EVICTION_RATE",
        default_value_t = 0.5,
        value_name = "PER_SECOND"
    )]
    pub resource_eviction_rate: f64,
    /// Evictions per second while more clusters of a large fleet are faulty; 0 stops.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_SECONDARY_RESOURCE_EVICTION_RATE",
        default_value_t = 0.1,
        value_name = "PER_SECOND"
    )]
    pub secondary_resource_eviction_rate: f64,
    /// Share of faulty clusters above which the rate changes, in (0, 1].
    #[arg(
        long,
        env = "KARMADA_FAILOVER_UNHEALTHY_CLUSTER_THRESHOLD",
        default_value_t = 0.55,
        value_name = "SHARE"
    )]
    pub unhealthy_cluster_threshold: f64,
    /// A fleet of more clusters is large: above the threshold it evicts at the secondary rate, a smaller one not at all.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_LARGE_CLUSTER_NUM_THRESHOLD",
        default_value_t = 10,
        value_name = "CLUSTERS"
    )]
    pub large_cluster_num_threshold: usize,
    /// Keys of taints that make no cluster faulty, such as those of a drain.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_NON_FAILURE_TAINT_KEYS",
        value_delimiter = ',',
        default_value = api_types::names::taint::DRAIN,
        value_name = "KEYS"
    )]
    pub non_failure_taint_keys: Vec<String>,
    /// Evictions that may be in the hands of evictors at once; by default two seconds' worth of the rate, at least 1.
    #[arg(long, env = "KARMADA_FAILOVER_MAX_OUTSTANDING_LEASES", value_name = "LEASES")]
    pub max_outstanding_leases: Option<usize>,
    /// YAML file with any of resourceEvictionRate, secondaryResourceEvictionRate, unhealthyClusterThreshold,
    /// largeClusterNumThreshold and maxOutstandingLeases. Each goes before its flag, and a change is in force within a second,
    /// without a restart.
    #[arg(long, env = "KARMADA_FAILOVER_RATE_FILE", value_name = "FILE")]
    pub rate_file: Option<PathBuf>,
    /// How long an evictor may work on an entry without renewing its lease.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_EVICTION_LEASE_DURATION",
        default_value = "30s",
        value_parser = parse_duration,
        value_name = "DURATION"
    )]
    pub eviction_lease_duration: Duration,
    /// How long a new leader releases nothing.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_LEADER_GRACE",
        default_value = "10s",
        value_parser = parse_duration,
        value_name = "DURATION"
    )]
    pub leader_grace: Duration,
    /// How long the entries of a producer count as before while nothing whole is heard of it: from when its connection was lost
    /// until its whole set has come over another, however often it connects meanwhile.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_PRODUCER_GRACE",
        default_value = "30s",
        value_parser = parse_duration,
        value_name = "DURATION"
    )]
    pub producer_grace: Duration,
    /// After how long without a connection they are dropped.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_PRODUCER_RETENTION",
        default_value = "1h",
        value_parser = parse_duration,
        value_name = "DURATION"
    )]
    pub producer_retention: Duration,
    /// What is ready longer than this goes before all younger entries of its cluster, whatever their priority.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_STARVATION_LIMIT",
        default_value = "10m",
        value_parser = parse_duration,
        value_name = "DURATION"
    )]
    pub starvation_limit: Duration,
    /// The most entries that the queue holds.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_MAX_ENTRIES",
        default_value_t = 1_000_000,
        value_name = "ENTRIES"
    )]
    pub max_entries: usize,
    /// Where the gRPC API is served. Without TLS only a loopback address is taken.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_QUEUE_BIND_ADDRESS",
        default_value = "127.0.0.1:9443",
        value_name = "HOST:PORT"
    )]
    pub queue_bind_address: SocketAddr,
    /// Address under which others reach the gRPC API; by default the one it is served at.
    #[arg(long, env = "KARMADA_FAILOVER_QUEUE_ADVERTISE_ADDRESS", value_name = "HOST:PORT")]
    pub queue_advertise_address: Option<String>,
    /// Who may call.
    #[command(flatten)]
    pub access: AccessFlags,
    /// How connections are made.
    #[arg(skip)]
    pub transport: Transport,
}

/// How connections to the queue are made.
#[derive(Clone, Debug, Default)]
pub enum Transport {
    /// Sockets.
    #[default]
    Tcp,
    /// A network inside the process; the advertised address names the port in it.
    Memory(MemoryNetwork),
}

impl Default for Flags {
    /// As without any flag, but on any free port.
    fn default() -> Self {
        let (queue, regime) = (QueueSettings::default(), RegimeSettings::default());
        Self {
            resource_eviction_rate: regime.primary_rate,
            secondary_resource_eviction_rate: regime.secondary_rate,
            unhealthy_cluster_threshold: regime.unhealthy_threshold,
            large_cluster_num_threshold: regime.large_cluster_num_threshold,
            non_failure_taint_keys: regime.non_failure_taint_keys.into_iter().collect(),
            max_outstanding_leases: None,
            rate_file: None,
            eviction_lease_duration: queue.lease_duration,
            leader_grace: queue.leader_grace,
            producer_grace: queue.producer_grace,
            producer_retention: queue.producer_retention,
            starvation_limit: queue.starvation_limit,
            max_entries: queue.max_entries,
            queue_bind_address: SocketAddr::from(([127, 0, 0, 1], 0)),
            queue_advertise_address: None,
            access: AccessFlags::default(),
            transport: Transport::Tcp,
        }
    }
}

impl Flags {
    /// The queue's settings.
    #[must_use]
    pub fn settings(&self) -> QueueSettings {
        QueueSettings {
            regime: RegimeSettings {
                primary_rate: self.resource_eviction_rate,
                secondary_rate: self.secondary_resource_eviction_rate,
                unhealthy_threshold: self.unhealthy_cluster_threshold,
                large_cluster_num_threshold: self.large_cluster_num_threshold,
                non_failure_taint_keys: self.non_failure_taint_keys.iter().cloned().collect(),
            },
            max_outstanding_leases: self.max_outstanding_leases,
            lease_duration: self.eviction_lease_duration,
            leader_grace: self.leader_grace,
            producer_grace: self.producer_grace,
            producer_retention: self.producer_retention,
            starvation_limit: self.starvation_limit,
            max_entries: self.max_entries,
            ..QueueSettings::default()
        }
    }

    /// What makes no sense; the process does not start with it.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        problems.extend(self.settings().rates().problems().iter().map(ToString::to_string));
        // Over flags that make no sense the file cannot be judged: what is wrong would look like its own.
        if problems.is_empty() {
            problems.extend(Rates::of(self).refused());
        }
        let lease = self.eviction_lease_duration;
        if lease < Duration::from_secs(5) || lease > Duration::from_secs(55) {
            problems.push(format!(
                "--eviction-lease-duration={lease:?}: want 5s to 55s; a mirror task outlives a lease because it stays for a minute"
            ));
        }
        if self.max_entries == 0 {
            problems.push("--max-entries=0: want at least 1".to_owned());
        }
        if self.queue_bind_address.ip().is_unspecified() && self.queue_advertise_address.is_none() {
            problems.push(format!(
                "--queue-bind-address={}: others cannot tell from it where to call; give --queue-advertise-address",
                self.queue_bind_address
            ));
        }
        // Flags are judged before there is a process with a clock of its own.
        problems.extend(self.access.problems(self.queue_bind_address, &Clock::system()));
        problems
    }

    /// What is odd but allowed.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        Rates::of(self).in_force().warnings()
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

    fn parsed(arguments: &[&str]) -> Flags {
        Cli::try_parse_from(["queue"].iter().chain(arguments)).unwrap().flags
    }

    #[test]
    fn defaults_are_the_documents() {
        let flags = parsed(&[]);
        assert_eq!(flags.settings(), QueueSettings::default());
        assert!(flags.problems().is_empty() && flags.warnings().is_empty());
        assert_eq!(flags.queue_bind_address.to_string(), "127.0.0.1:9443");
    }

    #[test]
    fn help_has_them_under_a_heading_of_their_own() {
        use clap::CommandFactory;
        let command = Cli::command();
        let stray: Vec<_> = command
            .get_arguments()
            .filter(|argument| argument.get_id() != "help" && argument.get_help_heading() != Some("Eviction queue"))
            .collect();
        assert!(stray.is_empty(), "{stray:?}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_all_at_once() {
        let flags = parsed(&[
            "--resource-eviction-rate=-1",
            "--secondary-resource-eviction-rate=NaN",
            "--unhealthy-cluster-threshold=0",
            "--max-outstanding-leases=0",
            "--queue-bind-address=192.0.2.1:9443",
        ]);
        let problems = flags.problems();
        assert_eq!(problems.len(), 5, "{problems:#?}");
        assert!(problems.iter().all(|problem| problem.starts_with("--")));
    }

    #[test]
    fn a_secondary_rate_above_the_primary_is_a_warning() {
        let flags = parsed(&["--secondary-resource-eviction-rate=2"]);
        assert!(flags.problems().is_empty());
        assert_eq!(flags.warnings().len(), 1);
    }
}
