//! What every command that changes something has in common: it says first what it will do, asks, and says how to take
//! it back.

use std::sync::Arc;

use crate::cli::{ChangeArgs, Target};
use crate::console::{Console, Person};
use crate::failure::{ExitStatus, Failure};

/// What follows from the announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// Do it.
    Ahead,
    /// The person said no.
    Not,
}

/// Refuses to begin where nobody could answer the question that comes later.
///
/// # Errors
/// Neither `--yes` nor `--dry-run` is given, and there is no terminal. `what` is what is wanted.
pub fn require_consent(console: &dyn Console, args: &ChangeArgs, what: &str) -> Result<(), Failure> {
    if args.yes || args.dry_run || console.can_be_asked() == Person::There {
        return Ok(());
    }
    Err(Failure::new(
        ExitStatus::Usage,
        format!("cannot {what}"),
        "nobody can be asked: standard input or standard error is no terminal",
        "pass --yes to do it without a question, or --dry-run to see what it would do",
    ))
}

/// Says what will be done, and asks unless `--yes` is given. Only for what is not a dry run.
pub async fn agreed(console: &Arc<dyn Console>, args: &ChangeArgs, announcement: &str) -> Go {
    console.note(announcement);
    if args.yes {
        return Go::Ahead;
    }
    console.note("Go on? [y/N] ");
    let asked = Arc::clone(console);
    let answer = tokio::task::spawn_blocking(move || asked.read_line()).await;
    if is_yes(&answer.unwrap_or_default()) {
        Go::Ahead
    } else {
        Go::Not
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// A command line of this program that reaches the same place as `target`.
#[must_use]
pub fn command(target: &Target, args: &[String]) -> String {
    let mut words = vec!["failoverctl".to_owned()];
    words.extend(target.as_args());
    words.extend(args.iter().cloned());
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it back.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// `1 entry`, `3 entries`.
#[must_use]
pub fn entries(count: u64) -> String {
    if count == 1 {
        "1 entry".to_owned()
    } else {
        format!("{count} entries")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("default/web", "default/web")]
    #[case("", "''")]
    #[case("network works", "'network works'")]
    #[case("it's $HOME", r"'it'\''s $HOME'")]
    #[case("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z")]
    fn words_for_a_shell(#[case] word: &str, #[case] expected: &str) {
        assert_eq!(quoted(word), expected);
    }

    #[rstest]
    #[case("y\n", true)]
    #[case(" YES \n", true)]
    #[case("\n", false)]
    #[case("", false)]
    #[case("yesterday", false)]
    fn only_yes_is_yes(#[case] answer: &str, #[case] expected: bool) {
        assert_eq!(is_yes(answer), expected);
    }
}
