//! Leases: who renews them, what revokes them, and what a late word still counts for.

use super::*;

#[test]
fn a_lease_is_revoked_when_its_cluster_recovers() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.tell(Event::ClusterSeen(cluster("m1", None)));
    assert!(matches!(sim.effects.last(), Some(Effect::Revoke { consumer: 10, lease: id, .. }) if *id == lease));
    sim.tell(Event::Renew {
        stream: 10,
        leases: vec![lease],
    });
    assert_eq!(
        sim.effects.last(),
        Some(&Effect::Renewed {
            consumer: 10,
            leases: vec![]
        })
    );
    let keys = vec![(sim.only().key().clone(), WithdrawReason::ClusterRecovered)];
    sim.tell(Event::Withdraw {
        stream: PRODUCER,
        entries: keys,
    });
    assert_eq!(sim.queue.len(), 1, "until the consumer has said what it did");
    sim.complete(
        lease,
        OutcomeKind::NotNeeded {
            binding_version: "1".into(),
            cluster_version: "1".into(),
        },
    );
    assert!(sim.queue.is_empty());
}

// The usual race: the producer sees the eviction in its watch before the evictor has completed the lease.
#[test]
fn taken_back_while_leased_counts_as_evicted_when_it_was() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(1_000, |_| {});
    let keys = vec![(sim.only().key().clone(), WithdrawReason::Leaving)];
    sim.tell(Event::Withdraw {
        stream: PRODUCER,
        entries: keys,
    });
    assert!(!sim.effects.iter().any(|effect| matches!(effect, Effect::Revoke { .. })));
    let lease = sim.lease();
    sim.complete(lease, OutcomeKind::Evicted);
    let last = sim.queue.changes_after(0, 1_000).unwrap().changes.pop().unwrap();
    assert_eq!(last.removed, Some(Removed::Evicted));
    assert!(sim.queue.is_empty());
}

// What was revoked while a consumer had no stream is said on its next one, once it renews there; what is revoked later
// too.
#[test]
fn a_consumer_that_comes_back_hears_what_was_revoked() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0), published("m2", "b", 0)]);
    sim.consumer(10, 2);
    sim.run_until(2_000, |_| {});
    let leases: Vec<LeaseId> = sim.held.keys().copied().collect();
    let renew = |sim: &mut Sim, stream| {
        let leases = leases.clone();
        sim.effects.clear();
        sim.tell(Event::Renew { stream, leases });
    };
    renew(&mut sim, 10);
    sim.tell(Event::ConsumerLeft { stream: 10 });
    sim.tell(pause(PauseScopeView::Clusters(["m1".into()].into()), None));
    sim.consumer(11, 0);
    renew(&mut sim, 11);
    let revoked = |sim: &Sim| match &sim.effects[..] {
        [
            Effect::Revoke {
                consumer: 11, lease, ..
            },
            ..,
        ] => Some(*lease),
        _ => None,
    };
    assert_eq!(revoked(&sim), Some(leases[0]));
    let live_on = vec![leases[1]];
    assert!(
        matches!(&sim.effects[1..], [Effect::Renewed { consumer: 11, leases }] if *leases == live_on),
        "{:?}",
        sim.effects
    );
    sim.effects.clear();
    sim.tell(Event::ClusterSeen(cluster("m2", None)));
    assert_eq!(revoked(&sim), Some(leases[1]));
}

// Whoever guesses the number of a lease neither prolongs it nor takes over what is said about it.
#[test]
fn a_lease_of_somebody_else_is_not_renewed() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.consumer_of("stranger", 11, 0);
    let leases = vec![lease];
    sim.tell(Event::Renew { stream: 11, leases });
    let nothing = Effect::Renewed {
        consumer: 11,
        leases: vec![],
    };
    assert_eq!(sim.effects.last(), Some(&nothing));
    sim.tell(Event::ClusterSeen(cluster("m1", None)));
    assert!(matches!(sim.effects.last(), Some(Effect::Revoke { consumer: 10, .. })));
}

