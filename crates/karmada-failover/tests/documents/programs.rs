//! Our programs' command lines: whether words are taken by them.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

/// A program: its name, and what makes its command line.
type Program = (&'static str, fn() -> Command);

/// Every program of the images and of the machine from which one installs.
const PROGRAMS: &[Program] = &[
    ("karmada-failover", karmada_failover::cli::Cli::command),
    (
        "cluster-health-controller",
        cluster_health_controller::cli::Cli::command,
    ),
    ("taint-policy-controller", taint_policy_controller::cli::Cli::command),
    ("taint-manager", taint_manager::cli::Cli::command),
    (
        "application-failover-controller",
        application_failover_controller::cli::Cli::command,
    ),
    ("eviction-queue", eviction_queue::cli::Cli::command),
    ("scheduler", scheduler::cli::Cli::command),
    (
        "graceful-eviction-controller",
        graceful_eviction_controller::cli::Cli::command,
    ),
    ("propagation-controllers", propagation_controllers::cli::Cli::command),
    ("agent", agent::cli::command),
    ("webhook", webhook::cli::Cli::command),
    ("failoverctl", failoverctl::Cli::command),
];

/// All of them.
pub fn programs() -> Vec<(&'static str, Command)> {
    PROGRAMS.iter().map(|(name, command)| (*name, command())).collect()
}

/// Whether there is one of this name.
pub fn is_program(name: &str) -> bool {
    PROGRAMS.iter().any(|(known, _)| *known == name)
}

/// One of them.
pub fn program(name: &str) -> Option<Command> {
    let (_, command) = PROGRAMS.iter().find(|(known, _)| *known == name)?;
    Some(command())
}

/// The contributors' program.
pub fn xtask() -> Command {
    xtask::cli::Cli::command()
}

/// The words of a line without quotes, for tests of what is found.
pub fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// How a command stands on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// To be typed.
    Whole,
    /// In a sentence: what has to be said may be left out.
    Named,
}

/// What stands in for a value that nobody can know: something of each form that our flags have.
const VALUES: [&str; 5] = ["1", "1h", "127.0.0.1:1", "2026-01-31T12:00:00Z", "a=b"];

/// Whether `command` takes the words, the first of which is its name; if not, what is wrong.
pub fn takes(command: &Command, words: &[String], stands: Stands) -> Result<(), String> {
    let mut words = words.to_vec();
    let mut others = VALUES.iter();
    loop {
        let Err(error) = command.clone().try_get_matches_from(&words) else {
            return Ok(());
        };
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Ok(()),
            ErrorKind::MissingSubcommand
            | ErrorKind::MissingRequiredArgument
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                if stands == Stands::Named =>
            {
                return Ok(());
            }
            ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
                let put = placeholder(&error).and_then(|placeholder| {
                    let value = first_value(&error).or_else(|| others.next().map(|value| (*value).to_owned()))?;
                    replaced(&mut words, &placeholder, &value).then_some(())
                });
                if put.is_none() {
                    return Err(told(&error));
                }
            }
            _ => return Err(told(&error)),
        }
    }
}

/// The value that was refused, where it is a name in capitals or an ellipsis: for the reader to fill in.
fn placeholder(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else {
        return None;
    };
    let word = value.trim_end_matches('…');
    let is_one = word
        .chars()
        .all(|letter| letter.is_ascii_uppercase() || "-_/".contains(letter))
        || VALUES.contains(&word)
        || word.starts_with('$');
    is_one.then(|| value.clone())
}

/// The first value that would have been taken, where there is a list.
fn first_value(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => values.first().cloned(),
        _ => None,
    }
}

/// Puts a value where another one stands; whether it stood anywhere.
fn replaced(words: &mut [String], old: &str, new: &str) -> bool {
    for word in words.iter_mut().skip(1) {
        let start = word.strip_suffix(old).map(str::to_owned);
        if let Some(start) = start.filter(|start| start.is_empty() || start.ends_with('=')) {
            *word = format!("{start}{new}");
            return true;
        }
    }
    false
}

/// The first sentence of an error.
fn told(error: &clap::Error) -> String {
    let text = error.to_string();
    let sentence = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = sentence.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(line: &str, stands: Stands) -> Result<(), String> {
        let words = words(line);
        takes(&program(&words[0]).unwrap(), &words, stands)
    }

    #[test]
    fn what_cannot_be_typed_is_found() {
        for (line, wrong) in [
            ("failoverctl statsu", "unrecognized subcommand 'statsu'"),
            ("failoverctl drain member1 --now", "unexpected argument '--now' found"),
            (
                "failoverctl queue drop a/b --reason",
                "a value is required for '--reason <TEXT>' but none was supplied",
            ),
            (
                "failoverctl pause --for 2h",
                "the following required arguments were not provided: --reason <TEXT>",
            ),
            (
                "failoverctl pause --for 2x --reason r",
                "invalid value '2x' for '--for <DURATION>'",
            ),
            (
                "failoverctl kubeconfig taint-manger",
                "invalid value 'taint-manger' for '<COMPONENT>'",
            ),
            (
                "taint-manager --beside-stok",
                "unexpected argument '--beside-stok' found",
            ),
            (
                "eviction-queue --beside-stock",
                "unexpected argument '--beside-stock' found",
            ),
        ] {
            let told = judged(line, Stands::Whole).unwrap_err();
            assert!(told.starts_with(wrong), "{line}: {told}");
        }
    }

    #[test]
    fn what_can_be_typed_is_taken() {
        for line in [
            "failoverctl status",
            "failoverctl explain binding NAMESPACE/NAME",
            "failoverctl kubeconfig COMPONENT",
            "failoverctl pause --for DURATION --reason …",
            "failoverctl lint FILE…",
            "agent --cluster-name member3 --karmada-kubeconfig file",
            "karmada-failover run --kubeconfig FILE --feature-gates=Failover=true",
            "karmada-failover --version",
        ] {
            assert_eq!(judged(line, Stands::Whole), Ok(()), "{line}");
        }
    }

    #[test]
    fn in_a_sentence_much_may_be_left_out() {
        for line in [
            "failoverctl queue drop",
            "failoverctl pause",
            "failoverctl explain",
            "failoverctl queue drop --cluster a",
        ] {
            assert_eq!(judged(line, Stands::Named), Ok(()), "{line}");
            assert!(judged(line, Stands::Whole).is_err(), "{line}");
        }
        for line in [
            "failoverctl queue drip",
            "failoverctl queue drop --clutser a",
            "failoverctl queue drop --reason",
        ] {
            assert!(judged(line, Stands::Named).is_err(), "{line}");
        }
    }
}
