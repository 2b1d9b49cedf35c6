//! The queue itself: events in, effects out, and the one place where an entry's state is derived and indexed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use jiff::{SignedDuration, Timestamp};

use super::changes::{Changes, Removed};
use super::entry::{Aftermath, Entry, EntryKey, HoldReason, Published, State, WithdrawReason};
use super::event::{
    CompleteResult, Completion, Effect, Event, GrantedLease, Leading, Moment, OutcomeKind, StreamId, Wake,
};
use super::lane::{Lane, Step};
use super::lease::{Lease, LeaseId};
use super::order;
use super::outcome::{ClusterStats, LAPSED, RecentOutcome};
use super::producer::{EpochCheck, Link, Producer, ProducerEpoch};
use super::settings::QueueSettings;
use super::view::{ClusterView, PauseScopeView, PauseView};
use crate::eviction::bucket::Bucket;
use crate::eviction::regime::{Fleet, RegimeVerdict, Start, regime};

/// How many lapsed leases are remembered, so that a late word about them is understood.
const LAPSED_KEPT: usize = 1_000;

/// The eviction queue of one term of one leader.
#[derive(Clone, Debug)]
pub struct Queue {
    pub(super) settings: QueueSettings,
    pub(super) entries: BTreeMap<Arc<EntryKey>, Arc<Entry>>,
    pub(super) lanes: BTreeMap<ClusterName, Lane>,
    pub(super) served_last: Option<ClusterName>,
    /// Waiting, by due time.
    due: BTreeSet<(Timestamp, Arc<EntryKey>)>,
    /// Held until a time.
    looks: BTreeSet<(Timestamp, Arc<EntryKey>)>,
    /// Ready with a back-off.
    cooling: BTreeSet<(Duration, Arc<EntryKey>)>,
    pub(super) bucket: Bucket,
    pub(super) leases: BTreeMap<LeaseId, Lease>,
    lease_ends: BTreeSet<(Duration, LeaseId)>,
    lapsed: VecDeque<LeaseId>,
    next_lease: LeaseId,
    consumers: BTreeMap<StreamId, Consumer>,
    served_consumer: StreamId,
    pub(super) producers: BTreeMap<Arc<str>, Producer>,
    pub(super) clusters: BTreeMap<ClusterName, ClusterView>,
    clusters_synced: Synced,
    pub(super) pauses: BTreeMap<String, PauseView>,
    /// Names of the pauses in effect.
    active_pauses: Vec<String>,
    pauses_synced: Synced,
    started: Duration,
    /// What the verdict on the fleet was made from; absent: judge anew.
    judged_at: Option<Start>,
    pub(super) verdict: RegimeVerdict,
    pub(super) changes: Changes,
    pub(super) recent: VecDeque<RecentOutcome>,
    pub(super) stats: BTreeMap<ClusterName, ClusterStats>,
    effects: Vec<Effect>,
}

#[derive(Clone, Debug)]
struct Consumer {
    identity: Arc<str>,
    credit: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Synced {
    Yes,
    No,
}

impl Queue {
    /// An empty queue of a leader whose term begins now, with an empty bucket.
    #[must_use]
    pub fn new(settings: QueueSettings, now: Moment) -> Self {
        let fleet = Fleet {
            start: Start::NotSynced,
            paused_by: None,
            clusters: 0,
            faulty: 0,
        };
        Self {
            verdict: regime(&fleet, &settings.regime),
            changes: Changes::new(settings.changes_kept),
            settings,
            entries: BTreeMap::new(),
            lanes: BTreeMap::new(),
            served_last: None,
            due: BTreeSet::new(),
            looks: BTreeSet::new(),
            cooling: BTreeSet::new(),
            bucket: Bucket::empty(now.elapsed),
            leases: BTreeMap::new(),
            lease_ends: BTreeSet::new(),
            lapsed: VecDeque::new(),
            next_lease: 1,
            consumers: BTreeMap::new(),
            served_consumer: 0,
            producers: BTreeMap::new(),
            clusters: BTreeMap::new(),
            clusters_synced: Synced::No,
            pauses: BTreeMap::new(),
            active_pauses: Vec::new(),
            pauses_synced: Synced::No,
            started: now.elapsed,
            judged_at: None,
            recent: VecDeque::new(),
            stats: BTreeMap::new(),
            effects: Vec::new(),
        }
    }

