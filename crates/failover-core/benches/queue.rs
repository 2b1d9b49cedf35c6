//! The eviction queue as a pure model: 50,000 entries of 100 clusters are published, become due, are leased and end
//! evicted; 50,000 more are published and taken back.
//!
//! Each of publish, due, lease, complete and withdraw of one entry is an operation: 300,000 in one run. Producers speak
//! in messages of 1,000 entries, as over gRPC; everything else is an event of its own. `cargo xtask bench` makes
//! operations per second of it.

mod cpu_time;

use std::time::Duration;

use api_types::BindingKey;
use cpu_time::CpuTime;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use failover_core::eviction::Cause;
use failover_core::eviction::queue::{
    BindingVersions, ClusterView, Completion, Effect, EntryKey, Event, GrantedLease, Leading, Moment, OutcomeKind,
    ProducerEpoch, Published, Purge, Queue, QueueSettings, TemplateRef, WithdrawReason,
};
use failover_core::eviction::regime::RegimeSettings;
use jiff::{SignedDuration, Timestamp};

const CLUSTERS: usize = 100;
const EVICTED: usize = 50_000;
const WITHDRAWN: usize = 50_000;
/// As many as come in one message.
const AT_ONCE: usize = 1_000;
/// So fast that a microsecond brings a token.
const EVICTIONS_PER_SECOND: f64 = 1e6;
const PRODUCER: u64 = 1;
const CONSUMER: u64 = 2;

fn start() -> Timestamp {
    Timestamp::constant(1_767_225_600, 0)
}

fn cause() -> Cause {
    Cause::Taint {
        key: "cluster.karmada.io/not-ready".to_owned(),
        effect: "NoExecute".to_owned(),
        added_at: start(),
    }
}

fn cluster(number: usize) -> String {
    format!("member-{number:03}")
}

fn published(number: usize) -> Published {
    let name = format!("workload-{number:06}");
    let namespace = format!("team-{:03}", number % 317);
    Published {
        key: EntryKey {
            cluster: cluster(number % CLUSTERS).into(),
            cluster_uid: format!("uid-{}", number % CLUSTERS).into(),
            binding: BindingKey::namespaced(namespace.clone(), format!("{name}-deployment")),
            binding_uid: format!("6f1d2c1e-0000-4000-8000-{number:012}").into(),
            cause: cause().into(),
        }
        .into(),
        due_at: start() + SignedDuration::from_secs(60),
        priority: i32::from(number.is_multiple_of(3)),
        template: TemplateRef {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: Some(namespace.into()),
            name: name.into(),
        },
        replicas: 3,
        purge_mode: Purge::Gracefully,
        grace_period_seconds: Some(600),
        reason: "taint cluster.karmada.io/not-ready:NoExecute is not tolerated".into(),
        hold: None,
        versions: BindingVersions {
            binding_generation: 2,
            binding: (1_000_000 + number).to_string().into(),
            cluster: "1234".into(),
        },
        traceparent: None,
    }
}

fn messages(numbers: std::ops::Range<usize>) -> Vec<Vec<Published>> {
    let entries: Vec<Published> = numbers.map(published).collect();
    entries.chunks(AT_ONCE).map(<[_]>::to_vec).collect()
}

/// The queue and its time.
struct Run {
    queue: Queue,
    elapsed: Duration,
    leases: Vec<GrantedLease>,
}

impl Run {
    fn tell(&mut self, event: Event) {
        self.elapsed += Duration::from_micros(1);
        let now = Moment {
            wall: start() + SignedDuration::try_from(self.elapsed).unwrap_or_default(),
            elapsed: self.elapsed,
            leading: Leading::Fresh,
        };
        let granted = self
            .queue
            .apply(event, now)
            .into_iter()
            .filter_map(|effect| match effect {
                Effect::Grant { lease, .. } => Some(lease),
                _ => None,
            });
        self.leases.extend(granted);
    }

    /// A queue that sees its clusters and has somebody who takes as much as there is.
    fn ready() -> Self {
        let settings = QueueSettings {
            regime: RegimeSettings {
                primary_rate: EVICTIONS_PER_SECOND,
                unhealthy_threshold: 1.0,
                ..RegimeSettings::default()
            },
            leader_grace: Duration::ZERO,
            ..QueueSettings::default()
        };
        let now = Moment {
            wall: start(),
            elapsed: Duration::ZERO,
            leading: Leading::Fresh,
        };
        let mut run = Self {
            queue: Queue::new(settings, now),
            elapsed: Duration::ZERO,
            leases: Vec::new(),
        };
        for number in 0..=CLUSTERS {
            let is_faulty = number < CLUSTERS;
            run.tell(Event::ClusterSeen(ClusterView {
                name: cluster(number).into(),
                uid: format!("uid-{number}"),
                causes: is_faulty.then(cause).into_iter().collect(),
                fault: None,
                is_being_deleted: false,
                as_a_place: 0,
                resources: 0,
            }));
        }
        run.tell(Event::ClustersSynced);
        run.tell(Event::PausesSynced);
        run.tell(Event::ProducerHello {
            stream: PRODUCER,
            producer: "taintManager".to_owned(),
            epoch: ProducerEpoch {
                lease_uid: "lease".to_owned(),
                transitions: 0,
            },
            identity: "p".to_owned(),
        });
        run.tell(Event::SnapshotComplete { stream: PRODUCER });
        run.tell(Event::ConsumerHello {
            stream: CONSUMER,
            identity: "c".to_owned(),
        });
        run.tell(Event::Credit {
            stream: CONSUMER,
            leases: u32::MAX,
        });
        run
    }

    /// The whole life of all of them.
    fn live(mut self, evicted: Vec<Vec<Published>>, withdrawn: Vec<Vec<Published>>) -> Self {
        let keys: Vec<Vec<EntryKey>> = withdrawn
            .iter()
            .map(|entries| entries.iter().map(|entry| EntryKey::clone(&entry.key)).collect())
            .collect();
        for entries in evicted.into_iter().chain(withdrawn) {
            self.tell(Event::Upsert {
                stream: PRODUCER,
                entries,
            });
        }
        for keys in keys {
            let entries = keys.into_iter().map(|key| (key, WithdrawReason::Tolerated)).collect();
            self.tell(Event::Withdraw {
                stream: PRODUCER,
                entries,
            });
        }
        assert_eq!(self.queue.len(), EVICTED);
        self.elapsed += Duration::from_secs(60);
        while !self.queue.is_empty() {
            let Some(lease) = self.leases.pop() else {
                self.tell(Event::Tick);
                continue;
            };
            self.tell(Event::Complete {
                lease: lease.id,
                key: lease.published.key.clone(),
                consumer: None,
                completion: Completion {
                    outcome: OutcomeKind::Evicted,
                    reason: "Evicted".to_owned(),
                    message: "moved".to_owned(),
                },
            });
        }
        self
    }
}

fn a_life(criterion: &mut Criterion<CpuTime>) {
    let (evicted, withdrawn) = (messages(0..EVICTED), messages(EVICTED..EVICTED + WITHDRAWN));
    let mut group = criterion.benchmark_group("queue");
    group.sample_size(10);
    group.bench_function("300,000 operations", |bencher| {
        bencher.iter_batched(
            || (Run::ready(), evicted.clone(), withdrawn.clone()),
            |(run, evicted, withdrawn)| run.live(evicted, withdrawn),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = a_life
}
criterion_main!(benches);
