//! Flags of the taint-policy-controller.

use clap::{ArgAction, Args};
use controller_kit::Mode;
use failover_core::taint_policy::Companion;

/// Flags of the taint-policy-controller.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Taint policies")]
#[group(skip)]
pub struct Flags {
    /// How many Clusters are looked at at once.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_CONCURRENT_CLUSTER_TAINT_POLICY_SYNCS",
        value_name = "N",
        default_value_t = 5
    )]
    pub concurrent_cluster_taint_policy_syncs: usize,

    /// Keep the taint failover.karmada.io/prefer-no-execute:NoSchedule on a cluster while a PreferNoExecute taint stands
    /// there, for a scheduler that does not know that effect. Default: only with --beside-stock.
    #[arg(
        long,
        env = "KARMADA_FAILOVER_PREFER_NO_EXECUTE_COMPANION",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub prefer_no_execute_companion: Option<bool>,
}

impl Flags {
    /// Whether PreferNoExecute taints have a companion.
    pub(crate) fn companion(&self, mode: Mode) -> Companion {
        if self.prefer_no_execute_companion.unwrap_or(mode.is_beside()) {
            Companion::Kept
        } else {
            Companion::None
        }
    }
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            concurrent_cluster_taint_policy_syncs: 5,
            prefer_no_execute_companion: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use controller_kit::ModeFlags;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        flags: Flags,
        #[command(flatten)]
        shared: ModeFlags,
    }

    #[test]
    fn the_companion_is_on_beside_stock_unless_a_flag_says_otherwise() {
        for (args, expected) in [
            (&[][..], Companion::None),
            (&["--beside-stock"], Companion::Kept),
            (&["--prefer-no-execute-companion"], Companion::Kept),
            (
                &["--beside-stock", "--prefer-no-execute-companion=false"],
                Companion::None,
            ),
        ] {
            let args = std::iter::once("taint-policy-controller").chain(args.iter().copied());
            let Cli { flags, shared } = Cli::try_parse_from(args).unwrap();
            assert_eq!(flags.companion(shared.mode), expected);
        }
    }
}