    /// Takes an event and everything that time brought until `now`; returns what is to be done, in order.
    pub fn apply(&mut self, event: Event, now: Moment) -> Vec<Effect> {
        self.pass(now);
        match event {
            Event::Tick => {}
            Event::ClusterSeen(view) => self.cluster_seen(view, now),
            Event::ClusterGone(name) => self.cluster_gone(&name, now),
            Event::ClustersSynced => self.clusters_synced = Synced::Yes,
            // Our own word on its status is no news.
            Event::PauseSeen(view) if self.pauses.get(&view.name) == Some(&view) => {}
            Event::PauseSeen(view) => {
                self.pauses.insert(view.name.clone(), view);
                self.pauses_changed(now);
            }
            Event::PauseGone(name) => {
                self.pauses.remove(&name);
                self.pauses_changed(now);
            }
            Event::PausesSynced => self.pauses_synced = Synced::Yes,
            Event::ProducerHello {
                stream,
                producer,
                epoch,
                identity,
            } => {
                self.producer_hello(stream, &producer.into(), epoch, identity, now);
            }
            Event::Upsert { stream, entries } => self.upsert(stream, entries, now),
            Event::Withdraw { stream, entries } => self.withdraw(stream, entries, now),
            Event::SnapshotComplete { stream } => self.snapshot_complete(stream, now),
            Event::ProducerLeft { stream } => self.producer_left(stream, now),
            Event::ConsumerHello { stream, identity } => {
                self.consumers.insert(
                    stream,
                    Consumer {
                        identity: identity.into(),
                        credit: 0,
                    },
                );
            }
            Event::Credit { stream, leases } => {
                if let Some(consumer) = self.consumers.get_mut(&stream) {
                    consumer.credit = consumer.credit.saturating_add(leases);
                }
            }
            Event::Renew { stream, leases } => self.renew(stream, &leases, now),
            Event::ConsumerLeft { stream } => {
                self.consumers.remove(&stream);
            }
            Event::Complete { lease, key, completion } => self.complete(lease, &key, completion, now),
        }
        self.judge_fleet(now);
        self.release(now);
        std::mem::take(&mut self.effects)
    }

    /// When time alone changes something next.
    #[must_use]
    pub fn next_wake(&self, now: Moment) -> Wake {
        let pauses_end = self
            .pauses
            .values()
            .filter_map(|pause| pause.until.filter(|until| *until > now.wall));
        let wall = self.due.first().map(|(at, _)| *at).into_iter();
        let wall = wall
            .chain(self.looks.first().map(|(at, _)| *at))
            .chain(pauses_end)
            .min();

        let leader_grace_ends = self.started + self.settings.leader_grace;
        let token = self
            .can_release(now)
            .then(|| self.bucket.ready_in(now.elapsed))
            .flatten();
        let elapsed = self.cooling.first().map(|(at, _)| *at).into_iter();
        let elapsed = elapsed
            .chain(self.lease_ends.first().map(|(at, _)| *at))
            .chain((leader_grace_ends > now.elapsed).then_some(leader_grace_ends))
            .chain(self.producers.values().filter_map(|producer| match producer.link {
                Link::Away { since, .. } => Some(since + self.settings.producer_grace),
                Link::Gone { since, .. } => Some(since + self.settings.producer_retention),
                Link::Syncing { .. } | Link::Synced { .. } => None,
            }))
            .chain(token.map(|wait| now.elapsed + wait))
            .min();
        Wake { wall, elapsed }
    }

    /// Whether a term of a producer may publish. A producer that was never heard may.
    #[must_use]
    pub fn check_epoch(&self, producer: &str, epoch: &ProducerEpoch) -> EpochCheck {
        self.producers
            .get(producer)
            .map_or(EpochCheck::Accept, |known| known.check(epoch))
    }

    // ---- time

