//! The line of a lane: its entries that may go now, in the order in which they go.
//!
//! Entries of one age and priority form a group and stand in it by key. Groups are found by age and by priority, so that
//! an entry is put in and taken out by comparing its key once, and numbers otherwise.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::entry::{Entry, EntryKey};

/// Since when an entry is ready, and its priority, higher first: of one age the more important goes first.
type Group = (Timestamp, Reverse<i32>);

/// Entries that may go now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    groups: BTreeMap<Group, BTreeSet<InLane>>,
    /// The groups by priority, then age.
    by_priority: BTreeSet<(Reverse<i32>, Timestamp)>,
    len: usize,
}

impl Line {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn insert(&mut self, key: &Arc<EntryKey>, entry: &Entry) {
        let group = group_of(entry);
        let entries = self.groups.entry(group).or_insert_with(|| {
            self.by_priority.insert((group.1, group.0));
            BTreeSet::new()
        });
        self.len += usize::from(entries.insert(InLane(key.clone())));
    }

    pub fn remove(&mut self, key: &Arc<EntryKey>, entry: &Entry) {
        let group = group_of(entry);
        let Some(entries) = self.groups.get_mut(&group) else {
            return;
        };
        self.len -= usize::from(entries.remove(&InLane(key.clone())));
        if entries.is_empty() {
            self.groups.remove(&group);
            self.by_priority.remove(&(group.1, group.0));
        }
    }

    /// Since when the oldest is ready.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.groups.first_key_value().map(|((ready_since, _), _)| *ready_since)
    }

    /// The entry whose turn it is: the oldest, when it is ready longer than the limit, else the first by priority.
    pub fn first(&self, now: Timestamp, starvation_limit: Duration) -> Option<&Arc<EntryKey>> {
        let ((ready_since, _), oldest) = self.groups.first_key_value()?;
        let entries = if is_starving(*ready_since, now, starvation_limit) {
            oldest
        } else {
            let (priority, ready_since) = *self.by_priority.first()?;
            self.groups.get(&(ready_since, priority))?
        };
        entries.first().map(|InLane(key)| key)
    }

    /// All, in the order in which they go.
    pub fn in_order(&self, now: Timestamp, starvation_limit: Duration) -> impl Iterator<Item = &Arc<EntryKey>> {
        let starving = move |ready_since: Timestamp| is_starving(ready_since, now, starvation_limit);
        let first = self
            .groups
            .iter()
            .take_while(move |((ready_since, _), _)| starving(*ready_since))
            .map(|(_, entries)| entries);
        let then = self
            .by_priority
            .iter()
            .filter(move |(_, ready_since)| !starving(*ready_since))
            .filter_map(|(priority, ready_since)| self.groups.get(&(*ready_since, *priority)));
        first.chain(then).flatten().map(|InLane(key)| key)
    }
}

fn group_of(entry: &Entry) -> Group {
    (entry.published.due_at, Reverse(entry.published.priority))
}

pub(super) fn is_starving(ready_since: Timestamp, now: Timestamp, limit: Duration) -> bool {
    Duration::try_from(now.duration_since(ready_since)).is_ok_and(|ready_for| ready_for > limit)
}

/// The order of two keys of one lane: what tells them apart is compared first.
pub(super) fn in_lane(a: &EntryKey, b: &EntryKey) -> Ordering {
    a.binding.cmp(&b.binding).then_with(|| a.cmp(b))
}

/// A key among those of one lane, which all name the same cluster: what tells them apart is compared first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InLane(Arc<EntryKey>);

impl Ord for InLane {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        in_lane(&self.0, &other.0)
    }
}

impl PartialOrd for InLane {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
