//! `--controllers`: which controllers a process runs.
//!
//! Guarantees Karmada's rule: `*` stands for all that are on by default, `foo` switches on, `-foo` off; an explicit
//! name wins over `*` wherever it stands, and of two explicit ones the first wins. Without an item nothing runs
//! but what is named; the flag's default is `*`. A name nobody knows is an error that lists the known ones.

use std::collections::{BTreeMap, BTreeSet};

/// A controller that can be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name, as in Karmada: lower camel case.
    pub name: &'static str,
    /// Whether `*` covers it.
    pub default: DefaultState,
}

/// Whether `*` covers a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultState {
    /// `*` switches it on.
    On,
    /// Only its own name switches it on.
    Off,
}

/// Names in `--controllers` that no controller of this binary bears.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "--controllers: unknown {}: {}; known are {} (`*` = all that are on by default, `-NAME` = off)",
    if unknown.len() == 1 { "controller" } else { "controllers" },
    unknown.join(", "),
    known.join(", ")
)]
pub struct UnknownControllers {
    /// As given, without a leading `-`, in the given order.
    pub unknown: Vec<String>,
    /// What could have been given, sorted.
    pub known: Vec<String>,
}

/// The names among `known` that `items` (the values of `--controllers`) switch on.
///
/// # Errors
/// [`UnknownControllers`] with every unknown name at once.
pub fn select(items: &[String], known: &[Known]) -> Result<BTreeSet<&'static str>, UnknownControllers> {
    let mut explicit: BTreeMap<&str, bool> = BTreeMap::new();
    let mut all = false;
    let mut unknown = Vec::new();
    for item in items.iter().map(|item| item.trim()).filter(|item| !item.is_empty()) {
        if item == "*" {
            all = true;
            continue;
        }
        let (name, on) = item.strip_prefix('-').map_or((item, true), |name| (name, false));
        if known.iter().any(|candidate| candidate.name == name) {
            explicit.entry(name).or_insert(on);
        } else if !unknown.iter().any(|seen| seen == name) {
            unknown.push(name.to_owned());
        }
    }
    if !unknown.is_empty() {
        let known: BTreeSet<&str> = known.iter().map(|candidate| candidate.name).collect();
        return Err(UnknownControllers {
            unknown,
            known: known.into_iter().map(str::to_owned).collect(),
        });
    }
    Ok(known
        .iter()
        .filter(|candidate| match explicit.get(candidate.name) {
            Some(on) => *on,
            None => all && candidate.default == DefaultState::On,
        })
        .map(|candidate| candidate.name)
        .collect())
}

/// Reads values `NAME=LIST` of a flag, each of which selects among `known` for one name: the names selected for each.
///
/// # Errors
/// One sentence for each value that cannot be read, and for a name that is given twice; `example` is what a good value
/// looks like.
pub fn select_for_each(
    flag: &str,
    values: &[String],
    known: &[Known],
    example: &str,
) -> Result<BTreeMap<String, BTreeSet<&'static str>>, Vec<String>> {
    let mut selected = BTreeMap::new();
    let mut problems = Vec::new();
    for value in values {
        let read = value.split_once('=').filter(|(name, _)| !name.is_empty());
        let Some((name, list)) = read else {
            problems.push(format!("{flag}={value}: want NAME=LIST, such as {example}"));
            continue;
        };
        let items: Vec<String> = list.split(',').map(str::to_owned).collect();
        match select(&items, known) {
            Ok(_) if selected.contains_key(name) => {
                problems.push(format!("{flag}={value}: {name} is named twice; give one list"));
            }
            Ok(names) => {
                selected.insert(name.to_owned(), names);
            }
            Err(error) => problems.push(format!(
                "{flag}={value}: unknown: {}; known are {} (`*` = all that are on by default, `-NAME` = off)",
                error.unknown.join(", "),
                error.known.join(", ")
            )),
        }
    }
    if problems.is_empty() {
        Ok(selected)
    } else {
        Err(problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const KNOWN: [Known; 3] = [
        Known {
            name: "taintManager",
            default: DefaultState::On,
        },
        Known {
            name: "evictor",
            default: DefaultState::On,
        },
        Known {
            name: "extra",
            default: DefaultState::Off,
        },
    ];

    #[rstest]
    #[case::star_is_all_on_by_default("*", "evictor taintManager")]
    #[case::nothing_is_nothing("", "")]
    #[case::only_the_named("evictor", "evictor")]
    #[case::minus_wins_over_star_after_it("-evictor,*", "taintManager")]
    #[case::minus_wins_over_star_before_it("*,-evictor", "taintManager")]
    #[case::an_off_one_by_name("*,extra", "evictor extra taintManager")]
    #[case::first_explicit_wins_on("evictor,-evictor", "evictor")]
    #[case::first_explicit_wins_off("-evictor,evictor", "")]
    #[case::only_a_minus("-evictor", "")]
    #[case::spaces_and_empty_items(" evictor , ,taintManager", "evictor taintManager")]
    fn rule(#[case] flag: &str, #[case] expected: &str) {
        let items: Vec<String> = flag.split(',').map(str::to_owned).collect();
        let selected = select(&items, &KNOWN).unwrap();
        assert_eq!(selected.into_iter().collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn unknown_names_are_listed_once_with_the_known_ones() {
        let items: Vec<String> = ["*", "-foo", "evictor", "bar", "foo"].map(str::to_owned).into();
        assert_eq!(
            select(&items, &KNOWN).unwrap_err().to_string(),
            "--controllers: unknown controllers: foo, bar; known are evictor, extra, taintManager \
             (`*` = all that are on by default, `-NAME` = off)"
        );
    }
}
