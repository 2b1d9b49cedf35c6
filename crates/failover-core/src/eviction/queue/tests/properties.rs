use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Publish {
        cluster: usize,
        name: u8,
        due: i64,
        priority: i32,
        held: bool,
    },
    Withdraw {
        cluster: usize,
        name: u8,
    },
    Taint {
        cluster: usize,
        tainted: bool,
    },
    End {
        which: usize,
        how: u8,
    },
    Renew,
    Reconnect,
    Leave,
    ConsumerGone,
    Pause(bool),
    /// A watcher reads so many changes.
    Read(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..20_000_u64).prop_map(Step::Wait),
        4 => (0..2_usize, 0..12_u8, -700..60_i64, -2..3_i32, any::<bool>())
            .prop_map(|(cluster, name, due, priority, held)| Step::Publish { cluster, name, due, priority, held: held && name % 3 == 0 }),
        1 => (0..2_usize, 0..12_u8).prop_map(|(cluster, name)| Step::Withdraw { cluster, name }),
        1 => (0..2_usize, any::<bool>()).prop_map(|(cluster, tainted)| Step::Taint { cluster, tainted }),
        4 => (0..4_usize, 0..6_u8).prop_map(|(which, how)| Step::End { which, how }),
        1 => Just(Step::Renew),
        1 => Just(Step::Reconnect),
        1 => Just(Step::Leave),
        1 => Just(Step::ConsumerGone),
        1 => any::<bool>().prop_map(Step::Pause),
        2 => (1..20_usize).prop_map(Step::Read),
    ]
}

const CLUSTERS: [&str; 2] = ["m1", "m2"];

/// Who follows the changes: what it makes of them is the queue as it is, whenever it has read them all.
struct Watcher {
    revision: u64,
    entries: BTreeMap<EntryKey, Arc<Entry>>,
}

impl Watcher {
    fn new(queue: &Queue) -> Self {
        let entries = queue.entries().map(|entry| (entry.key().clone(), entry.clone()));
        Self {
            revision: queue.revision(),
            entries: entries.collect(),
        }
    }

