//! The book of entries: the one place where a state is derived, and where every index and the log of changes are kept in
//! step with it.

use std::sync::Arc;

use api_types::ClusterName;
use jiff::Timestamp;

use super::Queue;
use crate::eviction::queue::changes::Removed;
use crate::eviction::queue::entry::{Entry, EntryKey, HoldReason, State, WithdrawReason};
use crate::eviction::queue::event::{Effect, Moment};
use crate::eviction::queue::lane::{Lane, Step};
use crate::eviction::queue::past::Aftermath;
use crate::eviction::queue::view::PauseScopeView;

impl Queue {
    pub(super) fn keys_on(&self, cluster: &ClusterName) -> Vec<Arc<EntryKey>> {
        self.entries_on(cluster).map(|(key, _)| key.clone()).collect()
    }

    /// The entries on a cluster.
    pub(in crate::eviction::queue) fn entries_on<'a>(
        &'a self,
        cluster: &'a ClusterName,
    ) -> impl Iterator<Item = (&'a Arc<EntryKey>, &'a Arc<Entry>)> {
        self.entries.on(cluster)
    }

    pub(super) fn keys_of(&self, producer: &str) -> Vec<Arc<EntryKey>> {
        self.entries
            .iter()
            .filter(|(_, entry)| &*entry.producer == producer)
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Whether the cause of an entry stands as far as the queue sees.
    pub(super) fn stands(&self, key: &EntryKey) -> bool {
        self.clusters
            .get(&key.cluster)
            .is_some_and(|cluster| cluster.shows(key))
    }

    pub(super) fn insert(&mut self, key: Arc<EntryKey>, mut entry: Entry, now: Moment) {
        entry.state = self.derive(&entry, now);
        entry.since = match entry.state {
            State::Ready => entry.published.due_at,
            _ => now.wall,
        };
        match self.lanes.get_mut(&key.cluster) {
            Some(lane) => lane.count(&entry, Step::In),
            None => {
                let mut lane = Lane::new(now.wall);
                lane.count(&entry, Step::In);
                self.lanes.insert(key.cluster.clone(), lane);
            }
        }
        entry.revision = self.changes.changed(&key);
        self.index(&key, &entry);
        self.entries.insert(key, Arc::new(entry));
    }

    /// An entry as it would be after a change.
    pub(super) fn changed(&self, before: &Entry, now: Moment, how: impl FnOnce(&mut Entry)) -> Entry {
        let mut entry = before.clone();
        how(&mut entry);
        entry.state = self.derive(&entry, now);
        if !entry.state.same_kind(&before.state) {
            entry.since = match (&entry.state, &before.state) {
                (State::Ready, State::Waiting) => entry.published.due_at,
                _ => now.wall,
            };
        }
        entry
    }

    pub(super) fn refresh(&mut self, key: &Arc<EntryKey>, now: Moment) {
        self.change(key, now, |_| {});
    }

    /// Changes an entry, derives its state anew, and keeps every index and the log of changes in step.
    pub(super) fn change(&mut self, key: &Arc<EntryKey>, now: Moment, how: impl FnOnce(&mut Entry)) {
        let Some(before) = self.entries.get(key).cloned() else {
            return;
        };
        let mut entry = self.changed(&before, now, how);
        self.revoke_when_over(&entry, now);
        if entry == *before {
            return;
        }
        self.unindex(key, &before);
        if let Some(lane) = self.lanes.get_mut(&key.cluster) {
            lane.recount(&before, &entry);
        }
        entry.revision = self.changes.changed(key);
        self.index(key, &entry);
        self.entries.insert(key.clone(), Arc::new(entry));
    }

    pub(super) fn remove(&mut self, key: &Arc<EntryKey>, why: Removed) {
        let Some(entry) = self.entries.remove(key) else { return };
        self.unindex(key, &entry);
        if let Some(lane) = self.lanes.get_mut(&key.cluster) {
            lane.count(&entry, Step::Out);
        }
        self.changes.left(key.clone(), entry, why);
        self.close_lane(&key.cluster);
    }

    /// A producer takes an entry back. While a consumer works on it nobody knows whether it was evicted: it stays, not
    /// to be released again, until the lease has ended.
    pub(super) fn take_back(&mut self, key: &Arc<EntryKey>, reason: WithdrawReason, now: Moment) {
        match self.entries.get(key).map(|entry| entry.lease) {
            Some(Some(_)) => self.change(key, now, |entry| entry.past.withdrawn = Some(reason)),
            Some(None) => self.remove(key, Removed::Withdrawn(reason)),
            None => {}
        }
    }

    pub(super) fn close_lane(&mut self, cluster: &ClusterName) {
        let faulty = self.clusters.get(cluster).is_some_and(|view| view.fault.is_some());
        if !faulty && self.lanes.get(cluster).is_some_and(Lane::is_empty) {
            self.lanes.remove(cluster);
        }
        if !self.lanes.contains_key(cluster) && !self.clusters.contains_key(cluster) {
            self.stats.remove(cluster);
        }
    }

    /// What holds an entry, whether or not it is leased.
    pub(super) fn hold(&self, entry: &Entry, now: Moment) -> Option<(HoldReason, Arc<str>, Option<Timestamp>)> {
        let key = entry.key();
        if !self.stands(key) {
            let why = format!("the queue does not see {} on cluster {}", key.cause, key.cluster);
            return Some((HoldReason::CauseNotSeen, why.into(), None));
        }
        let producer = self.producers.get(&entry.producer);
        if producer.is_none_or(|producer| producer.is_stale(key)) {
            let why = format!("producer {} has not come back", entry.producer);
            return Some((HoldReason::ProducerGone, why.into(), None));
        }
        if let Some(order) = &entry.order {
            return Some((order.holds_as(), order.to_string().into(), None));
        }
        if let Some(hold) = &entry.published.hold {
            return Some((hold.reason, hold.message.clone(), None));
        }
        match &entry.past.aftermath {
            Some(Aftermath::NotNeeded { message, .. }) => {
                return Some((HoldReason::NotNeeded, message.clone(), None));
            }
            Some(Aftermath::NoTarget { until, message, .. }) => {
                return Some((HoldReason::NoTarget, message.clone(), Some(*until)));
            }
            Some(Aftermath::Wait {
                held_for,
                until,
                message,
            }) => {
                return Some((*held_for, message.clone(), Some(*until)));
            }
            None => {}
        }
        if entry.published.due_at <= now.wall
            && let Some(pause) = self
                .active_pauses
                .iter()
                .filter_map(|name| self.pauses.get(name))
                .find(|pause| pause.scope != PauseScopeView::All && pause.covers(key))
        {
            let why = format!("FailoverPause {}: {}", pause.name, pause.reason);
            return Some((HoldReason::Paused, why.into(), pause.until));
        }
        None
    }

    pub(super) fn derive(&self, entry: &Entry, now: Moment) -> State {
        if let Some(lease) = entry.lease {
            return State::Leased(lease);
        }
        match self.hold(entry, now) {
            Some((reason, message, until)) => State::Held { reason, message, until },
            None if entry.published.due_at > now.wall => State::Waiting,
            None => State::Ready,
        }
    }

    /// The pause of everything that is in effect. It holds no entry, since the rate is 0; a lease that is out ends by it.
    fn pause_of_all(&self) -> Option<String> {
        let active = self.active_pauses.iter().filter_map(|name| self.pauses.get(name));
        let pause = active.into_iter().find(|pause| pause.scope == PauseScopeView::All)?;
        Some(format!("FailoverPause {}: {}", pause.name, pause.reason))
    }

    /// A lease whose entry would be held, is paused, or was taken back, is over.
    pub(super) fn revoke_when_over(&mut self, entry: &Entry, now: Moment) {
        let Some(id) = entry.lease else { return };
        if self.leases.get(&id).is_none_or(|lease| lease.revoked.is_some()) {
            return;
        }
        let over = match entry.past.withdrawn {
            // Most likely by this very lease.
            Some(WithdrawReason::Leaving) => None,
            Some(_) => Some("the producer took the entry back".to_owned()),
            None => self
                .hold(entry, now)
                .map(|(_, why, _)| why.to_string())
                .or_else(|| self.pause_of_all()),
        };
        if let Some(reason) = over
            && let Some(lease) = self.leases.get_mut(&id)
        {
            lease.revoked = Some(reason.clone());
            self.effects.push(Effect::Revoke {
                consumer: lease.consumer,
                lease: id,
                reason,
            });
        }
    }

    pub(super) fn index(&mut self, key: &Arc<EntryKey>, entry: &Entry) {
        match &entry.state {
            State::Waiting => {
                self.due.insert(entry.published.due_at, key, entry);
            }
            State::Ready => match entry.past.cooling_until {
                Some(until) => {
                    self.cooling.insert(until, key, entry);
                }
                None => {
                    if let Some(lane) = self.lanes.get_mut(&key.cluster) {
                        lane.line.insert(key, entry);
                    }
                }
            },
            State::Held { .. } => {
                if let Some(until) = look_again_at(entry) {
                    self.looks.insert(until, key, entry);
                }
            }
            State::Leased(_) => {}
        }
    }

    pub(super) fn unindex(&mut self, key: &Arc<EntryKey>, entry: &Entry) {
        match &entry.state {
            State::Waiting => {
                self.due.remove(entry.published.due_at, entry);
            }
            State::Ready => {
                if let Some(until) = entry.past.cooling_until {
                    self.cooling.remove(until, entry);
                } else if let Some(lane) = self.lanes.get_mut(&key.cluster) {
                    lane.line.remove(key, entry);
                }
            }
            State::Held { .. } => {
                if let Some(until) = look_again_at(entry) {
                    self.looks.remove(until, entry);
                }
            }
            State::Leased(_) => {}
        }
    }
}

/// When the aftermath of a lease is over by time, whatever else holds the entry.
pub(super) fn look_again_at(entry: &Entry) -> Option<Timestamp> {
    match entry.past.aftermath {
        Some(Aftermath::NoTarget { until, .. } | Aftermath::Wait { until, .. }) => Some(until),
        Some(Aftermath::NotNeeded { .. }) | None => None,
    }
}
