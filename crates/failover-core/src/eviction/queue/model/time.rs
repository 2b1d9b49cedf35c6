//! What time brings: entries become due, holds and back-offs end, leases lapse, producers stay away too long.

use super::{LAPSED_KEPT, Queue};
use crate::eviction::queue::changes::Removed;
use crate::eviction::queue::event::{Effect, Moment};
use crate::eviction::queue::lease::LeaseId;
use crate::eviction::queue::outcome::LeaseEnd;
use crate::eviction::queue::producer::{Grace, Link};

impl Queue {
    /// Everything that time brings.
    pub(super) fn pass(&mut self, now: Moment) {
        while let Some(key) = self.due.due(now.wall) {
            self.refresh(&key, now);
            if self.due.due(now.wall).is_some_and(|first| first == key) {
                break;
            }
        }
        while let Some(key) = self.looks.due(now.wall) {
            self.change(&key, now, |entry| entry.past.aftermath = None);
        }
        while let Some(key) = self.cooling.due(now.elapsed) {
            self.change(&key, now, |entry| {
                entry.past.cooling_until = None;
                entry.past.not_before = None;
            });
        }
        while let Some((_, lease)) = self.lease_ends.first().filter(|(at, _)| *at <= now.elapsed).copied() {
            self.lapse(lease, now);
        }
        self.producers_age(now);
        let still_active = self
            .active_pauses
            .iter()
            .all(|name| self.pauses.get(name).is_some_and(|p| p.is_active(now.wall)));
        if !still_active {
            self.pauses_changed(now);
        }
        self.judge_fleet(now);
    }

    pub(super) fn lapse(&mut self, id: LeaseId, now: Moment) {
        let Some(lease) = self.end_lease(id) else { return };
        // Nobody knows what happened, so the token stays spent.
        self.bucket.spend(id);
        if self.lapsed.len() == LAPSED_KEPT {
            self.lapsed.pop_front();
        }
        self.finished(
            &lease,
            LeaseEnd::Lapsed,
            LeaseEnd::Lapsed.as_str().to_owned(),
            format!(
                "consumer {} did not complete the lease in time",
                lease.consumer_identity
            ),
            now,
        );
        self.after_lease(&lease.key, now, |entry| {
            entry.past.last_outcome = "the lease lapsed".into();
        });
        self.lapsed.push_back((id, lease));
    }

    pub(super) fn producers_age(&mut self, now: Moment) {
        let mut gone = Vec::new();
        let mut forgotten = Vec::new();
        for (name, producer) in &mut self.producers {
            // Who is about to name its entries is not forgotten, however long that takes.
            let (silence, is_away) = match &mut producer.link {
                Link::Away(silence) => (silence, true),
                Link::Syncing {
                    silent: Some(silence), ..
                } => (silence, false),
                Link::Syncing { silent: None, .. } | Link::Synced { .. } => continue,
            };
            let silent_for = now.elapsed.saturating_sub(silence.since);
            if is_away && silent_for >= self.settings.producer_retention {
                forgotten.push((name.clone(), silence.since_wall));
            } else if silence.grace == Grace::Runs && silent_for >= self.settings.producer_grace {
                silence.grace = Grace::Over;
                gone.push(name.clone());
            }
        }
        for name in gone {
            self.refresh_all_of(&name, now);
            self.drop_recovered_of_gone(now);
        }
        for (name, since) in forgotten {
            let keys = self.keys_of(&name);
            for key in &keys {
                self.remove(key, Removed::ProducerGone);
            }
            self.producers.remove(&name);
            if !keys.is_empty() {
                self.effects.push(Effect::ProducerForgotten {
                    producer: name,
                    entries: keys.len(),
                    since,
                });
            }
        }
    }
}
