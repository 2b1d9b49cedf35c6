//! Flags that are accepted without effect, so that a command line written for Karmada keeps working.
//!
//! Guarantees: such a flag takes any value or none, does nothing, is not shown in `--help`, and costs one warning
//! that says what to use instead. Each component declares its own with [`deprecated_flags!`](crate::deprecated_flags).

use clap::{Arg, ArgAction, ArgMatches, Command};

/// A flag without effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeprecatedFlag {
    /// Name without the leading dashes.
    pub name: &'static str,
    /// What to use instead, as a clause: "use --controllers=-taintManager".
    pub instead: &'static str,
}

impl DeprecatedFlag {
    /// The warning for a command line that has it.
    #[must_use]
    pub fn warning(&self) -> String {
        format!("--{} is accepted but has no effect: {}", self.name, self.instead)
    }
}

/// Adds the flags to a command.
#[must_use]
pub fn augment(command: Command, flags: &[DeprecatedFlag]) -> Command {
    flags.iter().fold(command, |command, flag| {
        command.arg(
            Arg::new(flag.name)
                .long(flag.name)
                .help(format!("Without effect: {}", flag.instead))
                .hide(true)
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .action(ArgAction::Append),
        )
    })
}

/// The flags among `flags` that the command line had.
#[must_use]
pub fn given(matches: &ArgMatches, flags: &'static [DeprecatedFlag]) -> Vec<DeprecatedFlag> {
    flags
        .iter()
        .filter(|flag| matches.try_contains_id(flag.name).unwrap_or(false))
        .copied()
        .collect()
}

/// Declares a `clap::Args` type of flags that are accepted without effect.
///
/// ```
/// controller_kit::deprecated_flags! {
///     /// Flags of Karmada's taint manager.
///     pub struct OldFlags {
///         "enable-taint-manager" => "use --controllers=-taintManager to switch it off",
///     }
/// }
///
/// #[derive(clap::Parser)]
/// struct Cli {
///     #[command(flatten)]
///     old: OldFlags,
/// }
///
/// let cli = <Cli as clap::Parser>::parse_from(["x", "--enable-taint-manager=false"]);
/// assert_eq!(cli.old.warnings().len(), 1);
/// ```
#[macro_export]
macro_rules! deprecated_flags {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($flag:literal => $instead:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default)]
        $vis struct $name {
            given: Vec<$crate::deprecated::DeprecatedFlag>,
        }

        impl $name {
            const FLAGS: &'static [$crate::deprecated::DeprecatedFlag] =
                &[$($crate::deprecated::DeprecatedFlag { name: $flag, instead: $instead }),+];

            /// One warning for each of them on the command line.
            #[must_use]
            $vis fn warnings(&self) -> Vec<String> {
                self.given.iter().map($crate::deprecated::DeprecatedFlag::warning).collect()
            }
        }

        impl ::clap::FromArgMatches for $name {
            fn from_arg_matches(matches: &::clap::ArgMatches) -> Result<Self, ::clap::Error> {
                Ok(Self { given: $crate::deprecated::given(matches, Self::FLAGS) })
            }

            fn update_from_arg_matches(&mut self, matches: &::clap::ArgMatches) -> Result<(), ::clap::Error> {
                self.given = $crate::deprecated::given(matches, Self::FLAGS);
                Ok(())
            }
        }

        impl ::clap::Args for $name {
            fn augment_args(command: ::clap::Command) -> ::clap::Command {
                $crate::deprecated::augment(command, Self::FLAGS)
            }

            fn augment_args_for_update(command: ::clap::Command) -> ::clap::Command {
                $crate::deprecated::augment(command, Self::FLAGS)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    crate::deprecated_flags! {
        /// Two old flags.
        struct Old {
            "enable-taint-manager" => "use --controllers=-taintManager",
            "failover-eviction-timeout" => "use spec.failover.cluster of the policy",
        }
    }

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        old: Old,
        rest: Vec<String>,
    }

    fn warnings(args: &[&str]) -> Vec<String> {
        Cli::parse_from([&["x"], args].concat()).old.warnings()
    }

    #[test]
    fn accepted_with_and_without_a_value() {
        assert_eq!(warnings(&[]), Vec::<String>::new());
        assert_eq!(
            warnings(&["--enable-taint-manager=false", "--enable-taint-manager"]),
            ["--enable-taint-manager is accepted but has no effect: use --controllers=-taintManager"]
        );
        let cli = Cli::parse_from(["x", "--failover-eviction-timeout=5m", "word"]);
        assert_eq!(cli.old.warnings().len(), 1);
        assert_eq!(cli.rest, ["word"], "the flag takes no value of somebody else's");
    }
}
