//! What consumers say: renewals and outcomes.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::{Queue, cool, later};
use crate::eviction::queue::changes::Removed;
use crate::eviction::queue::entry::{Entry, EntryKey, HoldReason};
use crate::eviction::queue::event::{CompleteResult, Completion, Effect, Moment, OutcomeKind, StreamId};
use crate::eviction::queue::lease::{Lease, LeaseId};
use crate::eviction::queue::outcome::{LeaseEnd, RecentOutcome};
use crate::eviction::queue::past::Aftermath;
use crate::second_owner;

impl Queue {
    /// Prolongs leases. They belong to the stream on which that was asked: a consumer whose stream broke renews on its
    /// next one, and hears there of what was revoked meanwhile. Those that were granted to somebody else stay with them.
    pub(super) fn renew(&mut self, stream: StreamId, leases: &[LeaseId], now: Moment) {
        let ends = now.elapsed + self.settings.lease_duration + self.settings.lease_margin;
        let mut renewed = Vec::new();
        for id in leases {
            let asks = self.consumers.get(&stream).map(|consumer| &consumer.identity);
            let Some(lease) = self
                .leases
                .get_mut(id)
                .filter(|lease| asks == Some(&lease.consumer_identity))
            else {
                continue;
            };
            lease.consumer = stream;
            if let Some(reason) = lease.revoked.clone() {
                self.effects.push(Effect::Revoke {
                    consumer: stream,
                    lease: *id,
                    reason,
                });
                continue;
            }
            self.lease_ends.remove(&(lease.ends, *id));
            lease.ends = ends;
            lease.confirmed = true;
            self.lease_ends.insert((ends, *id));
            renewed.push(*id);
        }
        self.effects.push(Effect::Renewed {
            consumer: stream,
            leases: renewed,
        });
    }

    /// A consumer's stream ended. What it never had confirmed it cannot have written on: that goes back at once, with
    /// its token. The rest runs on until it is completed or lapses.
    pub(super) fn consumer_left(&mut self, stream: StreamId, now: Moment) {
        self.consumers.remove(&stream);
        let unconfirmed = self
            .leases
            .iter()
            .filter(|(_, lease)| lease.consumer == stream && !lease.confirmed);
        for id in unconfirmed.map(|(id, _)| *id).collect::<Vec<_>>() {
            if let Some(lease) = self.end_lease(id) {
                self.bucket.give_back(id);
                self.after_lease(&lease.key, now, |entry| {
                    entry.past.last_outcome = "the evictor went away before it began".into();
                });
            }
        }
    }

    pub(super) fn complete(
        &mut self,
        id: LeaseId,
        key: &EntryKey,
        consumer: Option<&str>,
        completion: Completion,
        now: Moment,
    ) {
        if let Some(refused) = self.leases.get(&id).and_then(|lease| refused(lease, key, consumer)) {
            self.effects.push(Effect::Completed(refused));
            return;
        }
        let Some(lease) = self.end_lease(id) else {
            self.complete_late(id, key, consumer, completion, now);
            return;
        };
        let Completion {
            outcome,
            reason,
            message,
        } = completion;
        if outcome == OutcomeKind::Evicted {
            self.bucket.spend(id);
        } else {
            self.bucket.give_back(id);
        }
        // Of what is waited for, the one that a person ends is told apart.
        let held_for = match &*reason {
            second_owner::REASON => HoldReason::SecondOwner,
            _ => HoldReason::Wait,
        };
        self.finished(&lease, LeaseEnd::from(&outcome), reason, message.clone(), now);
        self.effects.push(Effect::Completed(CompleteResult::Accepted));
        if outcome == OutcomeKind::Evicted {
            if let Some((key, _)) = self.entries.get_key_value(&lease.key) {
                let key = key.clone();
                self.remove(&key, Removed::Evicted);
            }
            return;
        }
        let back_off = self.settings.back_off;
        // Whoever says when may have a clock that is behind: what is over already would be leased again at once, and
        // again.
        let soonest = later(now.wall, back_off.first);
        let in_bounds = |at: Timestamp, latest: Duration| at.min(later(now.wall, latest)).max(soonest);
        let (recheck, longest_wait) = (self.settings.no_target_recheck, self.settings.longest_wait);
        let message: Arc<str> = message.into();
        let mut first_without_target = false;
        self.after_lease(&lease.key, now, |entry| {
            entry.past.last_outcome = message.clone();
            if outcome == OutcomeKind::Failed {
                entry.past.failures = entry.past.failures.saturating_add(1);
                cool(entry, back_off.after(entry.past.failures), now);
            } else {
                entry.past.failures = 0;
            }
            entry.past.aftermath = match outcome {
                OutcomeKind::Evicted | OutcomeKind::Failed => None,
                OutcomeKind::NotNeeded {
                    binding_version,
                    cluster_version,
                } => Some(Aftermath::NotNeeded {
                    binding_version,
                    cluster_version,
                    message,
                }),
                OutcomeKind::NoTarget { recheck_at, rests_on } => {
                    first_without_target = !std::mem::replace(&mut entry.past.had_no_target, true);
                    Some(Aftermath::NoTarget {
                        until: in_bounds(recheck_at.unwrap_or(Timestamp::MAX), recheck),
                        message,
                        rests_on,
                    })
                }
                OutcomeKind::Wait { until } => Some(Aftermath::Wait {
                    held_for,
                    until: in_bounds(until, longest_wait),
                    message,
                }),
            };
        });
        if first_without_target {
            self.stats
                .entry(lease.key.cluster.clone())
                .or_default()
                .missed(now.elapsed);
        }
        self.ask_to_confirm(&lease.key);
    }

