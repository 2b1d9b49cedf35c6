//! Lists of names that switch things on and off: `--controllers`, `--plugins`, `--evict-plugins` and
//! `--scheduler-plugins`, all by one rule.
//!
//! Guarantees Karmada's rule: `*` stands for all that are on by default, `foo` switches on, `-foo` off; an explicit
//! name wins over `*` wherever it stands, and of two explicit ones the first wins. Without an item nothing is on but what
//! is named. A name nobody knows is an error that lists the known ones.

use std::collections::{BTreeMap, BTreeSet};

/// What can be selected: a controller, a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name, as Karmada spells it.
    pub name: &'static str,
    /// Whether `*` covers it.
    pub default: DefaultState,
}

/// Whether `*` covers a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultState {
    /// `*` switches it on.
    On,
    /// Only its own name switches it on.
    Off,
}

/// Names in a list that nothing bears.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown: {}; known are {} (`*` = all that are on by default, `-NAME` = off)", unknown.join(", "), known.join(", "))]
pub struct UnknownNames {
    /// As given, without a leading `-`, in the given order.
    pub unknown: Vec<String>,
    /// What could have been given, sorted.
    pub known: Vec<String>,
}

/// The names among `known` that `items` switch on.
///
/// # Errors
/// [`UnknownNames`] with every unknown name at once.
pub fn select(items: &[String], known: &[Known]) -> Result<BTreeSet<&'static str>, UnknownNames> {
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
        return Err(UnknownNames {
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
            Err(error) => problems.push(format!("{flag}={value}: {error}")),
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
            "unknown: foo, bar; known are evictor, extra, taintManager (`*` = all that are on by default, `-NAME` = off)"
        );
    }

    #[test]
    fn each_value_names_one_list() {
        let read = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            select_for_each("--lists", &values, &KNOWN, "mine=*")
        };
        let lists = read(&["mine=*,extra", "theirs=-evictor,*", "none="]).unwrap();
        let shown = |name: &str| lists[name].iter().copied().collect::<Vec<_>>().join(" ");
        assert_eq!(
            (shown("mine"), shown("theirs"), shown("none")),
            (
                "evictor extra taintManager".to_owned(),
                "taintManager".to_owned(),
                String::new()
            )
        );
        let problems = read(&["evictor", "=*", "mine=*", "mine=evictor", "theirs=Gone"]).unwrap_err();
        assert_eq!(
            problems,
            [
                "--lists=evictor: want NAME=LIST, such as mine=*",
                "--lists==*: want NAME=LIST, such as mine=*",
                "--lists=mine=evictor: mine is named twice; give one list",
                "--lists=theirs=Gone: unknown: Gone; known are evictor, extra, taintManager \
                 (`*` = all that are on by default, `-NAME` = off)",
            ]
        );
    }
}