    fn read(&mut self, queue: &Queue, limit: usize) {
        let Ok(after) = queue.changes_after(self.revision, limit) else {
            *self = Self::new(queue);
            return;
        };
        assert!(after.up_to <= queue.revision() && after.changes.len() <= limit);
        self.revision = after.up_to;
        for change in after.changes {
            let key = change.entry.key().clone();
            match change.removed {
                Some(_) => drop(self.entries.remove(&key)),
                None => drop(self.entries.insert(key, change.entry)),
            }
        }
        if self.revision == queue.revision() {
            assert_eq!(self.entries, Self::new(queue).entries);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    // Rules 1, 2 and 6: never faster than the rate, never before the due time, nothing is lost.
    #[test]
    fn any_history_keeps_the_rules(steps in proptest::collection::vec(step(), 1..120), max_out in 1..5_usize, changes_kept in 1..60_usize) {
        let rate = 0.5;
        let mut sim = Sim::new(QueueSettings { max_outstanding_leases: Some(max_out), changes_kept, ..settings(rate) });
        let mut watcher = Watcher::new(&sim.queue);
        let mut stream = PRODUCER;
        let mut consumer = 100;
        sim.consumer(consumer, 1_000);
        // What the producer wants in the queue: the model of rule 6.
        let mut wanted: BTreeMap<EntryKey, Published> = BTreeMap::new();
        let mut granted_evicted: Vec<u64> = Vec::new();
        for step in steps {
            let connected = sim.queue.producers.values().any(|producer| producer.stream().is_some());
            match step {
                Step::Publish { .. } | Step::Withdraw { .. } if !connected => {}
                Step::Wait(by) => { let until = sim.millis + by; sim.run_until(until, |_| {}); }
                Step::Publish { cluster, name, due, priority, held } => {
                    let mut entry = published(CLUSTERS[cluster], &format!("b{name}"), due + i64::try_from(sim.millis / 1_000).unwrap());
                    entry.priority = priority;
                    entry.hold = held.then(|| ProducerHold { reason: HoldReason::Stay, message: "s".into(), by_drop: false }.into());
                    wanted.insert(EntryKey::clone(&entry.key), entry.clone());
                    sim.tell(Event::Upsert { stream, entries: vec![entry] });
                }
                Step::Withdraw { cluster, name } => {
                    let key = published(CLUSTERS[cluster], &format!("b{name}"), 0).key;
                    wanted.remove(&key);
                    sim.tell(Event::Withdraw { stream, entries: vec![(EntryKey::clone(&key), WithdrawReason::Tolerated)] });
                }
                Step::Taint { cluster, tainted } => {
                    sim.tell(Event::ClusterSeen(super::cluster(CLUSTERS[cluster], tainted.then(|| taint(0)))));
                }
                Step::End { which, how } => {
                    let Some(id) = sim.held.keys().nth(which).copied() else { continue };
                    let outcome = match how {
                        0 | 1 => OutcomeKind::Evicted,
                        2 => OutcomeKind::NotNeeded { binding_version: "10".into(), cluster_version: "20".into() },
                        3 => OutcomeKind::NoTarget { recheck_at: None, rests_on: NoTargetRestsOn::Places },
                        4 => OutcomeKind::Failed,
                        _ => OutcomeKind::Wait { until: at(sim.millis + 5_000) },
                    };
                    let was_live = sim.queue.leases.contains_key(&id);
                    let (released, lease) = sim.held[&id].clone();
                    prop_assert!(lease.published.due_at <= at(released), "never early");
                    if outcome == OutcomeKind::Evicted {
                        granted_evicted.push(released);
                        let known = sim.queue.entry(&lease.published.key).is_some_and(|e| was_live || e.lease.is_none());
                        if known { wanted.remove(&lease.published.key); }
                    }
                    sim.complete(id, outcome);
                }
                Step::Renew => {
                    let leases = sim.held.keys().copied().collect();
                    sim.tell(Event::Renew { stream: consumer, leases });
                }
                Step::Reconnect => {
                    stream += 1;
                    sim.hello(stream, 1);
                    sim.tell(Event::Upsert { stream, entries: wanted.values().cloned().collect() });
                    sim.tell(Event::SnapshotComplete { stream });
                }
                Step::Leave => sim.tell(Event::ProducerLeft { stream }),
                Step::ConsumerGone => {
                    // By the protocol it has not written on what was never confirmed to it.
                    let leases = sim.queue.leases.iter();
                    let unused = leases.filter(|(_, lease)| lease.consumer == consumer && !lease.confirmed);
                    for id in unused.map(|(id, _)| *id).collect::<Vec<_>>() {
                        sim.held.remove(&id);
                    }
                    sim.tell(Event::ConsumerLeft { stream: consumer });
                    consumer += 1;
                    sim.consumer(consumer, 1_000);
                }
                Step::Pause(true) => sim.tell(Event::PauseSeen(PauseView {
                    name: "p".into(), scope: PauseScopeView::Clusters(["m1".to_owned()].into()), reason: "r".into(), until: Some(at(sim.millis + 20_000)),
                })),
                Step::Read(limit) => watcher.read(&sim.queue, limit),
                Step::Pause(false) => sim.tell(Event::PauseGone("p".into())),
            }
            sim.queue.check_order(at(sim.millis));
            // A producer that is gone and whose cluster recovered loses its entries; it publishes them anew or not.
            if sim.queue.producers.values().all(producer::Producer::is_gone) {
                wanted.retain(|key, _| sim.queue.entry(key).is_some_and(|entry| entry.past.withdrawn.is_none()));
            }
            let in_queue: BTreeSet<_> = sim.queue.entries().filter(|e| e.past.withdrawn.is_none()).map(|e| e.key().clone()).collect();
            prop_assert_eq!(&in_queue, &wanted.keys().cloned().collect::<BTreeSet<_>>());
            for entry in sim.queue.entries() {
                if let State::Held { message, .. } = &entry.state {
                    prop_assert!(!message.is_empty(), "what is held says why");
                }
            }
        }
        while watcher.revision < sim.queue.revision() {
            watcher.read(&sim.queue, 3);
        }
        granted_evicted.sort_unstable();
        for pair in granted_evicted.windows(2) {
            prop_assert!(pair[1] - pair[0] >= 2_000, "{:?}", granted_evicted);
        }
    }

    // The order of release is the documented one, whatever order things were published in.
    #[test]
    fn the_order_is_a_function_of_the_entries(
        mut entries in proptest::collection::vec((0..2_usize, -1_200..0_i64, -2..3_i32), 1..30),
        seed in any::<u64>(),
    ) {
        let all: Vec<_> = entries.drain(..).enumerate().map(|(n, (cluster, due, priority))| {
            // Nothing that begins to starve while the test releases.
            let due = if (-602..=-598).contains(&due) { due - 10 } else { due };
            Published { priority, ..published(CLUSTERS[cluster], &format!("b{n:02}"), due) }
        }).collect();
        let run = |mut entries: Vec<Published>, by: u64| {
            let shift = usize::try_from(by % 97).unwrap() % entries.len();
            entries.rotate_left(shift);
            // Fast, so that nothing begins to starve meanwhile.
            let mut sim = Sim::new(settings(1_000.0));
            sim.publish(entries);
            sim.consumer(10, 1);
            sim.run_until(1_000, Sim::evict_all);
            sim.evicted.into_iter().map(|(_, key)| key).collect::<Vec<_>>()
        };
        let released = run(all.clone(), 0);
        prop_assert_eq!(&released, &run(all.clone(), seed));

        let in_lane = |lane: &str| {
            let mut lane: Vec<_> = all.iter().filter(|e| e.key.cluster.as_str() == lane).collect();
            lane.sort_by_key(|e| {
                let starving = t0().duration_since(e.due_at) > SignedDuration::from_secs(600);
                // Of those that starve the older goes first, whatever its priority.
                let age = if starving { e.due_at } else { t0() };
                (!starving, age, -e.priority, e.due_at, e.key.clone())
            });
            lane.into_iter().map(|e| EntryKey::clone(&e.key)).collect::<Vec<_>>()
        };
        let (mut first, mut second) = (in_lane("m1").into_iter().peekable(), in_lane("m2").into_iter().peekable());
        let mut expected = Vec::new();
        while first.peek().is_some() || second.peek().is_some() {
            expected.extend(first.next());
            expected.extend(second.next());
        }
        prop_assert_eq!(released, expected);
    }
}
