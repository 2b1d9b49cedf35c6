//! Flags of the evictor alone: on what an eviction waits, and whose plugins are asked.

use std::time::Duration;

use clap::Args;
use controller_kit::durations::parse_duration;
use scheduler_filters::{Registry, Schedulers};

/// Default of `--state-preservation-wait`.
const STATE_PRESERVATION_WAIT: Duration = Duration::from_secs(60);

/// Default of `--second-owner-hold`.
const SECOND_OWNER_HOLD: Duration = Duration::from_secs(5 * 60);

/// Flags of the controller `evictor`.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub struct EvictorFlags {
    /// How long after its due time an eviction waits for state that a policy wants preserved and the cluster has not
    /// reported. Then the workload leaves without it.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_STATE_PRESERVATION_WAIT",
        value_name = "DURATION",
        value_parser = parse_duration,
        default_value = "60s"
    )]
    pub state_preservation_wait: Duration,

    /// For how long after the last sign that a stock controller does the same job (a task or an Event of it) evictions for
    /// that job are held where it was seen: in that namespace, or of bindings of cluster scope. 0s: never.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_SECOND_OWNER_HOLD",
        value_name = "DURATION",
        value_parser = parse_duration,
        default_value = "5m"
    )]
    pub second_owner_hold: Duration,

    /// The plugins of a scheduler, as its own --plugins has them: NAME=LIST, once for each scheduler whose plugins are
    /// not the default ones; several are separated by `;`. The check before an eviction asks them for the bindings that name it.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_SCHEDULER_PLUGINS",
        value_name = "NAME=LIST",
        value_delimiter = ';'
    )]
    pub scheduler_plugins: Vec<String>,
}

impl Default for EvictorFlags {
    fn default() -> Self {
        Self {
            state_preservation_wait: STATE_PRESERVATION_WAIT,
            second_owner_hold: SECOND_OWNER_HOLD,
            scheduler_plugins: Vec::new(),
        }
    }
}

impl EvictorFlags {
    /// The schedulers that `--scheduler-plugins` names, added to those that are known.
    ///
    /// # Errors
    /// One sentence for each value that cannot be read.
    pub fn schedulers(&self, known: Schedulers, registry: &Registry) -> Result<Schedulers, Vec<String>> {
        known.with_lists("--scheduler-plugins", &self.scheduler_plugins, registry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        flags: EvictorFlags,
    }

    fn parse(args: &[&str]) -> EvictorFlags {
        let args = std::iter::once("evictor").chain(args.iter().copied());
        Cli::try_parse_from(args).unwrap().flags
    }

    #[test]
    fn the_defaults_are_those_of_the_command_line() {
        assert_eq!(format!("{:?}", parse(&[])), format!("{:?}", EvictorFlags::default()));
    }

    #[test]
    fn each_value_names_one_scheduler() {
        let flags = parse(&["--scheduler-plugins=default-scheduler=*,ClusterEviction;mine=APIEnablement"]);
        assert_eq!(flags.scheduler_plugins.len(), 2);
        let schedulers = flags.schedulers(Schedulers::default(), &Registry::builtin()).unwrap();
        let shown = format!("{schedulers:?}");
        assert!(
            shown.contains("ClusterEviction") && shown.contains("\"mine\""),
            "{shown}"
        );
    }

    #[test]
    fn a_scheduler_is_named_once() {
        let flags = parse(&["--scheduler-plugins=mine=*;mine=APIEnablement"]);
        let problems = flags
            .schedulers(Schedulers::default(), &Registry::builtin())
            .unwrap_err();
        let expected = "--scheduler-plugins=mine=APIEnablement: mine is named twice; give one list";
        assert_eq!(problems, [expected]);
    }

    #[test]
    fn what_cannot_be_read_says_what_is_wanted() {
        for (value, expected) in [
            (
                "ClusterEviction",
                "want NAME=LIST, such as default-scheduler=*,ClusterEviction",
            ),
            ("=*", "want NAME=LIST"),
            ("mine=Gone,*", "unknown: Gone; known are APIEnablement, "),
        ] {
            let flags = parse(&["--scheduler-plugins", value]);
            let problems = flags
                .schedulers(Schedulers::default(), &Registry::builtin())
                .unwrap_err();
            assert!(
                problems[0].starts_with(&format!("--scheduler-plugins={value}: ")),
                "{problems:?}"
            );
            assert!(problems[0].contains(expected), "{problems:?}");
        }
    }
}
