//! The queue under a simulated clock of whole milliseconds, without sockets.

mod changes;
mod leases;
mod lifecycle;
mod operator;
mod pauses;
mod producers;
mod properties;
mod rate;
mod waits;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::eviction::Cause;
use crate::eviction::regime::{Fault, RegimeSettings};

const PRODUCER: StreamId = 1;

/// A queue, its clock, and consumers that do at once what the test says.
struct Sim {
    queue: Queue,
    millis: u64,
    /// Time and key of each lease that was completed as Evicted.
    evicted: Vec<(u64, EntryKey)>,
    /// Leases that the consumers still hold.
    held: BTreeMap<LeaseId, (u64, GrantedLease)>,
    effects: Vec<Effect>,
}

fn t0() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn at(millis: u64) -> Timestamp {
    t0() + SignedDuration::from_millis(i64::try_from(millis).unwrap())
}

fn taint(seconds: i64) -> Cause {
    Cause::Taint {
        key: "k".to_owned(),
        effect: "NoExecute".to_owned(),
        added_at: t0() + SignedDuration::from_secs(seconds),
    }
}

fn cluster(name: &str, cause: Option<Cause>) -> ClusterView {
    ClusterView {
        name: name.into(),
        uid: format!("uid-{name}"),
        fault: cause.as_ref().map(|cause| Fault {
            taint: "k:NoExecute".to_owned(),
            since: Some(cause.began_at()),
        }),
        causes: cause.into_iter().collect(),
        is_being_deleted: false,
        as_a_place: 0,
        resources: 0,
    }
}

fn published(cluster: &str, name: &str, due_seconds: i64) -> Published {
    Published {
        key: EntryKey {
            cluster: cluster.into(),
            cluster_uid: format!("uid-{cluster}").into(),
            binding: api_types::BindingKey::namespaced("default", name),
            binding_uid: format!("uid-{name}").into(),
            cause: taint(0).into(),
        }
        .into(),
        due_at: t0() + SignedDuration::from_secs(due_seconds),
        priority: 0,
        template: TemplateRef {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: None,
            name: name.into(),
        },
        replicas: 1,
        purge_mode: Purge::Gracefully,
        grace_period_seconds: None,
        reason: "taint".into(),
        hold: None,
        versions: BindingVersions {
            binding_generation: 1,
            binding: "10".into(),
            cluster: "20".into(),
        },
        traceparent: None,
    }
}

fn settings(rate: f64) -> QueueSettings {
    QueueSettings {
        regime: RegimeSettings {
            primary_rate: rate,
            ..RegimeSettings::default()
        },
        leader_grace: Duration::ZERO,
        ..QueueSettings::default()
    }
}

impl Sim {
    /// A synced queue with healthy clusters `h1`, `h2`, `h3`, tainted ones `m1`, `m2`, and a producer in sync.
    fn new(settings: QueueSettings) -> Self {
        let now = Moment {
            wall: t0(),
            elapsed: Duration::ZERO,
            leading: Leading::Fresh,
        };
        let mut sim = Self {
            queue: Queue::new(settings, now),
            millis: 0,
            evicted: Vec::new(),
            held: BTreeMap::new(),
            effects: Vec::new(),
        };
        for name in ["h1", "h2", "h3"] {
            sim.tell(Event::ClusterSeen(cluster(name, None)));
        }
        for name in ["m1", "m2"] {
            sim.tell(Event::ClusterSeen(cluster(name, Some(taint(0)))));
        }
        sim.tell(Event::ClustersSynced);
        sim.tell(Event::PausesSynced);
        sim.hello(PRODUCER, 1);
        sim.tell(Event::SnapshotComplete { stream: PRODUCER });
        sim
    }

    fn now(&self) -> Moment {
        Moment {
            wall: at(self.millis),
            elapsed: Duration::from_millis(self.millis),
            leading: Leading::Fresh,
        }
    }

    fn hello(&mut self, stream: StreamId, transitions: i64) {
        let epoch = ProducerEpoch {
            lease_uid: "lease".into(),
            transitions,
        };
        self.tell(Event::ProducerHello {
            stream,
            producer: "taintManager".into(),
            epoch,
            identity: "p".into(),
        });
    }

