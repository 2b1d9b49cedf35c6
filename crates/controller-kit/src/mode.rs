//! Whose control plane it is: one word for all programs that do something else beside a stock Karmada.

use clap::builder::{BoolValueParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum};

/// Whose control plane it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// All components are ours.
    #[default]
    Standalone,
    /// A stock Karmada schedules, propagates and watches the members.
    Beside,
}

impl Mode {
    /// Whether a stock Karmada runs beside this.
    #[must_use]
    pub const fn is_beside(self) -> bool {
        matches!(self, Self::Beside)
    }

    /// As the charts' values and Leases have it: `standalone` or `beside`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standalone => "standalone",
            Self::Beside => "beside",
        }
    }

    /// The mode of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Standalone, Self::Beside]
            .into_iter()
            .find(|mode| mode.name() == name)
    }
}

/// The flag of the programs that do something else beside a stock Karmada.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Mode")]
#[group(skip)]
pub struct ModeFlags {
    /// A stock Karmada schedules, propagates and watches the members beside this; docs/beside-stock.md says what each
    /// program then does otherwise.
    #[arg(
        long = "beside-stock",
        env = "KARMADA_FAILOVER_BESIDE_STOCK",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value = "false",
        default_missing_value = "true",
        value_parser = BoolValueParser::new().map(mode)
    )]
    pub mode: Mode,
}

fn mode(is_beside: bool) -> Mode {
    if is_beside { Mode::Beside } else { Mode::Standalone }
}

impl From<Mode> for ModeFlags {
    fn from(mode: Mode) -> Self {
        Self { mode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        flags: ModeFlags,
    }

    #[test]
    fn a_stock_karmada_is_beside_only_when_a_flag_says_so() {
        for (words, wanted) in [
            (&["program"][..], Mode::Standalone),
            (&["program", "--beside-stock"], Mode::Beside),
            (&["program", "--beside-stock=true"], Mode::Beside),
            (&["program", "--beside-stock=false"], Mode::Standalone),
        ] {
            assert_eq!(Cli::try_parse_from(words).unwrap().flags.mode, wanted, "{words:?}");
        }
        let wrong = Cli::try_parse_from(["program", "--beside-stock=perhaps"]).unwrap_err();
        assert!(wrong.to_string().contains("[possible values: true, false]"), "{wrong}");
    }
}
