//! Flags of the taint manager and the evictor.

use api_types::policy::PurgeMode;
use clap::{ArgAction, Args, ValueEnum};
use controller_kit::{FeatureGates, Gate, Mode};
use eviction_queue_api::QueueFlags;
use failover_core::eviction::{DeletedClusters, NoExecuteEviction, Switches};
use scheduler_filters::PreEvictionCheck;

use crate::evictor_flags::EvictorFlags;

/// Name of the flag that switches NoExecute evictions, as people write it.
pub(crate) const NO_EXECUTE_FLAG: &str = "--enable-no-execute-taint-eviction";

/// Flags of the controllers `taintManager` and `evictor`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Evictions")]
#[group(skip)]
pub struct Flags {
    /// Whether NoExecute taints move workloads. PreferNoExecute taints and the deletion of a Cluster do either way; the
    /// feature gate Failover stands over all.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_ENABLE_NO_EXECUTE_TAINT_EVICTION",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    pub enable_no_execute_taint_eviction: bool,

    /// What becomes of the old copy where spec.failover.cluster.purgeMode says nothing.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_NO_EXECUTE_TAINT_EVICTION_PURGE_MODE",
        value_name = "MODE",
        default_value = "Gracefully",
        value_enum,
        ignore_case = true
    )]
    pub no_execute_taint_eviction_purge_mode: DefaultPurgeMode,

    /// How many conditions EvictionPending may be written or cleared per second.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_STATUS_WRITES_PER_SECOND",
        value_name = "N",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub status_writes_per_second: u32,

    /// Evictions that are worked on at the same time. The rate is the queue's, whatever this says.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_EVICTION_WORKERS",
        value_name = "N",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub eviction_workers: u32,

    /// What is checked before a workload leaves: whether another cluster may take it, whether it also has room for it, or
    /// nothing.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_PRE_EVICTION_CHECK",
        value_name = "WHAT",
        default_value = "affinity",
        value_enum
    )]
    pub pre_eviction_check: PreCheck,

    /// Whether a FailoverRecord is kept of each move.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_FAILOVER_RECORDS",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    pub failover_records: bool,

    /// Where the eviction queue is, and how it is called.
    #[command(flatten)]
    pub queue: QueueFlags,

    /// On what an eviction waits, and whose plugins are asked.
    #[command(flatten)]
    pub evictor: EvictorFlags,

    /// Flags of Karmada that have no effect here.
    #[command(flatten)]
    pub old: OldFlags,
}

controller_kit::deprecated_flags! {
    /// Flags by which Karmada switches its taint manager and gives policies tolerations that nobody wrote.
    pub struct OldFlags {
        "enable-taint-manager" => "use --controllers=-taintManager to switch the taint manager off; without that it is on",
        "default-not-ready-toleration-seconds" => "no toleration is added that no policy has; write the one for \
            cluster.karmada.io/not-ready into placement.clusterTolerations where it is wanted",
        "default-unreachable-toleration-seconds" => "no toleration is added that no policy has; write the one for \
            cluster.karmada.io/unreachable into placement.clusterTolerations where it is wanted",
    }
}

/// Values of `--no-execute-taint-eviction-purge-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum DefaultPurgeMode {
    /// Deleted when the new copy is healthy.
    #[value(alias = "Graciously")]
    Gracefully,
    /// Deleted before the new copy starts.
    #[value(alias = "Immediately")]
    Directly,
    /// Kept until a person acts.
    Never,
}

/// Values of `--pre-eviction-check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PreCheck {
    /// Whether another cluster may take the workload.
    Affinity,
    /// The same, and whether the free resources that it reports cover the replicas that would come.
    Capacity,
    /// Nothing.
    Off,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            enable_no_execute_taint_eviction: true,
            no_execute_taint_eviction_purge_mode: DefaultPurgeMode::Gracefully,
            status_writes_per_second: 20,
            eviction_workers: 8,
            pre_eviction_check: PreCheck::Affinity,
            failover_records: true,
            queue: QueueFlags::default(),
            evictor: EvictorFlags::default(),
            old: OldFlags::default(),
        }
    }
}

