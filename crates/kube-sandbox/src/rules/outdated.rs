//! Versions that were replaced a moment ago: what a component may still have acted on.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

/// Replaced versions of one kind, by name, with the time at which each was replaced.
#[derive(Debug)]
pub(super) struct Outdated<K> {
    versions: VecDeque<(String, Timestamp, K)>,
}

impl<K> Default for Outdated<K> {
    fn default() -> Self {
        Self {
            versions: VecDeque::new(),
        }
    }
}

impl<K> Outdated<K> {
    /// Remembers a version that was replaced now, and forgets those that are older than `lag`.
    pub(super) fn add(&mut self, name: String, version: K, now: Timestamp, lag: SignedDuration) {
        self.versions
            .retain(|(_, replaced, _)| now.duration_since(*replaced) < lag);
        self.versions.push_back((name, now, version));
    }

    /// Versions that were replaced less than `lag` ago.
    pub(super) fn within(&self, now: Timestamp, lag: SignedDuration) -> impl Iterator<Item = &K> {
        let young = move |replaced: &Timestamp| now.duration_since(*replaced) < lag;
        self.versions
            .iter()
            .filter(move |(_, replaced, _)| young(replaced))
            .map(|(_, _, version)| version)
    }

    /// Those of one object.
    pub(super) fn of(&self, name: &str, now: Timestamp, lag: SignedDuration) -> impl Iterator<Item = &K> {
        let fits = move |of: &String, replaced: &Timestamp| of == name && now.duration_since(*replaced) < lag;
        self.versions
            .iter()
            .filter(move |(of, replaced, _)| fits(of, replaced))
            .map(|(_, _, version)| version)
    }

    /// The times, to move them with a clock that was stepped.
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        self.versions.iter_mut().map(|(_, replaced, _)| replaced)
    }
}
