//! The flags of application failover.

use clap::Args;

/// Flags of the controller `applicationFailover`. When a workload fails over stands in its policy, how many may at a time is
/// the eviction queue's matter.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Application failover")]
#[group(skip)]
pub struct Flags {
    /// Bindings whose health clock is written at the same time. One binding is never with two workers.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_APPLICATION_FAILOVER_SYNCS",
        value_name = "N",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub concurrent_application_failover_syncs: u32,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            concurrent_application_failover_syncs: 5,
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
        flags: Flags,
    }

    #[test]
    fn the_defaults_are_those_of_the_command_line() {
        let parsed = Cli::try_parse_from(["x"]).unwrap().flags;
        assert_eq!(format!("{parsed:?}"), format!("{:?}", Flags::default()));
        let nobody = ["x", "--concurrent-application-failover-syncs=0"];
        assert!(Cli::try_parse_from(nobody).is_err(), "nobody would write a clock");
    }
}
