//! What producers say: their terms, their sets, and what they are asked to confirm.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Queue, Synced, cool};
use crate::eviction::desired_entry::same;
use crate::eviction::queue::entry::{Entry, EntryKey, Published, WithdrawReason};
use crate::eviction::queue::event::{Effect, Moment, StreamId};
use crate::eviction::queue::past::Aftermath;
use crate::eviction::queue::producer::{Grace, Link, Producer, ProducerEpoch, Silence};

impl Queue {
    pub(super) fn producer_hello(
        &mut self,
        stream: StreamId,
        name: &Arc<str>,
        epoch: ProducerEpoch,
        identity: String,
        now: Moment,
    ) {
        let link = Link::Syncing {
            stream,
            seen: BTreeSet::new(),
            silent: self.producers.get(name).and_then(Producer::silence),
        };
        let mut takeovers = self
            .producers
            .get(name)
            .map_or_else(Default::default, |producer| producer.takeovers.clone());
        if let Some(old) = self.producers.get(name)
            && old.stream().is_some()
            && old.identity != identity
        {
            takeovers.add(&old.identity, now.elapsed);
            self.effects.push(Effect::TakenOver { producer: name.clone() });
        }
        let reason = format!("producer {name} opened another stream, from {identity}; only the newest one publishes");
        let producer = Producer {
            epoch,
            identity,
            link,
            takeovers,
        };
        let before = self.producers.insert(name.clone(), producer);
        if let Some(old) = before.as_ref().and_then(Producer::stream) {
            self.effects.push(Effect::CloseStream { stream: old, reason });
        }
        if before.is_some_and(|old| old.silence().is_some_and(|silence| silence.grace == Grace::Over)) {
            // What the stream before had named before it broke off is as old as the rest.
            self.refresh_all_of(name, now);
        }
    }

    pub(super) fn producer_of(&self, stream: StreamId) -> Option<Arc<str>> {
        self.producers
            .iter()
            .find(|(_, p)| p.stream() == Some(stream))
            .map(|(name, _)| name.clone())
    }

    pub(super) fn upsert(&mut self, stream: StreamId, published: Vec<Published>, now: Moment) {
        let Some(name) = self.producer_of(stream) else { return };
        let room = self.settings.max_entries.saturating_sub(self.entries.len());
        let is_new = |entry: &&Published| !self.entries.contains_key(&entry.key);
        // While there is room for all of them nobody need count.
        let new = if published.len() > room {
            published.iter().filter(is_new).count()
        } else {
            0
        };
        if new > room && self.entries.len() + new - self.on_their_way_out(&name) > self.settings.max_entries {
            self.effects.push(Effect::QueueFull {
                stream,
                max_entries: self.settings.max_entries,
            });
            self.turned_away(&name, now);
            return;
        }
        if let Some((key, owner)) = self.of_another(&name, &published) {
            self.effects.push(Effect::KeyTaken { stream, key, owner });
            self.turned_away(&name, now);
            return;
        }
        for published in published {
            self.upsert_one(&name, published, now);
        }
    }

    /// A producer that we turn away is not one that stays away: what it published counts on, for the grace at least, or a
    /// full queue would hold what makes room.
    fn turned_away(&mut self, name: &Arc<str>, now: Moment) {
        let Some(producer) = self.producers.get_mut(name) else {
            return;
        };
        if let Link::Syncing { silent, .. } = &mut producer.link
            && let Some(silence) = silent.take()
            && silence.grace == Grace::Over
        {
            self.refresh_all_of(name, now);
        }
    }

    /// Derives the states of a producer's entries anew.
    pub(super) fn refresh_all_of(&mut self, producer: &Arc<str>, now: Moment) {
        for key in self.keys_of(producer) {
            self.refresh(&key, now);
        }
    }

    /// The first of these entries that another connected producer publishes. One that is away loses its entries to
    /// whoever publishes them: it may have come back under another name.
    fn of_another(&self, name: &Arc<str>, published: &[Published]) -> Option<(EntryKey, Arc<str>)> {
        if self.producers.len() < 2 {
            return None;
        }
        published.iter().find_map(|entry| {
            let owner = &self.entries.get(&entry.key)?.producer;
            let connected = self.producers.get(owner).is_some_and(|other| other.stream().is_some());
            (owner != name && connected).then(|| (EntryKey::clone(&entry.key), owner.clone()))
        })
    }

    /// Entries that a producer's snapshot has not named yet: they stay or go with it, and need no room of their own.
    pub(super) fn on_their_way_out(&self, producer: &Arc<str>) -> usize {
        match self.producers.get(producer).map(|producer| &producer.link) {
            Some(Link::Syncing { seen, .. }) => self.keys_of(producer).len().saturating_sub(seen.len()),
            _ => 0,
        }
    }

    /// Notes what a snapshot under way has named.
    fn named(&mut self, producer: &Arc<str>, key: &Arc<EntryKey>) {
        if let Some(Producer {
            link: Link::Syncing { seen, .. },
            ..
        }) = self.producers.get_mut(producer)
        {
            seen.insert(key.clone());
        }
    }

