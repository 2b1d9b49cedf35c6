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
pub(super) type Group = (Timestamp, Reverse<i32>);

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

    /// The entry whose turn it is: of the oldest and the most important that which goes first.
    pub fn first(&self, now: Timestamp, starvation_limit: Duration) -> Option<&Arc<EntryKey>> {
        let oldest = self.groups.first_key_value().map(|(group, _)| *group);
        let most_important = self
            .by_priority
            .first()
            .map(|(priority, ready_since)| (*ready_since, *priority));
        let group = [oldest, most_important]
            .into_iter()
            .flatten()
            .min_by(|a, b| in_turn(*a, *b, now, starvation_limit))?;
        self.groups.get(&group)?.first().map(|InLane(key)| key)
    }

    /// How many go before this one of them.
    pub fn before(&self, entry: &Entry, now: Timestamp, starvation_limit: Duration) -> usize {
        let own = group_of(entry);
        let earlier = |group: Group| in_turn(group, own, now, starvation_limit).is_lt();
        let earlier_groups = self.groups.iter().filter(|(group, _)| earlier(**group));
        let within = self.groups.get(&own).into_iter().flatten();
        earlier_groups.map(|(_, entries)| entries.len()).sum::<usize>()
            + within
                .take_while(|InLane(key)| in_lane(key, entry.key()).is_lt())
                .count()
    }
}

/// Since when an entry is ready, and how important it is.
pub(super) fn group_of(entry: &Entry) -> Group {
    (entry.published.due_at, Reverse(entry.published.priority))
}

/// The order in which those go that may: the ones that are ready for longer than the limit, the oldest first; then by
/// priority, and of one priority the oldest first.
pub(super) fn in_turn(a: Group, b: Group, now: Timestamp, starvation_limit: Duration) -> Ordering {
    let starves = |(ready_since, _): Group| {
        Duration::try_from(now.duration_since(ready_since)).is_ok_and(|ready_for| ready_for > starvation_limit)
    };
    match (starves(a), starves(b)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (true, true) => a.cmp(&b),
        (false, false) => (a.1, a.0).cmp(&(b.1, b.0)),
    }
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
