//! The queue itself: events in, effects out. Each kind of event has its file below; all of them change entries only
//! through [`book`], which derives their states and keeps every index in step.

mod book;
#[cfg(test)]
mod check;
mod leases;
mod operator;
mod producers;
mod release;
mod sight;
mod time;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use jiff::{SignedDuration, Timestamp};

use super::changes::Changes;
use super::entries::Entries;
use super::entry::Entry;
use super::event::{Effect, Event, Moment, StreamId, Wake};
use super::lane::Lane;
use super::lease::{Lease, LeaseId};
use super::outcome::{ClusterStats, RecentOutcome};
use super::producer::{EpochCheck, Grace, Producer, ProducerEpoch, Silence};
use super::settings::QueueSettings;
use super::timeline::Timeline;
use super::view::{ClusterView, PauseView};
use crate::eviction::bucket::Bucket;
use crate::eviction::regime::{Fleet, RegimeVerdict, Start, regime};

/// How many lapsed leases are remembered, so that a late word about them is understood.
const LAPSED_KEPT: usize = 1_000;

/// How many producers are remembered: there are a few, and none under a new name each time.
const MAX_PRODUCERS: usize = 64;

/// The eviction queue of one term of one leader.
#[derive(Clone, Debug)]
pub struct Queue {
    pub(super) settings: QueueSettings,
    pub(super) entries: Entries,
    next_serial: u64,
    pub(super) lanes: BTreeMap<ClusterName, Lane>,
    pub(super) served_last: Option<ClusterName>,
    /// Waiting, by due time.
    pub(super) due: Timeline<Timestamp>,
    /// Held until a time.
    looks: Timeline<Timestamp>,
    /// Ready with a back-off.
    cooling: Timeline<Duration>,
    pub(super) bucket: Bucket,
    pub(super) leases: BTreeMap<LeaseId, Lease>,
    lease_ends: BTreeSet<(Duration, LeaseId)>,
    lapsed: VecDeque<(LeaseId, Lease)>,
    next_lease: LeaseId,
    consumers: BTreeMap<StreamId, Consumer>,
    served_consumer: StreamId,
    next_order: u64,
    pub(super) producers: BTreeMap<Arc<str>, Producer>,
    pub(super) clusters: BTreeMap<ClusterName, ClusterView>,
    clusters_synced: Synced,
    pub(super) pauses: BTreeMap<String, PauseView>,
    /// Names of the pauses in effect.
    active_pauses: Vec<String>,
    pauses_synced: Synced,
    /// Why rates that were chosen do not count.
    pub(super) rates_refused: Option<String>,
    started: Duration,
    /// What the verdict on the fleet was made from; absent: judge anew.
    judged_at: Option<Start>,
    pub(super) verdict: RegimeVerdict,
    pub(super) changes: Changes,
    pub(super) recent: VecDeque<Arc<RecentOutcome>>,
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
            entries: Entries::default(),
            next_serial: 0,
            lanes: BTreeMap::new(),
            served_last: None,
            due: Timeline::new(),
            looks: Timeline::new(),
            cooling: Timeline::new(),
            bucket: Bucket::empty(now.elapsed),
            leases: BTreeMap::new(),
            lease_ends: BTreeSet::new(),
            lapsed: VecDeque::new(),
            next_lease: 1,
            consumers: BTreeMap::new(),
            served_consumer: 0,
            next_order: 1,
            producers: BTreeMap::new(),
            clusters: BTreeMap::new(),
            clusters_synced: Synced::No,
            pauses: BTreeMap::new(),
            active_pauses: Vec::new(),
            pauses_synced: Synced::No,
            rates_refused: None,
            started: now.elapsed,
            judged_at: None,
            recent: VecDeque::new(),
            stats: BTreeMap::new(),
            effects: Vec::new(),
        }
    }

    /// Takes an event and everything that time brought until `now`; returns what is to be done, in order.
    pub fn apply(&mut self, event: Event, now: Moment) -> Vec<Effect> {
        self.changes.begin(self.entries.len());
        self.pass(now);
        match event {
            Event::Tick => {}
            Event::RatesChanged(rates) => self.rates_changed(&rates),
            Event::RatesRefused(why) => self.rates_refused = Some(why),
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
            Event::ConsumerLeft { stream } => self.consumer_left(stream, now),
            Event::Complete {
                lease,
                key,
                consumer,
                completion,
            } => self.complete(lease, &key, consumer.as_deref(), completion, now),
            Event::Order { key, request } => self.order(&key, &request, now),
            Event::OrderWritten {
                key,
                id,
                binding_version,
            } => self.order_written(&key, id, binding_version, now),
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
        let wall = self.due.first().into_iter();
        let wall = wall.chain(self.looks.first()).chain(pauses_end).min();

        let leader_grace_ends = self.started + self.settings.leader_grace;
        let token = self
            .can_release(now)
            .then(|| self.bucket.ready_in(now.elapsed))
            .flatten();
        let elapsed = self.cooling.first().into_iter();
        let elapsed = elapsed
            .chain(self.lease_ends.first().map(|(at, _)| *at))
            .chain((leader_grace_ends > now.elapsed).then_some(leader_grace_ends))
            .chain(self.producers.values().filter_map(|producer| {
                let Silence { since, grace, .. } = producer.silence()?;
                match grace {
                    Grace::Runs => Some(since + self.settings.producer_grace),
                    Grace::Over => producer.is_gone().then_some(since + self.settings.producer_retention),
                }
            }))
            .chain(token.map(|wait| now.elapsed + wait))
            .min();
        Wake { wall, elapsed }
    }

    /// Whether a term of a producer may publish. A producer that was never heard may, unless there are too many: each is
    /// remembered for as long as its terms have to be told apart.
    #[must_use]
    pub fn check_epoch(&self, producer: &str, epoch: &ProducerEpoch) -> EpochCheck {
        match self.producers.get(producer) {
            Some(known) => known.check(epoch),
            None if self.producers.len() >= MAX_PRODUCERS => EpochCheck::TooMany { most: MAX_PRODUCERS },
            None => EpochCheck::Accept,
        }
    }
}

fn cool(entry: &mut Entry, back_off: Duration, now: Moment) {
    entry.past.cooling_until = Some(now.elapsed + back_off);
    entry.past.not_before = Some(later(now.wall, back_off));
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by)
        .ok()
        .and_then(|by| at.saturating_add(by).ok())
        .unwrap_or(Timestamp::MAX)
}
