//! A lane: the entries that leave one cluster, with those that may go now in their two orders.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::entry::{Entry, EntryKey, State};
use super::inspect::Totals;

/// Sorts by priority, higher first, then due time, then key.
pub(super) type ByPriority = (Reverse<i32>, Timestamp, Arc<EntryKey>);

#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub since: Timestamp,
    pub totals: Totals,
    pub by_priority: BTreeSet<ByPriority>,
    pub by_age: BTreeSet<(Timestamp, Arc<EntryKey>)>,
    /// How many entries each `apiVersion/Kind` has.
    pub kinds: BTreeMap<String, usize>,
}

impl Lane {
    pub fn new(since: Timestamp) -> Self {
        Self {
            since,
            totals: Totals::default(),
            by_priority: BTreeSet::new(),
            by_age: BTreeSet::new(),
            kinds: BTreeMap::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.totals.sum() == 0
    }

    /// An entry comes or goes.
    pub fn count(&mut self, entry: &Entry, step: Step) {
        self.count_state(entry, step);
        self.count_kind(entry, step);
    }

    /// An entry changes.
    pub fn recount(&mut self, before: &Entry, after: &Entry) {
        self.count_state(before, Step::Out);
        self.count_state(after, Step::In);
        let (old, new) = (&before.published.template, &after.published.template);
        if (&old.api_version, &old.kind) != (&new.api_version, &new.kind) {
            self.count_kind(before, Step::Out);
            self.count_kind(after, Step::In);
        }
    }

    fn count_state(&mut self, entry: &Entry, step: Step) {
        let counter = match entry.state {
            State::Waiting => &mut self.totals.waiting,
            State::Ready => &mut self.totals.ready,
            State::Leased(_) => &mut self.totals.leased,
            State::Held { .. } => &mut self.totals.held,
        };
        match step {
            Step::In => *counter += 1,
            Step::Out => *counter = counter.saturating_sub(1),
        }
    }

    fn count_kind(&mut self, entry: &Entry, step: Step) {
        let kind = entry.published.template.kind_label();
        match step {
            Step::In => *self.kinds.entry(kind).or_default() += 1,
            Step::Out => {
                if let Some(count) = self.kinds.get_mut(&kind) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        self.kinds.remove(&kind);
                    }
                }
            }
        }
    }

    pub fn admit(&mut self, key: &Arc<EntryKey>, entry: &Entry) {
        self.by_priority.insert(by_priority(key, entry));
        self.by_age.insert((entry.published.due_at, key.clone()));
    }

    pub fn dismiss(&mut self, key: &Arc<EntryKey>, entry: &Entry) {
        self.by_priority.remove(&by_priority(key, entry));
        self.by_age.remove(&(entry.published.due_at, key.clone()));
    }

    /// The entry whose turn it is: the oldest, when it is ready longer than the limit, else the first by priority.
    pub fn first(&self, now: Timestamp, starvation_limit: Duration) -> Option<Arc<EntryKey>> {
        match self.by_age.first() {
            Some((ready_since, key)) if is_starving(*ready_since, now, starvation_limit) => Some(key.clone()),
            _ => self.by_priority.first().map(|(_, _, key)| key.clone()),
        }
    }

    /// All that may go now, in the order in which they would.
    pub fn in_order(&self, now: Timestamp, starvation_limit: Duration) -> impl Iterator<Item = &Arc<EntryKey>> {
        let starving = move |ready_since: Timestamp| is_starving(ready_since, now, starvation_limit);
        self.by_age
            .iter()
            .take_while(move |(since, _)| starving(*since))
            .map(|(_, key)| key)
            .chain(
                self.by_priority
                    .iter()
                    .filter(move |(_, since, _)| !starving(*since))
                    .map(|(_, _, key)| key),
            )
    }
}

#[derive(Clone, Copy)]
pub(super) enum Step {
    In,
    Out,
}

fn by_priority(key: &Arc<EntryKey>, entry: &Entry) -> ByPriority {
    (Reverse(entry.published.priority), entry.published.due_at, key.clone())
}

fn is_starving(ready_since: Timestamp, now: Timestamp, limit: Duration) -> bool {
    Duration::try_from(now.duration_since(ready_since)).is_ok_and(|ready_for| ready_for > limit)
}
