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
        sim.tell(Event::Complete { lease, key, completion });
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
