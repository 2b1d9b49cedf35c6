//! How the program was called: as `failoverctl`, or by kubectl as its plugin `kubectl failover`.
//!
//! kubectl runs a program `kubectl-failover` for `kubectl failover`. Help, usage and every command that a message proposes name
//! the program as it was called, so that they can be pasted.

use std::ffi::OsString;
use std::path::Path;

/// The program's own name.
pub const NAME: &str = "failoverctl";
/// What kubectl looks for, and how it is typed.
const PLUGIN: (&str, &str) = ("kubectl-failover", "kubectl failover");

/// How the program is typed, by the first word of its arguments.
#[must_use]
pub fn typed_as(first: Option<&OsString>) -> &'static str {
    let file = first.and_then(|first| Path::new(first).file_stem()?.to_str());
    match file {
        // Names of plugins have underscores where the command has dashes.
        Some(name) if name.replace('_', "-") == PLUGIN.0 => PLUGIN.1,
        _ => NAME,
    }
}

/// A text of this program as it reads for who called it so: words that are commands of it begin as they are typed.
#[must_use]
pub fn as_typed(text: &str, typed: &str) -> String {
    if typed == NAME {
        return text.to_owned();
    }
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(NAME) {
        let (before, found) = rest.split_at(at);
        let after = &found[NAME.len()..];
        let is_word = !before.ends_with(|c: char| c.is_alphanumeric() || "-_./:".contains(c));
        // The name alone, as a field manager or an event's source has it, is no command.
        let is_command = after.starts_with(' ') && after[1..].starts_with(|c: char| c.is_ascii_lowercase() || c == '-');
        told.push_str(before);
        told.push_str(if is_word && is_command { typed } else { NAME });
        rest = after;
    }
    told.push_str(rest);
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("failoverctl", "failoverctl")]
    #[case("/usr/local/bin/kubectl-failover", "kubectl failover")]
    #[case("kubectl_failover.exe", "kubectl failover")]
    #[case("./target/debug/failoverctl", "failoverctl")]
    fn by_the_name_of_the_file(#[case] first: &str, #[case] typed: &str) {
        assert_eq!(typed_as(Some(&first.into())), typed);
    }

    #[rstest]
    #[case("undo: failoverctl resume p", "undo: kubectl failover resume p")]
    #[case("failoverctl --context a resume p", "kubectl failover --context a resume p")]
    #[case("drained by failoverctl: x", "drained by failoverctl: x")]
    #[case("karmada-failover:failoverctl and more", "karmada-failover:failoverctl and more")]
    #[case("ServiceAccount failoverctl", "ServiceAccount failoverctl")]
    fn only_commands_are_told_as_they_are_typed(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(as_typed(text, "kubectl failover"), expected);
        assert_eq!(as_typed(text, NAME), text);
    }
}
