//! What the queue shows: all of it computed from its state, so that it cannot drift.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::{BindingKey, ClusterName};
use jiff::{SignedDuration, Timestamp};

use super::changes::{ChangesAfter, TooFarBack};
use super::entry::{Entry, EntryKey, HoldReason, State};
use super::event::{Leading, Moment};
use super::lane::Lane;
use super::model::Queue;
use super::order;
use super::outcome::{ClusterStats, RecentOutcome};
use super::producer::{Grace, Link};
use super::settings::QueueSettings;
use super::view::{PauseScopeView, PauseView};
use crate::eviction::regime::{Fault, RegimeVerdict};

/// Entries by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Due later.
    pub waiting: usize,
    /// Due.
    pub ready: usize,
    /// In the hands of consumers.
    pub leased: usize,
    /// Not released.
    pub held: usize,
}

impl Totals {
    /// All of them.
    #[must_use]
    pub fn sum(&self) -> usize {
        self.waiting + self.ready + self.leased + self.held
    }

    fn plus(self, other: Self) -> Self {
        Self {
            waiting: self.waiting + other.waiting,
            ready: self.ready + other.ready,
            leased: self.leased + other.leased,
            held: self.held + other.held,
        }
    }
}

/// A lane.
#[derive(Clone, Debug)]
pub struct LaneView {
    /// The cluster.
    pub cluster: ClusterName,
    /// Its UID; empty when the queue does not see the cluster.
    pub cluster_uid: String,
    /// What makes it faulty.
    pub fault: Option<Fault>,
    /// When the lane began.
    pub since: Timestamp,
    /// Its entries by state.
    pub totals: Totals,
    /// Its entries by `apiVersion/Kind`.
    pub kinds: Vec<(String, usize)>,
    /// When the next waiting entry is due.
    pub next_due_at: Option<Timestamp>,
}

/// A producer.
#[derive(Clone, Debug)]
pub struct ProducerView {
    /// Name.
    pub name: String,
    /// The process.
    pub identity: String,
    /// Whether a stream is open and its snapshot complete.
    pub is_synced: bool,
    /// Since when no stream is open.
    pub gone_since: Option<Timestamp>,
    /// Its entries.
    pub entries: usize,
    /// How often another process took the place of one that was still publishing.
    pub takeovers: u64,
}

/// A pause in effect.
#[derive(Clone, Debug)]
pub struct PauseHeld {
    /// The pause.
    pub pause: PauseView,
    /// Entries that would leave the queue without it.
    pub held_entries: usize,
}

/// The queue as a whole.
#[derive(Clone, Debug)]
pub struct StatusView {
    /// The regime with its reason and numbers.
    pub verdict: RegimeVerdict,
    /// The share above which it changes.
    pub unhealthy_threshold: f64,
    /// Faulty clusters, those being deleted left out.
    pub faulty: Vec<(ClusterName, Fault)>,
    /// Entries by state.
    pub totals: Totals,
    /// Producers by name.
    pub producers: Vec<ProducerView>,
    /// Consumers connected.
    pub consumers: usize,
    /// Leases that may be out at once.
    pub max_outstanding_leases: usize,
    /// Since when the longest ready entry is ready.
    pub oldest_ready_since: Option<Timestamp>,
    /// Fill of the bucket, 0 to 1.
    pub tokens: f64,
    /// Pauses in effect, by name.
    pub pauses: Vec<PauseHeld>,
    /// What is not done and why, one sentence each.
    pub notes: Vec<String>,
}

/// The place of an entry in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1, over all lanes.
    pub position: usize,
    /// When it is released if nothing changes and all before it are evicted; absent: not at today's rate.
    pub estimated_release_at: Option<Timestamp>,
}

impl Queue {
    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &QueueSettings {
        &self.settings
    }

    /// The regime with its reason and numbers.
    #[must_use]
    pub fn verdict(&self) -> &RegimeVerdict {
        &self.verdict
    }

