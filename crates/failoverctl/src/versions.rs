//! Versions side by side: whether those who are of them work together. Pure.
//!
//! One rule for whoever asks: up to one minor version apart is an upgrade that goes on, more is promised by nobody.

use std::collections::{BTreeMap, BTreeSet};

/// So many are named of one version; further ones, such as the agents of a big fleet, are counted.
const MAX_NAMED: usize = 16;

/// Who is of which version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions<'a>(BTreeMap<&'a str, BTreeSet<&'a str>>);

/// How far the oldest and the newest lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// Nobody says a version.
    NotSaid,
    /// All are of one.
    NotAtAll,
    /// At most one minor version lies between them: they work together.
    OneMinor,
    /// They are not known to work together.
    TooFar,
}

impl<'a> Versions<'a> {
    /// `name` is of `version`.
    pub fn add(&mut self, name: &'a str, version: &'a str) {
        self.0.entry(version).or_default().insert(name);
    }

    /// How far they lie apart.
    #[must_use]
    pub fn apart(&self) -> Apart {
        match self.0.len() {
            0 => return Apart::NotSaid,
            1 => return Apart::NotAtAll,
            _ => {}
        }
        // Of one that cannot be read nothing is known.
        let minors: Option<BTreeSet<(u32, u32)>> = self.0.keys().map(|version| minor_version(version)).collect();
        let ends = minors.and_then(|minors| Some((*minors.first()?, *minors.last()?)));
        match ends {
            Some((oldest, newest)) if oldest.0 == newest.0 && newest.1 - oldest.1 <= 1 => Apart::OneMinor,
            _ => Apart::TooFar,
        }
    }

    /// Each version with those who are of it.
    pub fn each(&self) -> impl Iterator<Item = (&'a str, String)> {
        self.0.iter().map(|(version, names)| {
            let mut named: Vec<String> = names.iter().take(MAX_NAMED).map(|&name| name.to_owned()).collect();
            if let Some(more) = names.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
                named.push(format!("{more} more"));
            }
            (*version, named.join(", "))
        })
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Versions<'a> {
    /// Of names with their versions.
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(all: I) -> Self {
        let mut versions = Self::default();
        for (name, version) in all {
            versions.add(name, version);
        }
        versions
    }
}

/// Major and minor of a version like `v1.17.2`.
#[must_use]
pub fn minor_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix('v').unwrap_or(text).split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::nobody(&[], Apart::NotSaid)]
    #[case::one(&["0.1.0"], Apart::NotAtAll)]
    #[case::the_same(&["0.1.0", "0.1.0"], Apart::NotAtAll)]
    #[case::another_commit(&["0.1.0+1a2b3c4", "0.1.0+5d6e7f8"], Apart::OneMinor)]
    #[case::another_patch(&["0.1.0", "0.1.9"], Apart::OneMinor)]
    #[case::one_minor(&["0.1.0", "0.2.0-rc.1"], Apart::OneMinor)]
    #[case::as_numbers(&["0.9.0", "0.10.0"], Apart::OneMinor)]
    #[case::two_minors(&["0.1.0", "0.3.0"], Apart::TooFar)]
    #[case::one_after_the_other(&["0.1.0", "0.2.0", "0.3.0"], Apart::TooFar)]
    #[case::another_major(&["0.9.0", "1.0.0"], Apart::TooFar)]
    #[case::no_version(&["0.1.0", "latest"], Apart::TooFar)]
    fn how_far(#[case] said: &[&str], #[case] expected: Apart) {
        let versions: Versions = said.iter().map(|version| ("somebody", *version)).collect();
        assert_eq!(versions.apart(), expected);
    }

    #[test]
    fn of_many_some_are_named() {
        let names: Vec<String> = (10..40).map(|number| format!("agent-{number}")).collect();
        let versions: Versions = names.iter().map(|name| (name.as_str(), "0.1.0")).collect();
        let told: Vec<String> = versions.each().map(|(_, named)| named).collect();
        assert!(
            told[0].starts_with("agent-10, ") && told[0].ends_with("agent-25, 14 more"),
            "{told:?}"
        );
    }

    #[rstest]
    #[case("v1.17.2", Some((1, 17)))]
    #[case("v1.19.0-rc.0", Some((1, 19)))]
    #[case("0.1.0", Some((0, 1)))]
    #[case("latest", None)]
    #[case("", None)]
    fn versions(#[case] text: &str, #[case] expected: Option<(u32, u32)>) {
        assert_eq!(minor_version(text), expected);
    }
}