    /// The lease had ended before. Of a lapsed one it still counts, once, that its own entry was evicted: its token was
    /// spent when it lapsed, the rest is as of any eviction.
    fn complete_late(
        &mut self,
        id: LeaseId,
        key: &EntryKey,
        consumer: Option<&str>,
        completion: Completion,
        now: Moment,
    ) {
        let lapsed = self.lapsed.iter().position(|(lapsed, _)| *lapsed == id);
        if let Some(at) = lapsed.filter(|_| completion.outcome == OutcomeKind::Evicted) {
            if let Some(refused) = refused(&self.lapsed[at].1, key, consumer) {
                self.effects.push(Effect::Completed(refused));
                return;
            }
            if let Some((_, lease)) = self.lapsed.remove(at) {
                let Completion { reason, message, .. } = completion;
                self.finished(&lease, LeaseEnd::Evicted, reason, message, now);
            }
            let known = self.entries.get_key_value(key);
            if let Some((key, None)) = known.map(|(key, entry)| (key.clone(), entry.lease)) {
                self.remove(&key, Removed::Evicted);
            }
            // The cluster may be gone by now, and what is counted of it with it.
            self.close_lane(&key.cluster);
        }
        self.effects.push(Effect::Completed(CompleteResult::Late));
    }

    pub(super) fn end_lease(&mut self, id: LeaseId) -> Option<Lease> {
        let lease = self.leases.remove(&id)?;
        self.lease_ends.remove(&(lease.ends, id));
        Some(lease)
    }

    /// The lease of an entry ended without an eviction: it goes on, or goes if it was taken back meanwhile.
    pub(super) fn after_lease(&mut self, key: &Arc<EntryKey>, now: Moment, then: impl FnOnce(&mut Entry)) {
        let Some(entry) = self.entries.get(key) else { return };
        if let Some(reason) = entry.past.withdrawn {
            self.remove(key, Removed::Withdrawn(reason));
        } else {
            self.change(key, now, |entry| {
                entry.lease = None;
                then(entry);
            });
        }
    }

    pub(super) fn finished(&mut self, lease: &Lease, end: LeaseEnd, reason: String, message: String, now: Moment) {
        let stats = self.stats.entry(lease.key.cluster.clone()).or_default();
        match end {
            LeaseEnd::Evicted => stats.evicted(now.elapsed),
            LeaseEnd::Failed => stats.missed(now.elapsed),
            LeaseEnd::NotNeeded | LeaseEnd::NoTarget | LeaseEnd::Wait | LeaseEnd::Lapsed => {}
        }
        let recent = RecentOutcome {
            key: lease.key.clone(),
            published: lease.published.clone(),
            end,
            reason,
            message,
            released_at: lease.released_at,
            ended_at: now.wall,
            consumer: lease.consumer_identity.clone(),
        };
        if self.recent.len() == self.settings.outcomes_kept {
            self.recent.pop_front();
        }
        let recent = Arc::new(recent);
        self.recent.push_back(recent.clone());
        self.effects.push(Effect::Finished(recent));
    }
}

/// Why a word about a lease is not taken: it is about another entry, or from somebody else than who was granted it.
fn refused(lease: &Lease, key: &EntryKey, consumer: Option<&str>) -> Option<CompleteResult> {
    if *lease.key != *key {
        Some(CompleteResult::OtherEntry)
    } else if consumer.is_some_and(|consumer| *consumer != *lease.consumer_identity) {
        Some(CompleteResult::OtherConsumer)
    } else {
        None
    }
}
