//! The regime, and the release of what is ready.

use std::sync::Arc;

use super::{Queue, Synced};
use crate::eviction::queue::entry::EntryKey;
use crate::eviction::queue::event::{Effect, GrantedLease, Leading, Moment, StreamId};
use crate::eviction::queue::lease::{Lease, LeaseId};
use crate::eviction::queue::order;
use crate::eviction::queue::view::PauseScopeView;
use crate::eviction::regime::{Fleet, Start, regime};

impl Queue {
    pub(super) fn judge_fleet(&mut self, now: Moment) {
        let start = if self.clusters_synced == Synced::No || self.pauses_synced == Synced::No {
            Start::NotSynced
        } else if now.elapsed < self.started + self.settings.leader_grace {
            Start::LeaderGrace
        } else {
            Start::Over
        };
        if self.judged_at == Some(start) {
            return;
        }
        self.judged_at = Some(start);
        let counted = || self.clusters.values().filter(|cluster| !cluster.is_being_deleted);
        let mut active = self.active_pauses.iter().filter_map(|name| self.pauses.get(name));
        let all = active.find(|pause| pause.scope == PauseScopeView::All);
        let fleet = Fleet {
            start,
            paused_by: all.map(|pause| (pause.name.as_str(), pause.reason.as_str())),
            clusters: counted().count(),
            faulty: counted().filter(|cluster| cluster.fault.is_some()).count(),
        };
        let verdict = regime(&fleet, &self.settings.regime);
        #[allow(clippy::float_cmp, reason = "a change of the setting, not a result of arithmetic")]
        if verdict.evictions_per_second != self.bucket.rate() {
            self.bucket.set_rate(verdict.evictions_per_second, now.elapsed);
        }
        self.verdict = verdict;
    }

    /// Whether anything but a token is missing for a release.
    pub(super) fn can_release(&self, now: Moment) -> bool {
        now.leading == Leading::Fresh
            && self.verdict.evictions_per_second > 0.0
            && self.leases.len() < self.settings.max_outstanding(self.verdict.evictions_per_second)
            && self.consumers.values().any(|consumer| consumer.credit > 0)
            && self.lanes.values().any(|lane| !lane.line.is_empty())
    }

    pub(super) fn release(&mut self, now: Moment) {
        while self.can_release(now) {
            let Some((lane, key)) = order::next(
                &self.lanes,
                self.served_last.as_ref(),
                now.wall,
                self.settings.starvation_limit,
            ) else {
                return;
            };
            let id = self.next_lease;
            if !self.bucket.take(id, now.elapsed) {
                return;
            }
            self.next_lease += 1;
            self.served_last = Some(lane);
            self.grant(id, &key, now);
        }
    }

    pub(super) fn grant(&mut self, id: LeaseId, key: &Arc<EntryKey>, now: Moment) {
        let Some((stream, identity)) = self.next_consumer() else {
            return;
        };
        self.change(key, now, |entry| entry.lease = Some(id));
        let Some(entry) = self.entries.get(key) else { return };
        let ends = now.elapsed + self.settings.lease_duration + self.settings.lease_margin;
        self.lease_ends.insert((ends, id));
        self.leases.insert(
            id,
            Lease {
                key: key.clone(),
                published: entry.published.clone(),
                consumer: stream,
                consumer_identity: identity,
                released_at: now.wall,
                ends,
                revoked: None,
                confirmed: false,
            },
        );
        self.effects.push(Effect::Grant {
            consumer: stream,
            lease: GrantedLease {
                id,
                published: entry.published.clone(),
                producer: entry.producer.clone(),
                queued_at: entry.queued_at,
                released_at: now.wall,
            },
        });
    }

    /// The consumers take turns.
    pub(super) fn next_consumer(&mut self) -> Option<(StreamId, Arc<str>)> {
        let after = self
            .consumers
            .range(self.served_consumer + 1..)
            .chain(self.consumers.range(..=self.served_consumer));
        let stream = after
            .into_iter()
            .find(|(_, consumer)| consumer.credit > 0)
            .map(|(stream, _)| *stream)?;
        self.served_consumer = stream;
        let consumer = self.consumers.get_mut(&stream)?;
        consumer.credit -= 1;
        Some((stream, consumer.identity.clone()))
    }

    pub(in crate::eviction::queue) fn consumer_count(&self) -> usize {
        self.consumers.len()
    }
}