    /// Number of the last change of an entry; 0: there was none.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.changes.revision()
    }

    /// What the next changes after a revision, at most `limit` of them, came to.
    ///
    /// # Errors
    /// [`TooFarBack`] when some of them are not kept any more, or the revision is none of this queue's.
    pub fn changes_after(&self, revision: u64, limit: usize) -> Result<ChangesAfter, TooFarBack> {
        self.changes.after(revision, limit, &self.entries)
    }

    /// All entries, by cluster, then in the order in which they entered.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// An entry by its key.
    #[must_use]
    pub fn entry(&self, key: &EntryKey) -> Option<&Arc<Entry>> {
        self.entries.get(key)
    }

    /// The entry of a binding that is due first, on this cluster if one is given.
    #[must_use]
    pub fn entry_of(&self, binding: &BindingKey, cluster: Option<&ClusterName>) -> Option<&Arc<Entry>> {
        let is_of_it = |entry: &&Arc<Entry>| entry.key().binding == *binding;
        let due_at = |entry: &&Arc<Entry>| entry.published.due_at;
        match cluster {
            Some(cluster) => {
                let on_it = self.entries.on(cluster).map(|(_, entry)| entry);
                on_it.filter(is_of_it).min_by_key(due_at)
            }
            None => self.entries().filter(is_of_it).min_by_key(due_at),
        }
    }

    /// Outcomes, newest first.
    pub fn recent(&self) -> impl Iterator<Item = &RecentOutcome> {
        self.recent.iter().rev().map(AsRef::as_ref)
    }

    /// Outcomes of the last minutes, of clusters that have a lane or still exist.
    pub fn stats(&self) -> impl Iterator<Item = (&ClusterName, &ClusterStats)> {
        self.stats.iter()
    }

    /// The lanes, by cluster.
    pub fn lanes(&self) -> impl Iterator<Item = LaneView> {
        let next_due = self.next_due();
        self.lanes.iter().map(move |(name, lane)| {
            let view = self.clusters.get(name);
            LaneView {
                cluster: name.clone(),
                cluster_uid: view.map(|view| view.uid.clone()).unwrap_or_default(),
                fault: view.and_then(|view| view.fault.clone()),
                since: lane.since,
                totals: lane.totals,
                kinds: lane.kinds.iter().collect(),
                next_due_at: next_due.get(name).copied(),
            }
        })
    }

    /// How many entries each lane has, by state and by kind, without a look at any of them.
    pub fn lane_counts(&self) -> impl Iterator<Item = (&ClusterName, Totals, Vec<(String, usize)>)> {
        let counts = |(name, lane)| {
            let lane: &Lane = lane;
            (name, lane.totals, lane.kinds.iter().collect())
        };
        self.lanes.iter().map(counts)
    }

    /// The first due time of each lane that has any; looked for from the earliest of all on, until every lane has one.
    fn next_due(&self) -> BTreeMap<&ClusterName, Timestamp> {
        let lanes = self.lanes.values().filter(|lane| lane.totals.waiting > 0).count();
        let mut first = BTreeMap::new();
        for (at, key) in self.due.iter() {
            if first.len() == lanes {
                break;
            }
            first.entry(&key.cluster).or_insert(at);
        }
        first
    }

    /// Since when the longest ready entry is.
    #[must_use]
    pub fn oldest_ready_since(&self) -> Option<Timestamp> {
        self.lanes.values().filter_map(|lane| lane.line.oldest()).min()
    }

    /// The queue as a whole.
    #[must_use]
    pub fn status(&self, now: Moment) -> StatusView {
        let mut producers: Vec<ProducerView> = self
            .producers
            .iter()
            .map(|(name, producer)| ProducerView {
                name: name.to_string(),
                identity: producer.identity.clone(),
                is_synced: matches!(producer.link, Link::Synced { .. }),
                gone_since: match &producer.link {
                    Link::Away(silence) => Some(silence.since_wall),
                    Link::Syncing { .. } | Link::Synced { .. } => None,
                },
                entries: 0,
                takeovers: producer.takeovers.count,
            })
            .collect();
        for entry in self.entries() {
            if let Some(producer) = producers.iter_mut().find(|producer| producer.name == *entry.producer) {
                producer.entries += 1;
            }
        }
        StatusView {
            verdict: self.verdict.clone(),
            unhealthy_threshold: self.settings.regime.unhealthy_threshold,
            faulty: self
                .clusters
                .values()
                .filter(|view| !view.is_being_deleted)
                .filter_map(|view| Some((view.name.clone(), view.fault.clone()?)))
                .collect(),
            totals: self.totals(),
            producers,
            consumers: self.consumer_count(),
            max_outstanding_leases: self.settings.max_outstanding(self.verdict.evictions_per_second),
            oldest_ready_since: self.oldest_ready_since(),
            tokens: self.bucket.fill(now.elapsed),
            pauses: self.pauses_held(now.wall),
            notes: self.notes(now),
        }
    }

    /// How many entries are held, by the reason that comes first. A reason that holds nothing is left out.
    #[must_use]
    pub fn held(&self) -> BTreeMap<HoldReason, usize> {
        let mut held = BTreeMap::new();
        for (reason, count) in self.lanes.values().flat_map(|lane| &lane.held) {
            *held.entry(*reason).or_default() += count;
        }
        held
    }

    /// What is not done and why, one sentence each.
    #[must_use]
    pub fn notes(&self, now: Moment) -> Vec<String> {
        let mut notes: Vec<String> = self.verdict.standstill().into_iter().collect();
        if now.leading == Leading::Stale {
            notes.push("nothing is released: this leader could not renew its Lease".to_owned());
        }
        if self.consumer_count() == 0 {
            notes.push("nothing is released: no evictor is connected".to_owned());
        }
        if let Some(why) = &self.rates_refused {
            notes.push(format!("the rates of before count, new ones are refused: {why}"));
        }
        if self.producers.is_empty() {
            notes.push("nobody publishes: no taint manager is connected".to_owned());
        }
        for (name, producer) in &self.producers {
            let is_away = matches!(producer.link, Link::Away(_));
            notes.extend(producer.silence().and_then(|silence| {
                let since = silence.since_wall;
                match (is_away, silence.grace == Grace::Over) {
                    (true, true) => Some(format!(
                        "entries of {name} are held: it has not come back since {since}"
                    )),
                    (true, false) => Some(format!("{name} is away since {since}")),
                    (false, true) => Some(format!(
                        "entries of {name} are held until it has named them again: it was away since {since}"
                    )),
                    (false, false) => None,
                }
            }));
            notes.extend(producer.takeovers.note(name, &producer.identity, now.elapsed));
        }
        notes
    }

    /// All pauses that the queue knows, in effect or over.
    pub fn pauses(&self) -> impl Iterator<Item = &PauseView> {
        self.pauses.values()
    }

    /// Entries by state.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.lanes
            .values()
            .fold(Totals::default(), |sum, lane| sum.plus(lane.totals))
    }

    /// Pauses in effect and what they hold back.
    #[must_use]
    pub fn pauses_held(&self, now: Timestamp) -> Vec<PauseHeld> {
        let active = self.pauses.values().filter(|pause| pause.is_active(now));
        active
            .map(|pause| {
                let would_leave = |entry: &&Arc<Entry>| match &entry.state {
                    State::Ready => pause.scope == PauseScopeView::All,
                    State::Held {
                        reason: HoldReason::Paused,
                        ..
                    } => pause.covers(entry.key()),
                    _ => false,
                };
                PauseHeld {
                    pause: pause.clone(),
                    held_entries: self.entries().filter(would_leave).count(),
                }
            })
            .collect()
    }

    /// Where an entry stands in the order; `None` when it cannot go now.
    #[must_use]
    pub fn place(&self, key: &EntryKey, now: Moment) -> Option<Place> {
        let entry = self.entries.get(key).filter(|entry| entry.is_eligible())?;
        let lane = self.lanes.get(&key.cluster)?;
        let rank = lane.line.before(entry, now.wall, self.settings.starvation_limit);
        let ahead = order::ahead(&self.lanes, self.served_last.as_ref(), &key.cluster, rank);
        let rate = self.verdict.evictions_per_second;
        #[allow(clippy::cast_precision_loss, reason = "a count of entries")]
        let tokens_missing = (ahead as f64 + 1.0 - self.bucket.fill(now.elapsed)).max(0.0);
        let estimated_release_at = (rate > 0.0)
            .then(|| Duration::try_from_secs_f64(tokens_missing / rate).ok())
            .flatten()
            .and_then(|wait| SignedDuration::try_from(wait).ok())
            .and_then(|wait| now.wall.saturating_add(wait).ok());
        Some(Place {
            position: ahead + 1,
            estimated_release_at,
        })
    }
}