    pub(super) fn upsert_one(&mut self, producer: &Arc<str>, mut published: Published, now: Moment) {
        let known = self.entries.get_key_value(&published.key);
        let Some((key, known)) = known.map(|(key, entry)| (key.clone(), entry.clone())) else {
            if let Some(key) = self.changes.key_of_gone(&published.key) {
                published.key = key.clone();
            }
            let key = published.key.clone();
            self.named(producer, &key);
            self.next_serial += 1;
            let entry = Entry::new(published, producer.clone(), self.next_serial, now.wall);
            self.insert(key, entry, now);
            return;
        };
        self.named(producer, &key);
        published.key = key.clone();
        if known.past.withdrawn.is_none() && published.versions.older_than(&known.published.versions) {
            self.keep_the_newer(&key, producer, now);
            return;
        }
        let confirmed = known.past.aftermath.as_ref().is_some_and(|aftermath| match aftermath {
            Aftermath::NotNeeded {
                binding_version,
                cluster_version,
                ..
            } => published.versions.at_least_as_new(binding_version, cluster_version),
            Aftermath::NoTarget { .. } => {
                published.versions.binding_generation != known.published.versions.binding_generation
            }
            // Until when to wait follows from what is wanted. A newer version of the binding alone is no news: the queue's
            // own word is written there as a condition, so that an entry held anew would release itself for ever.
            Aftermath::Wait { .. } => !same(&known.published, &published),
        });
        let was_unneeded = matches!(known.past.aftermath, Some(Aftermath::NotNeeded { .. }));
        let back_off = self.settings.back_off;
        let producer = producer.clone();
        self.change(&key, now, |entry| {
            entry.producer = producer;
            entry.past.not_withdrawn();
            if *entry.published != published {
                entry.published = Arc::new(published);
            }
            entry.settle_order();
            if confirmed {
                entry.past.aftermath = None;
            }
            if confirmed && was_unneeded {
                entry.past.unneeded = entry.past.unneeded.saturating_add(1);
                cool(entry, back_off.after(entry.past.unneeded), now);
            }
        });
    }

    /// A producer that has just started may lag behind what it, or the one before, said already.
    fn keep_the_newer(&mut self, key: &Arc<EntryKey>, producer: &Arc<str>, now: Moment) {
        self.change(key, now, |entry| entry.producer = producer.clone());
        self.effects.push(Effect::Outdated);
        let Some(entry) = self.entries.get(key) else { return };
        if let Some(stream) = self.producers.get(producer).and_then(Producer::stream) {
            self.effects.push(Effect::Confirm {
                producer: stream,
                key: key.clone(),
                binding_version: entry.published.versions.binding.to_string(),
                cluster_version: entry.published.versions.cluster.to_string(),
                message: "it was published from an older state than the queue has".into(),
            });
        }
    }

    pub(super) fn withdraw(&mut self, stream: StreamId, entries: Vec<(EntryKey, WithdrawReason)>, now: Moment) {
        let Some(name) = self.producer_of(stream) else { return };
        for (key, reason) in entries {
            let Some((key, entry)) = self.entries.get_key_value(&key) else {
                continue;
            };
            if entry.producer == name {
                let key = key.clone();
                if let Some(Producer {
                    link: Link::Syncing { seen, .. },
                    ..
                }) = self.producers.get_mut(&name)
                {
                    seen.remove(&key);
                }
                self.take_back(&key, reason, now);
            }
        }
    }

    pub(super) fn snapshot_complete(&mut self, stream: StreamId, now: Moment) {
        let Some(name) = self.producer_of(stream) else { return };
        let Some(producer) = self.producers.get_mut(&name) else {
            return;
        };
        let link = std::mem::replace(&mut producer.link, Link::Synced { stream });
        if let Link::Syncing { seen, .. } = link {
            for key in self.keys_of(&name) {
                if !seen.contains(&key) {
                    let recovered = self.clusters_synced == Synced::Yes && !self.stands(&key);
                    let reason = if recovered {
                        WithdrawReason::ClusterRecovered
                    } else {
                        WithdrawReason::NotPublished
                    };
                    self.take_back(&key, reason, now);
                }
            }
        }
        let keys = self.keys_of(&name);
        self.effects.push(Effect::SnapshotAccepted {
            producer: stream,
            entries: keys.len(),
        });
        for key in keys {
            self.ask_to_confirm(&key);
        }
    }

    pub(super) fn producer_left(&mut self, stream: StreamId, now: Moment) {
        if let Some(name) = self.producer_of(stream)
            && let Some(producer) = self.producers.get_mut(&name)
        {
            producer.link = Link::Away(producer.silence().unwrap_or(Silence {
                since: now.elapsed,
                since_wall: now.wall,
                grace: Grace::Runs,
            }));
            if producer.is_gone() {
                // What the snapshot that broke off had named, and what recovered while it was under way.
                self.refresh_all_of(&name, now);
                self.drop_recovered_of_gone(now);
            }
            self.producers_age(now);
        }
    }

    /// Tells the producer what it has to speak of anew: what an evictor found not needed, and what was ordered and is
    /// written since.
    pub(super) fn ask_to_confirm(&mut self, key: &Arc<EntryKey>) {
        let Some(entry) = self.entries.get(key) else { return };
        let Some(producer) = self.producers.get(&entry.producer).and_then(Producer::stream) else {
            return;
        };
        let (binding_version, cluster_version, message) = match (&entry.past.aftermath, &entry.order) {
            (
                Some(Aftermath::NotNeeded {
                    binding_version,
                    cluster_version,
                    message,
                }),
                _,
            ) => (binding_version.clone(), cluster_version.clone(), message.clone()),
            (_, Some(order)) => match &order.written_in {
                Some(version) => (
                    version.clone(),
                    entry.published.versions.cluster.to_string(),
                    order.to_string().into(),
                ),
                None => return,
            },
            (_, None) => return,
        };
        self.effects.push(Effect::Confirm {
            producer,
            key: key.clone(),
            binding_version,
            cluster_version,
            message,
        });
    }
}
