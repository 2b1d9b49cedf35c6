//! Every index and count compared with what the entries say, for tests.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Queue;
use super::book::look_again_at;
use crate::eviction::queue::entry::State;
use crate::eviction::queue::line::Line;
use crate::eviction::queue::timeline::Timeline;

impl Queue {
    /// Compares every index and count with what the entries say.
    pub(in crate::eviction::queue) fn check(&self) {
        let (mut due, mut looks, mut cooling) = (Timeline::new(), Timeline::new(), Timeline::new());
        let mut eligible = BTreeMap::<_, Line>::new();
        let mut counts = BTreeMap::<_, usize>::new();
        for (key, entry) in self.entries.iter() {
            assert_eq!(*key, entry.published.key);
            *counts.entry(&key.cluster).or_default() += 1;
            match &entry.state {
                State::Waiting => due.insert(entry.published.due_at, key, entry),
                State::Ready => match entry.past.cooling_until {
                    Some(until) => cooling.insert(until, key, entry),
                    None => eligible.entry(&key.cluster).or_default().insert(key, entry),
                },
                State::Held { .. } => {
                    if let Some(until) = look_again_at(entry) {
                        looks.insert(until, key, entry);
                    }
                }
                State::Leased(id) => assert_eq!(self.leases[id].key, *key),
            }
        }
        self.changes.check(&self.entries);
        assert_eq!((&self.due, &self.looks, &self.cooling), (&due, &looks, &cooling));
        for (name, lane) in &self.lanes {
            let mut held = BTreeMap::<_, usize>::new();
            for (_, entry) in self.entries.on(name) {
                if let State::Held { reason, .. } = entry.state {
                    *held.entry(reason).or_default() += 1;
                }
            }
            assert_eq!(lane.held, held);
            assert_eq!(lane.line, eligible.remove(name).unwrap_or_default());
            assert_eq!(lane.totals.sum(), counts.remove(name).unwrap_or_default());
            assert_eq!(
                lane.kinds.iter().map(|(_, count)| count).sum::<usize>(),
                lane.totals.sum()
            );
        }
        assert!(eligible.is_empty() && counts.is_empty(), "every entry has a lane");
        assert_eq!(self.lease_ends.len(), self.leases.len());
        for (id, lease) in &self.leases {
            assert!(self.lease_ends.contains(&(lease.ends, *id)));
        }
    }

    /// Compares the order in which the entries of each lane go with that in which they are listed.
    pub(in crate::eviction::queue) fn check_order(&self, now: Timestamp) {
        let limit = self.settings.starvation_limit;
        for (name, lane) in &self.lanes {
            let listed = self.lane_entries(Some(name), now).pop().unwrap().into_order();
            let going: Vec<_> = listed.iter().filter(|entry| entry.is_eligible()).collect();
            let first = lane.line.first(now, limit).map(|key| &**key);
            assert_eq!(first, going.first().map(|entry| entry.key()));
            for (rank, entry) in going.iter().enumerate() {
                assert_eq!(lane.line.before(entry, now, limit), rank);
            }
        }
    }
}