    /// A stream of the one evictor that there is unless a test says otherwise.
    fn consumer(&mut self, stream: StreamId, credit: u32) {
        self.consumer_of("evictor", stream, credit);
    }

    fn consumer_of(&mut self, identity: &str, stream: StreamId, credit: u32) {
        self.tell(Event::ConsumerHello {
            stream,
            identity: identity.to_owned(),
        });
        self.tell(Event::Credit { stream, leases: credit });
    }

    fn publish(&mut self, entries: Vec<Published>) {
        self.tell(Event::Upsert {
            stream: PRODUCER,
            entries,
        });
    }

    fn tell(&mut self, event: Event) {
        let (now, before) = (self.now(), self.queue.revision());
        let effects = self.queue.apply(event, now);
        assert!(
            self.queue.changes_after(before, 1).is_ok(),
            "who was up to date can read on"
        );
        self.queue.check();
        for effect in &effects {
            if let Effect::Grant { lease, .. } = effect {
                self.held.insert(lease.id, (self.millis, lease.clone()));
            }
        }
        self.effects.extend(effects);
    }

    /// Goes on in the steps that the queue asks for.
    fn run_until(&mut self, millis: u64, mut each: impl FnMut(&mut Self)) {
        loop {
            each(self);
            let wake = self.queue.next_wake(self.now());
            let by_wall = wake.wall.map(|wall| wall.duration_since(t0()).as_millis());
            let by_wall = by_wall.map(|millis| u64::try_from(millis).unwrap_or(0));
            let by_elapsed = wake
                .elapsed
                .map(|elapsed| u64::try_from(elapsed.as_nanos().div_ceil(1_000_000)).unwrap());
            let next = by_wall
                .into_iter()
                .chain(by_elapsed)
                .min()
                .unwrap_or(u64::MAX)
                .max(self.millis);
            if next > millis {
                self.millis = millis;
                self.tell(Event::Tick);
                each(self);
                return;
            }
            self.millis = next;
            self.tell(Event::Tick);
        }
    }

    fn complete(&mut self, id: LeaseId, outcome: OutcomeKind) {
        self.complete_because(id, outcome, "R");
    }

    fn complete_because(&mut self, id: LeaseId, outcome: OutcomeKind, reason: &str) {
        let (released, lease) = self.held.remove(&id).unwrap();
        if outcome == OutcomeKind::Evicted {
            self.evicted.push((released, EntryKey::clone(&lease.published.key)));
        }
        let completion = Completion {
            outcome,
            reason: reason.into(),
            message: "m".into(),
        };
        self.tell(Event::Complete {
            lease: id,
            key: lease.published.key.clone(),
            consumer: None,
            completion,
        });
    }

    /// Completes everything that is out as Evicted and asks for more.
    fn evict_all(&mut self) {
        while let Some(id) = self.held.keys().next().copied() {
            let consumer = self.queue.leases[&id].consumer;
            self.complete(id, OutcomeKind::Evicted);
            self.tell(Event::Credit {
                stream: consumer,
                leases: 1,
            });
        }
    }

    fn only(&self) -> &Entry {
        assert_eq!(self.queue.len(), 1);
        self.queue.entries().next().unwrap()
    }

    fn entry_of(&self, binding: &str) -> &Entry {
        let mut entries = self.queue.entries();
        entries.find(|entry| entry.key().binding.name == binding).unwrap()
    }

    fn lease(&self) -> LeaseId {
        assert_eq!(self.held.len(), 1, "one lease is out");
        *self.held.keys().next().unwrap()
    }

    fn names(&self) -> Vec<&str> {
        self.evicted.iter().map(|(_, key)| key.binding.name.as_str()).collect()
    }
}

fn pause(scope: PauseScopeView, until: Option<u64>) -> Event {
    Event::PauseSeen(PauseView {
        name: "p".into(),
        scope,
        reason: "freeze".into(),
        until: until.map(at),
    })
}

fn held(sim: &Sim) -> Option<HoldReason> {
    match sim.only().state {
        State::Held { reason, .. } => Some(reason),
        _ => None,
    }
}