impl Flags {
    pub(crate) fn switches(&self, gates: &FeatureGates, mode: Mode) -> Switches {
        Switches {
            deleted_clusters: if mode.is_beside() {
                DeletedClusters::LeftToStock
            } else {
                DeletedClusters::Evicted
            },
            failover: gates.enabled(Gate::Failover).into(),
            no_execute: if self.enable_no_execute_taint_eviction {
                NoExecuteEviction::On
            } else {
                NoExecuteEviction::Off
            },
            default_purge_mode: match self.no_execute_taint_eviction_purge_mode {
                DefaultPurgeMode::Gracefully => PurgeMode::Gracefully,
                DefaultPurgeMode::Directly => PurgeMode::Directly,
                DefaultPurgeMode::Never => PurgeMode::Never,
            },
        }
    }

    pub(crate) fn check(&self) -> PreEvictionCheck {
        match self.pre_eviction_check {
            PreCheck::Affinity => PreEvictionCheck::Affinity,
            PreCheck::Capacity => PreEvictionCheck::Capacity,
            PreCheck::Off => PreEvictionCheck::Off,
        }
    }

    /// What makes no sense; the process does not start with it.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.queue.problems()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.old.warnings();
        if !self.enable_no_execute_taint_eviction {
            warnings.push(format!("{NO_EXECUTE_FLAG}=false: NoExecute taints move no workload"));
        }
        if self.pre_eviction_check == PreCheck::Off {
            warnings.push(
                "--pre-eviction-check=off: workloads leave faulty clusters also when nothing can take them".into(),
            );
        }
        warnings
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

    fn parse(args: &[&str]) -> Result<Flags, String> {
        let args = std::iter::once("taint-manager").chain(args.iter().copied());
        Cli::try_parse_from(args)
            .map(|cli| cli.flags)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn stock_s_spellings_are_taken() {
        let flags = parse(&[
            "--enable-no-execute-taint-eviction=false",
            "--no-execute-taint-eviction-purge-mode=Graciously",
        ])
        .unwrap();
        assert!(!flags.enable_no_execute_taint_eviction);
        assert_eq!(flags.no_execute_taint_eviction_purge_mode, DefaultPurgeMode::Gracefully);
        assert!(
            parse(&["--enable-no-execute-taint-eviction"])
                .unwrap()
                .enable_no_execute_taint_eviction
        );
        let error = parse(&["--no-execute-taint-eviction-purge-mode=Soon"]).unwrap_err();
        assert!(error.contains("Gracefully, Directly, Never"), "{error}");
    }

    #[test]
    fn karmada_s_flags_without_effect_are_taken_with_a_warning_each() {
        let flags = parse(&[
            "--enable-taint-manager=false",
            "--default-not-ready-toleration-seconds=300",
            "--default-unreachable-toleration-seconds=300",
        ])
        .unwrap();
        let warnings = flags.warnings();
        assert_eq!(warnings.len(), 3, "{warnings:#?}");
        assert!(warnings[0].contains("--controllers=-taintManager"), "{warnings:#?}");
        assert!(warnings[1].contains("placement.clusterTolerations"), "{warnings:#?}");
        assert!(!warnings[1].contains("  "), "{warnings:#?}");
    }

    #[test]
    fn what_nothing_could_work_with_is_refused() {
        assert!(parse(&["--eviction-workers=0"]).is_err());
        assert!(parse(&["--status-writes-per-second=0"]).is_err());
    }

    #[test]
    fn the_defaults_are_those_of_the_command_line() {
        assert_eq!(format!("{:?}", parse(&[]).unwrap()), format!("{:?}", Flags::default()));
    }
}
