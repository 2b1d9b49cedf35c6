//! What the controller is given from outside: plugins, and what it has in common with other controllers.

use std::time::Duration;

use clap::{ArgAction, Args};
use controller_kit::durations::parse_duration;
use failover_core::graceful::EvictPlugins;
use scheduler_filters::{Registry, Schedulers};

/// How long the end of an old copy is waited for, unless a flag says otherwise.
const DIRECTLY_UNREACHABLE_WAIT: Duration = Duration::from_secs(30);

/// Whether a FailoverRecord is kept of each move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordKeeping {
    /// One is: made up where it is missing, closed when the move ends, pruned.
    #[default]
    On,
    /// None is written, closed or deleted.
    Off,
}

/// What the controller is given from outside.
#[derive(Clone, Debug)]
pub struct Wiring {
    /// The plugins that `--evict-plugins` can name; all are on by default.
    pub plugins: EvictPlugins,
    /// The plugins of the schedulers that bindings name: they are asked, beside a stock Karmada, before a copy comes back.
    pub schedulers: Schedulers,
    /// Whether records are kept.
    pub records: RecordKeeping,
    /// How long the end of an old copy (Directly) on a cluster that does not answer is waited for, beside a stock Karmada.
    pub directly_unreachable_wait: Duration,
}

impl Default for Wiring {
    fn default() -> Self {
        Self {
            plugins: EvictPlugins::all(),
            schedulers: Schedulers::default(),
            records: RecordKeeping::On,
            directly_unreachable_wait: DIRECTLY_UNREACHABLE_WAIT,
        }
    }
}

impl Wiring {
    /// The same with these plugins.
    #[must_use]
    pub fn with_plugins(mut self, plugins: EvictPlugins) -> Self {
        self.plugins = plugins;
        self
    }
}

/// Flags of this controller's own binary that other components have, too: where these run in one process, there is one
/// flag for all.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Graceful eviction")]
#[group(skip)]
pub struct SharedFlags {
    /// Whether a FailoverRecord is kept of each move: as for the evictor.
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

    /// With --beside-stock: how long a new copy waits for the end of the old one (purgeMode Directly) when the old one's
    /// cluster does not answer.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_DIRECTLY_UNREACHABLE_WAIT",
        value_name = "DURATION",
        value_parser = parse_duration,
        default_value = "30s"
    )]
    pub directly_unreachable_wait: Duration,

    /// With --beside-stock: the plugins of a scheduler, as its own --plugins has them: NAME=LIST, as for the evictor;
    /// several are separated by `;`.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_SCHEDULER_PLUGINS",
        value_name = "NAME=LIST",
        value_delimiter = ';'
    )]
    pub scheduler_plugins: Vec<String>,
}

impl Default for SharedFlags {
    fn default() -> Self {
        Self {
            failover_records: true,
            directly_unreachable_wait: DIRECTLY_UNREACHABLE_WAIT,
            scheduler_plugins: Vec::new(),
        }
    }
}

impl SharedFlags {
    /// What these flags give the controller.
    ///
    /// # Errors
    /// One sentence for each value of `--scheduler-plugins` that cannot be read.
    pub fn wiring(&self) -> Result<Wiring, Vec<String>> {
        let lists = &self.scheduler_plugins;
        Ok(Wiring {
            schedulers: Schedulers::default().with_lists("--scheduler-plugins", lists, &Registry::builtin())?,
            records: if self.failover_records {
                RecordKeeping::On
            } else {
                RecordKeeping::Off
            },
            directly_unreachable_wait: self.directly_unreachable_wait,
            ..Wiring::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flags;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        flags: Flags,
        #[command(flatten)]
        shared: SharedFlags,
    }

    fn parse(args: &[&str]) -> Cli {
        let args = std::iter::once("graceful-eviction-controller").chain(args.iter().copied());
        Cli::try_parse_from(args).unwrap()
    }

    #[test]
    fn the_defaults_are_those_of_the_command_line() {
        let parsed = parse(&[]);
        assert_eq!(format!("{:?}", parsed.shared), format!("{:?}", SharedFlags::default()));
        assert_eq!(format!("{:?}", parsed.flags), format!("{:?}", Flags::default()));
    }

    #[test]
    fn what_the_flags_say_is_wired() {
        let args = [
            "--failover-records=false",
            "--directly-unreachable-wait=5s",
            "--scheduler-plugins=mine=APIEnablement",
        ];
        let wiring = parse(&args).shared.wiring().unwrap();
        assert_eq!(
            (wiring.records, wiring.directly_unreachable_wait),
            (RecordKeeping::Off, Duration::from_secs(5))
        );
        assert!(format!("{:?}", wiring.schedulers).contains("\"mine\""));
        let problems = parse(&["--scheduler-plugins=mine=Gone"]).shared.wiring().unwrap_err();
        assert!(
            problems[0].starts_with("--scheduler-plugins=mine=Gone: unknown: Gone; known are APIEnablement, "),
            "{problems:?}"
        );
    }

    #[test]
    fn the_wait_counts_beside_stock_alone() {
        let wiring = Wiring::default();
        let wait = |args: &[&str]| parse(args).flags.settings(&wiring).unwrap().unreachable_wait;
        assert_eq!(wait(&[]), None);
        assert_eq!(wait(&["--beside-stock"]), Some(Duration::from_secs(30)));
    }
}