// A late word counts for the entry of the lapsed lease, and once.
#[test]
fn a_late_word_removes_no_other_entry() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    let (first, other) = (sim.only().key().clone(), published("m1", "b", 900));
    sim.publish(vec![other.clone()]);
    sim.run_until(40_000, |_| {});
    let late = |sim: &mut Sim, key: &EntryKey| {
        sim.effects.clear();
        let completion = Completion {
            outcome: OutcomeKind::Evicted,
            reason: "Evicted".into(),
            message: String::new(),
        };
        let key = key.clone().into();
        sim.tell(Event::Complete {
            lease,
            key,
            consumer: None,
            completion,
        });
        sim.effects.clone()
    };
    let answer = late(&mut sim, &other.key);
    assert!(
        answer.contains(&Effect::Completed(CompleteResult::OtherEntry)),
        "{answer:?}"
    );
    assert_eq!(sim.queue.len(), 2);
    assert!(late(&mut sim, &first).contains(&Effect::Completed(CompleteResult::Late)));
    assert_eq!(sim.queue.len(), 1);
    sim.publish(vec![published("m1", "a", 0)]);
    late(&mut sim, &first);
    assert_eq!(sim.queue.len(), 2, "published again, it is another story");
}

#[test]
fn a_renewed_lease_lives_on() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.run_until(30_000, |_| {});
    sim.tell(Event::Renew {
        stream: 10,
        leases: vec![lease, 99],
    });
    assert_eq!(
        sim.effects.last(),
        Some(&Effect::Renewed {
            consumer: 10,
            leases: vec![lease]
        })
    );
    sim.run_until(61_999, |_| {});
    assert!(matches!(sim.only().state, State::Leased(_)));
    sim.run_until(62_000, |_| {});
    assert_eq!(sim.only().state, State::Ready);
}

// Nobody knew what became of a lapsed lease; who says late that it was an eviction tells of a real move.
#[test]
fn an_eviction_that_is_told_late_is_counted_once() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    let released_at = sim.queue.leases[&lease].released_at;
    sim.run_until(40_000, |_| {});
    assert_eq!(sim.queue.recent().next().unwrap().end, LeaseEnd::Lapsed);
    let tokens = sim.queue.bucket.fill(sim.now().elapsed);
    sim.effects.clear();
    sim.complete(lease, OutcomeKind::Evicted);
    let recent: Vec<_> = sim.queue.recent().collect();
    assert_eq!([recent[0].end, recent[1].end], [LeaseEnd::Evicted, LeaseEnd::Lapsed]);
    assert_eq!(
        (recent[0].released_at, recent[0].ended_at, &*recent[0].consumer),
        (released_at, at(40_000), "evictor")
    );
    let now = sim.now().elapsed;
    let stats = sim.queue.stats().next().unwrap().1;
    assert_eq!(stats.success_rate(now), Some(1.0));
    assert!((stats.evictions_per_second(now) - 1.0 / 60.0).abs() < 1e-9);
    let finished = |effect: &&Effect| matches!(effect, Effect::Finished(outcome) if outcome.end == LeaseEnd::Evicted);
    assert_eq!(sim.effects.iter().filter(finished).count(), 1, "for the metrics");
    assert!(sim.effects.contains(&Effect::Completed(CompleteResult::Late)));
    assert!(
        (sim.queue.bucket.fill(now) - tokens).abs() < 1e-9,
        "its token was spent before"
    );
    let again = Event::Complete {
        lease,
        key: published("m1", "a", 0).key,
        consumer: None,
        completion: Completion {
            outcome: OutcomeKind::Evicted,
            reason: "R".into(),
            message: "m".into(),
        },
    };
    sim.tell(again);
    assert_eq!(sim.queue.recent().count(), 2, "once");
}

// Whoever guesses the number of a lease and knows its entry does not end it, neither while it runs nor after it lapsed.
#[test]
fn a_lease_of_somebody_else_is_not_completed() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    let complete = |sim: &mut Sim, consumer: &str| {
        sim.effects.clear();
        sim.tell(Event::Complete {
            lease,
            key: published("m1", "a", 0).key,
            consumer: Some(consumer.to_owned()),
            completion: Completion {
                outcome: OutcomeKind::Evicted,
                reason: "R".into(),
                message: "m".into(),
            },
        });
        sim.effects.clone()
    };
    let refused = [Effect::Completed(CompleteResult::OtherConsumer)];
    assert_eq!(complete(&mut sim, "stranger"), refused);
    assert_eq!(sim.only().state, State::Leased(lease));
    sim.run_until(40_000, |_| {});
    assert_eq!(complete(&mut sim, "stranger"), refused);
    assert_eq!(sim.queue.len(), 1);
    assert!(complete(&mut sim, "evictor").contains(&Effect::Completed(CompleteResult::Late)));
    assert!(sim.queue.is_empty());
}
