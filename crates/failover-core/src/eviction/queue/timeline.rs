//! What is to be looked at again at some time, the earliest first.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::entry::{Entry, EntryKey};

/// Entries by a time. Those of one time stand in the order in which they entered the queue, which compares faster than
/// their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Timeline<T> {
    keys: BTreeMap<(T, u64), Arc<EntryKey>>,
}

impl<T: Ord + Copy> Timeline<T> {
    pub fn new() -> Self {
        Self { keys: BTreeMap::new() }
    }

    pub fn insert(&mut self, at: T, key: &Arc<EntryKey>, entry: &Entry) {
        self.keys.insert((at, entry.serial), key.clone());
    }

    pub fn remove(&mut self, at: T, entry: &Entry) {
        self.keys.remove(&(at, entry.serial));
    }

    /// The earliest time.
    pub fn first(&self) -> Option<T> {
        self.keys.first_key_value().map(|((at, _), _)| *at)
    }

    /// The first entry, if its time is not after `now`.
    pub fn due(&self, now: T) -> Option<Arc<EntryKey>> {
        let ((at, _), key) = self.keys.first_key_value()?;
        (*at <= now).then(|| key.clone())
    }

    /// All of them with their times, the earliest first.
    pub fn iter(&self) -> impl Iterator<Item = (T, &Arc<EntryKey>)> {
        self.keys.iter().map(|((at, _), key)| (*at, key))
    }

    /// All of them, the earliest first.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<EntryKey>> {
        self.keys.values()
    }
}