    /// Everything that time brings.
    fn pass(&mut self, now: Moment) {
        while let Some((_, key)) = self.due.first().filter(|(at, _)| *at <= now.wall).cloned() {
            self.refresh(&key, now);
            if self.due.first().is_some_and(|(_, first)| *first == key) {
                break;
            }
        }
        while let Some((_, key)) = self.looks.first().filter(|(at, _)| *at <= now.wall).cloned() {
            self.change(&key, now, |entry| entry.aftermath = None);
        }
        while let Some((_, key)) = self.cooling.first().filter(|(at, _)| *at <= now.elapsed).cloned() {
            self.change(&key, now, |entry| {
                entry.cooling_until = None;
                entry.not_before = None;
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

    fn lapse(&mut self, id: LeaseId, now: Moment) {
        let Some(lease) = self.end_lease(id) else { return };
        // Nobody knows what happened, so the token stays spent.
        self.bucket.spend(id);
        if self.lapsed.len() == LAPSED_KEPT {
            self.lapsed.pop_front();
        }
        self.lapsed.push_back(id);
        self.finished(
            &lease,
            LAPSED,
            LAPSED.to_owned(),
            format!(
                "consumer {} did not complete the lease in time",
                lease.consumer_identity
            ),
            now,
        );
        self.after_lease(&lease.key, now, |entry| entry.last_outcome = "the lease lapsed".into());
    }

    fn producers_age(&mut self, now: Moment) {
        let mut gone = Vec::new();
        let mut forgotten = Vec::new();
        for (name, producer) in &mut self.producers {
            match producer.link {
                Link::Away { since, since_wall } if now.elapsed >= since + self.settings.producer_grace => {
                    producer.link = Link::Gone { since, since_wall };
                    gone.push(name.clone());
                }
                Link::Gone { since, .. } if now.elapsed >= since + self.settings.producer_retention => {
                    forgotten.push(name.clone());
                }
                _ => {}
            }
        }
        for name in gone {
            for key in self.keys_of(&name) {
                self.refresh(&key, now);
            }
            self.drop_recovered_of_gone(now);
        }
        for name in forgotten {
            for key in self.keys_of(&name) {
                self.remove(&key, Removed::ProducerGone);
            }
            self.producers.remove(&name);
        }
    }

    // ---- clusters and pauses

    fn cluster_seen(&mut self, view: ClusterView, now: Moment) {
        let name = view.name.clone();
        self.judged_at = None;
        let before = self.clusters.insert(name.clone(), view);
        let view = &self.clusters[&name];
        let causes_changed = before
            .as_ref()
            .is_none_or(|b| b.causes != view.causes || b.uid != view.uid);
        let place_changed = before.as_ref().is_none_or(|b| b.as_a_place != view.as_a_place);
        match &view.fault {
            Some(fault) => {
                let since = fault.since.unwrap_or(now.wall);
                let lane = self.lanes.entry(name.clone()).or_insert_with(|| Lane::new(since));
                lane.since = since;
            }
            None => self.close_lane(&name),
        }
        if causes_changed {
            self.refresh_cluster(&name, now);
        }
        if place_changed {
            self.look_for_targets_again(now);
        }
    }

    fn cluster_gone(&mut self, name: &ClusterName, now: Moment) {
        self.judged_at = None;
        if self.clusters.remove(name).is_some() {
            self.refresh_cluster(name, now);
            self.close_lane(name);
        }
        if !self.lanes.contains_key(name) {
            self.stats.remove(name);
        }
    }

    fn refresh_cluster(&mut self, name: &ClusterName, now: Moment) {
        for key in self.keys_on(name) {
            self.refresh(&key, now);
        }
        self.drop_recovered_of_gone(now);
    }

    /// A cluster may have become a place: who found none is judged again.
    fn look_for_targets_again(&mut self, now: Moment) {
        let without_target: Vec<_> = self
            .looks
            .iter()
            .map(|(_, key)| key)
            .filter(|key| {
                self.entries
                    .get(*key)
                    .is_some_and(|e| matches!(e.aftermath, Some(Aftermath::NoTarget { .. })))
            })
            .cloned()
            .collect();
        for key in without_target {
            self.change(&key, now, |entry| entry.aftermath = None);
        }
    }

    /// Of a producer that is gone nobody takes back what recovered.
    fn drop_recovered_of_gone(&mut self, now: Moment) {
        let gone: Vec<_> = self
            .producers
            .iter()
            .filter(|(_, p)| p.is_gone())
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            for key in self.keys_of(&name) {
                if self.clusters_synced == Synced::Yes && !self.stands(&key) {
                    self.take_back(&key, WithdrawReason::ClusterRecovered, now);
                }
            }
        }
    }

    fn pauses_changed(&mut self, now: Moment) {
        let active = self.pauses.values().filter(|pause| pause.is_active(now.wall));
        self.active_pauses = active.map(|pause| pause.name.clone()).collect();
        self.judged_at = None;
        for key in self.entries.keys().cloned().collect::<Vec<_>>() {
            self.refresh(&key, now);
        }
    }

    // ---- producers

    fn producer_hello(
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
        };
        let before = self.producers.insert(name.clone(), Producer { epoch, identity, link });
        if let Some(old) = before.as_ref().and_then(Producer::stream) {
            let reason = format!("producer {name} opened another stream");
            self.effects.push(Effect::CloseStream { stream: old, reason });
        }
        if before.is_some_and(|producer| producer.is_gone()) {
            for key in self.keys_of(name) {
                self.refresh(&key, now);
            }
        }
    }

    fn producer_of(&self, stream: StreamId) -> Option<Arc<str>> {
        self.producers
            .iter()
            .find(|(_, p)| p.stream() == Some(stream))
            .map(|(name, _)| name.clone())
    }

    fn upsert(&mut self, stream: StreamId, published: Vec<Published>, now: Moment) {
        let Some(name) = self.producer_of(stream) else { return };
        let new = published
            .iter()
            .filter(|entry| !self.entries.contains_key(&entry.key))
            .count();
        if self.entries.len() + new > self.settings.max_entries
            && self.entries.len() + new - self.on_their_way_out(&name) > self.settings.max_entries
        {
            self.effects.push(Effect::QueueFull {
                stream,
                max_entries: self.settings.max_entries,
            });
            return;
        }
        for published in published {
            let key = self.upsert_one(&name, published, now);
            if let Some(Producer {
                link: Link::Syncing { seen, .. },
                ..
            }) = self.producers.get_mut(&name)
            {
                seen.insert(key);
            }
        }
    }

    /// Entries that a producer's snapshot has not named yet: they stay or go with it, and need no room of their own.
    fn on_their_way_out(&self, producer: &Arc<str>) -> usize {
        match self.producers.get(producer).map(|producer| &producer.link) {
            Some(Link::Syncing { seen, .. }) => self.keys_of(producer).len().saturating_sub(seen.len()),
            _ => 0,
        }
    }

    fn upsert_one(&mut self, producer: &Arc<str>, published: Published, now: Moment) -> Arc<EntryKey> {
        let Some((key, known)) = self.entries.get_key_value(&published.key) else {
            let key = Arc::new(published.key.clone());
            self.insert(key.clone(), Entry::new(published, producer.clone(), now.wall), now);
            return key;
        };
        let (key, known) = (key.clone(), known.clone());
        let confirmed = known.aftermath.as_ref().is_some_and(|aftermath| match aftermath {
            Aftermath::NotNeeded {
                binding_version,
                cluster_version,
                ..
            } => published.versions.at_least_as_new(binding_version, cluster_version),
            Aftermath::NoTarget { .. } => {
                published.versions.binding_generation != known.published.versions.binding_generation
            }
            Aftermath::Wait { .. } => false,
        });
        let was_unneeded = matches!(known.aftermath, Some(Aftermath::NotNeeded { .. }));
        let back_off = self.settings.back_off;
        let producer = producer.clone();
        self.change(&key, now, |entry| {
            entry.producer = producer;
            entry.withdrawn = None;
            if *entry.published != published {
                entry.published = Arc::new(published);
            }
            if confirmed {
                entry.aftermath = None;
            }
            if confirmed && was_unneeded {
                entry.unneeded = entry.unneeded.saturating_add(1);
                cool(entry, back_off.after(entry.unneeded), now);
            }
        });
        key
    }

    fn withdraw(&mut self, stream: StreamId, entries: Vec<(EntryKey, WithdrawReason)>, now: Moment) {
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

    fn snapshot_complete(&mut self, stream: StreamId, now: Moment) {
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

    fn producer_left(&mut self, stream: StreamId, now: Moment) {
        if let Some(name) = self.producer_of(stream)
            && let Some(producer) = self.producers.get_mut(&name)
        {
            producer.link = Link::Away {
                since: now.elapsed,
                since_wall: now.wall,
            };
        }
    }

    /// Tells the producer what an evictor found not needed.
    fn ask_to_confirm(&mut self, key: &Arc<EntryKey>) {
        if let Some(entry) = self.entries.get(key)
            && let Some(Aftermath::NotNeeded {
                binding_version,
                cluster_version,
                message,
            }) = &entry.aftermath
            && let Some(producer) = self.producers.get(&entry.producer).and_then(Producer::stream)
        {
            self.effects.push(Effect::Confirm {
                producer,
                key: key.clone(),
                binding_version: binding_version.clone(),
                cluster_version: cluster_version.clone(),
                message: message.clone(),
            });
        }
    }

    // ---- leases

    fn renew(&mut self, stream: StreamId, leases: &[LeaseId], now: Moment) {
        let ends = now.elapsed + self.settings.lease_duration + self.settings.lease_margin;
        let mut renewed = Vec::new();
        for id in leases {
            if let Some(lease) = self.leases.get_mut(id).filter(|lease| !lease.revoked) {
                self.lease_ends.remove(&(lease.ends, *id));
                lease.ends = ends;
                self.lease_ends.insert((ends, *id));
                renewed.push(*id);
            }
        }
        self.effects.push(Effect::Renewed {
            consumer: stream,
            leases: renewed,
        });
    }

    fn complete(&mut self, id: LeaseId, key: &EntryKey, completion: Completion, now: Moment) {
        let Some(lease) = self.end_lease(id) else {
            let evicted_late = completion.outcome == OutcomeKind::Evicted && self.lapsed.contains(&id);
            let known = self
                .entries
                .get_key_value(key)
                .map(|(key, entry)| (key.clone(), entry.lease));
            if let Some((key, None)) = known.filter(|_| evicted_late) {
                self.remove(&key, Removed::Evicted);
            }
            self.effects.push(Effect::Completed(CompleteResult::Late));
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
        self.finished(&lease, outcome.as_str(), reason, message.clone(), now);
        self.effects.push(Effect::Completed(CompleteResult::Accepted));
        if outcome == OutcomeKind::Evicted {
            if let Some((key, _)) = self.entries.get_key_value(&lease.key) {
                let key = key.clone();
                self.remove(&key, Removed::Evicted);
            }
            return;
        }
        let (back_off, recheck) = (self.settings.back_off, self.settings.no_target_recheck);
        let message: Arc<str> = message.into();
        let mut first_without_target = false;
        self.after_lease(&lease.key, now, |entry| {
            entry.last_outcome = message.clone();
            if outcome == OutcomeKind::Failed {
                entry.failures = entry.failures.saturating_add(1);
                cool(entry, back_off.after(entry.failures), now);
            } else {
                entry.failures = 0;
            }
            entry.aftermath = match outcome {
                OutcomeKind::Evicted | OutcomeKind::Failed => None,
                OutcomeKind::NotNeeded {
                    binding_version,
                    cluster_version,
                } => Some(Aftermath::NotNeeded {
                    binding_version,
                    cluster_version,
                    message,
                }),
                OutcomeKind::NoTarget { recheck_at } => {
                    first_without_target = !std::mem::replace(&mut entry.had_no_target, true);
                    let latest = later(now.wall, recheck);
                    Some(Aftermath::NoTarget {
                        until: recheck_at.map_or(latest, |at| at.min(latest)),
                        message,
                    })
                }
                OutcomeKind::Wait { until } => Some(Aftermath::Wait { until, message }),
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

    fn end_lease(&mut self, id: LeaseId) -> Option<Lease> {
        let lease = self.leases.remove(&id)?;
        self.lease_ends.remove(&(lease.ends, id));
        Some(lease)
    }

    /// The lease of an entry ended without an eviction: it goes on, or goes if it was taken back meanwhile.
    fn after_lease(&mut self, key: &Arc<EntryKey>, now: Moment, then: impl FnOnce(&mut Entry)) {
        let Some(entry) = self.entries.get(key) else { return };
        if let Some(reason) = entry.withdrawn {
            self.remove(key, Removed::Withdrawn(reason));
        } else {
            self.change(key, now, |entry| {
                entry.lease = None;
                then(entry);
            });
        }
    }

    fn finished(&mut self, lease: &Lease, outcome: &'static str, reason: String, message: String, now: Moment) {
        let stats = self.stats.entry(lease.key.cluster.clone()).or_default();
        match outcome {
            "Evicted" => stats.evicted(now.elapsed),
            "Failed" => stats.missed(now.elapsed),
            _ => {}
        }
        let recent = RecentOutcome {
            key: lease.key.clone(),
            template: lease.published.template.clone(),
            outcome,
            reason,
            message,
            due_at: lease.published.due_at,
            released_at: lease.released_at,
            ended_at: now.wall,
            consumer: lease.consumer_identity.clone(),
        };
        if self.recent.len() == self.settings.outcomes_kept {
            self.recent.pop_front();
        }
        self.recent.push_back(recent.clone());
        self.effects.push(Effect::Finished(Box::new(recent)));
    }

    // ---- regime and release

    fn judge_fleet(&mut self, now: Moment) {
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
    fn can_release(&self, now: Moment) -> bool {
        now.leading == Leading::Fresh
            && self.verdict.evictions_per_second > 0.0
            && self.leases.len() < self.settings.max_outstanding(self.verdict.evictions_per_second)
            && self.consumers.values().any(|consumer| consumer.credit > 0)
            && self.lanes.values().any(|lane| !lane.by_age.is_empty())
    }

    fn release(&mut self, now: Moment) {
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

    fn grant(&mut self, id: LeaseId, key: &Arc<EntryKey>, now: Moment) {
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
                revoked: false,
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
    fn next_consumer(&mut self) -> Option<(StreamId, Arc<str>)> {
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

    pub(super) fn consumer_count(&self) -> usize {
        self.consumers.len()
    }

    // ---- entries: the one place where states are derived and indexes kept

    fn keys_on(&self, cluster: &ClusterName) -> Vec<Arc<EntryKey>> {
        self.entries_on(cluster).map(|(key, _)| key.clone()).collect()
    }

    /// The entries on a cluster: neighbours, since keys sort by cluster first.
    pub(super) fn entries_on<'a>(
        &'a self,
        cluster: &'a ClusterName,
    ) -> impl Iterator<Item = (&'a Arc<EntryKey>, &'a Arc<Entry>)> {
        let first = EntryKey {
            cluster: cluster.clone(),
            cluster_uid: String::new(),
            binding: api_types::BindingKey::cluster(""),
            binding_uid: String::new(),
            cause: crate::eviction::Cause::Taint {
                key: String::new(),
                effect: String::new(),
                added_at: Timestamp::MIN,
            },
        };
        self.entries
            .range(first..)
            .take_while(move |(key, _)| key.cluster == *cluster)
    }

    fn keys_of(&self, producer: &str) -> Vec<Arc<EntryKey>> {
        self.entries
            .iter()
            .filter(|(_, entry)| &*entry.producer == producer)
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Whether the cause of an entry stands as far as the queue sees.
    fn stands(&self, key: &EntryKey) -> bool {
        self.clusters
            .get(&key.cluster)
            .is_some_and(|cluster| cluster.shows(key))
    }

    fn insert(&mut self, key: Arc<EntryKey>, mut entry: Entry, now: Moment) {
        entry.state = self.derive(&entry, now);
        entry.since = match entry.state {
            State::Ready => entry.published.due_at,
            _ => now.wall,
        };
        let lane = self
            .lanes
            .entry(key.cluster.clone())
            .or_insert_with(|| Lane::new(now.wall));
        lane.count(&entry, Step::In);
        let entry = Arc::new(entry);
        self.index(&key, &entry);
        self.changes.push(entry.clone(), None);
        self.entries.insert(key, entry);
    }

    fn refresh(&mut self, key: &Arc<EntryKey>, now: Moment) {
        self.change(key, now, |_| {});
    }

    /// Changes an entry, derives its state anew, and keeps every index and the log of changes in step.
    fn change(&mut self, key: &Arc<EntryKey>, now: Moment, how: impl FnOnce(&mut Entry)) {
        let Some(before) = self.entries.get(key).cloned() else {
            return;
        };
        let mut entry = (*before).clone();
        how(&mut entry);
        entry.state = self.derive(&entry, now);
        if !entry.state.same_kind(&before.state) {
            entry.since = match (&entry.state, &before.state) {
                (State::Ready, State::Waiting) => entry.published.due_at,
                _ => now.wall,
            };
        }
        self.revoke_when_over(&entry, now);
        if entry == *before {
            return;
        }
        self.unindex(key, &before);
        if let Some(lane) = self.lanes.get_mut(&key.cluster) {
            lane.count(&before, Step::Out);
            lane.count(&entry, Step::In);
        }
        let entry = Arc::new(entry);
        self.index(key, &entry);
        self.changes.push(entry.clone(), None);
        self.entries.insert(key.clone(), entry);
    }

    fn remove(&mut self, key: &Arc<EntryKey>, why: Removed) {
        let Some(entry) = self.entries.remove(key) else { return };
        self.unindex(key, &entry);
        if let Some(lane) = self.lanes.get_mut(&key.cluster) {
            lane.count(&entry, Step::Out);
        }
        self.changes.push(entry, Some(why));
        self.close_lane(&key.cluster);
    }

    /// A producer takes an entry back. While a consumer works on it nobody knows whether it was evicted: it stays, not
    /// to be released again, until the lease has ended.
    fn take_back(&mut self, key: &Arc<EntryKey>, reason: WithdrawReason, now: Moment) {
        match self.entries.get(key).map(|entry| entry.lease) {
            Some(Some(_)) => self.change(key, now, |entry| entry.withdrawn = Some(reason)),
            Some(None) => self.remove(key, Removed::Withdrawn(reason)),
            None => {}
        }
    }

    fn close_lane(&mut self, cluster: &ClusterName) {
        let faulty = self.clusters.get(cluster).is_some_and(|view| view.fault.is_some());
        if !faulty && self.lanes.get(cluster).is_some_and(Lane::is_empty) {
            self.lanes.remove(cluster);
            if !self.clusters.contains_key(cluster) {
                self.stats.remove(cluster);
            }
        }
    }

    /// What holds an entry, whether or not it is leased.
    fn hold(&self, entry: &Entry, now: Moment) -> Option<(HoldReason, Arc<str>, Option<Timestamp>)> {
        let key = entry.key();
        if !self.stands(key) {
            let why = format!("the queue does not see {} on cluster {}", key.cause, key.cluster);
            return Some((HoldReason::CauseNotSeen, why.into(), None));
        }
        if self.producers.get(&entry.producer).is_none_or(Producer::is_gone) {
            let why = format!("producer {} has not come back", entry.producer);
            return Some((HoldReason::ProducerGone, why.into(), None));
        }
        if let Some(hold) = &entry.published.hold {
            return Some((hold.reason, hold.message.as_str().into(), None));
        }
        match &entry.aftermath {
            Some(Aftermath::NotNeeded { message, .. }) => {
                return Some((HoldReason::NotNeeded, message.clone(), None));
            }
            Some(Aftermath::NoTarget { until, message }) => {
                return Some((HoldReason::NoTarget, message.clone(), Some(*until)));
            }
            Some(Aftermath::Wait { until, message }) => {
                return Some((HoldReason::Wait, message.clone(), Some(*until)));
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

    fn derive(&self, entry: &Entry, now: Moment) -> State {
        if let Some(lease) = entry.lease {
            return State::Leased(lease);
        }
        match self.hold(entry, now) {
            Some((reason, message, until)) => State::Held { reason, message, until },
            None if entry.published.due_at > now.wall => State::Waiting,
            None => State::Ready,
        }
    }

    /// A lease whose entry would be held, or was taken back, is over.
    fn revoke_when_over(&mut self, entry: &Entry, now: Moment) {
        let Some(id) = entry.lease else { return };
        if self.leases.get(&id).is_none_or(|lease| lease.revoked) {
            return;
        }
        let over = match entry.withdrawn {
            // Most likely by this very lease.
            Some(WithdrawReason::Leaving) => None,
            Some(_) => Some("the producer took the entry back".to_owned()),
            None => self.hold(entry, now).map(|(_, why, _)| why.to_string()),
        };
        if let Some(reason) = over
            && let Some(lease) = self.leases.get_mut(&id)
        {
            lease.revoked = true;
            self.effects.push(Effect::Revoke {
                consumer: lease.consumer,
                lease: id,
                reason,
            });
        }
    }

    fn index(&mut self, key: &Arc<EntryKey>, entry: &Entry) {
        match &entry.state {
            State::Waiting => {
                self.due.insert((entry.published.due_at, key.clone()));
            }
            State::Ready => match entry.cooling_until {
                Some(until) => {
                    self.cooling.insert((until, key.clone()));
                }
                None => {
                    if let Some(lane) = self.lanes.get_mut(&key.cluster) {
                        lane.admit(key, entry);
                    }
                }
            },
            State::Held { .. } => {
                if let Some(until) = look_again_at(entry) {
                    self.looks.insert((until, key.clone()));
                }
            }
            State::Leased(_) => {}
        }
    }

    fn unindex(&mut self, key: &Arc<EntryKey>, entry: &Entry) {
        match &entry.state {
            State::Waiting => {
                self.due.remove(&(entry.published.due_at, key.clone()));
            }
            State::Ready => {
                if let Some(until) = entry.cooling_until {
                    self.cooling.remove(&(until, key.clone()));
                } else if let Some(lane) = self.lanes.get_mut(&key.cluster) {
                    lane.dismiss(key, entry);
                }
            }
            State::Held { .. } => {
                if let Some(until) = look_again_at(entry) {
                    self.looks.remove(&(until, key.clone()));
                }
            }
            State::Leased(_) => {}
        }
    }
}

#[cfg(test)]
impl Queue {
    /// Compares every index and count with what the entries say.
    pub(super) fn check(&self) {
        let mut due = BTreeSet::new();
        let mut looks = BTreeSet::new();
        let mut cooling = BTreeSet::new();
        let mut eligible = BTreeMap::<_, BTreeSet<_>>::new();
        let mut counts = BTreeMap::<_, usize>::new();
        for (key, entry) in &self.entries {
            assert_eq!(**key, entry.published.key);
            *counts.entry(&key.cluster).or_default() += 1;
            match &entry.state {
                State::Waiting => drop(due.insert((entry.published.due_at, key.clone()))),
                State::Ready => match entry.cooling_until {
                    Some(until) => drop(cooling.insert((until, key.clone()))),
                    None => drop(
                        eligible
                            .entry(&key.cluster)
                            .or_default()
                            .insert((entry.published.due_at, key.clone())),
                    ),
                },
                State::Held { .. } => {
                    if let Some(until) = look_again_at(entry) {
                        looks.insert((until, key.clone()));
                    }
                }
                State::Leased(id) => assert_eq!(self.leases[id].key, *key),
            }
        }
        assert_eq!((&self.due, &self.looks, &self.cooling), (&due, &looks, &cooling));
        for (name, lane) in &self.lanes {
            assert_eq!(lane.by_age, eligible.remove(name).unwrap_or_default());
            assert_eq!(lane.by_priority.len(), lane.by_age.len());
            assert_eq!(lane.totals.sum(), counts.remove(name).unwrap_or_default());
            assert_eq!(lane.kinds.values().sum::<usize>(), lane.totals.sum());
        }
        assert!(eligible.is_empty() && counts.is_empty(), "every entry has a lane");
        assert_eq!(self.lease_ends.len(), self.leases.len());
        for (id, lease) in &self.leases {
            assert!(self.lease_ends.contains(&(lease.ends, *id)));
        }
    }
}

/// When the aftermath of a lease is over by time, whatever else holds the entry.
fn look_again_at(entry: &Entry) -> Option<Timestamp> {
    match entry.aftermath {
        Some(Aftermath::NoTarget { until, .. } | Aftermath::Wait { until, .. }) => Some(until),
        Some(Aftermath::NotNeeded { .. }) | None => None,
    }
}

fn cool(entry: &mut Entry, back_off: Duration, now: Moment) {
    entry.cooling_until = Some(now.elapsed + back_off);
    entry.not_before = Some(later(now.wall, back_off));
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by)
        .ok()
        .and_then(|by| at.saturating_add(by).ok())
        .unwrap_or(Timestamp::MAX)
}
