//! What an outcome asks to wait for: how long at the least, and what ends it sooner.

use super::*;

fn wait(sim: &mut Sim, until: u64) {
    let lease = sim.lease();
    sim.complete(lease, OutcomeKind::Wait { until: at(until) });
    assert_eq!(held(sim), Some(HoldReason::Wait));
}

/// An entry that an evictor will not move for an hour: it is leased at a minute.
fn not_due_for_an_hour() -> Sim {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 60)]);
    sim.consumer(10, 5);
    sim.run_until(60_000, |_| {});
    wait(&mut sim, 3_600_000);
    sim
}

// The evictor read a toleration of an hour, of which the producer had not heard; then a person made it 90 s.
#[test]
fn a_toleration_that_is_shortened_meanwhile_counts() {
    let mut sim = not_due_for_an_hour();
    let mut shorter = published("m1", "a", 90);
    shorter.versions.binding_generation = 2;
    shorter.versions.binding = "11".into();
    sim.publish(vec![shorter]);
    assert_eq!(sim.only().state, State::Waiting);
    sim.run_until(90_000, |_| {});
    assert!(matches!(sim.only().state, State::Leased(_)), "{:?}", sim.only().state);
}

// What rests on an annotation changes no generation of the binding, but what is wanted.
#[test]
fn whatever_else_is_wanted_ends_a_wait() {
    let stays = ProducerHold {
        reason: HoldReason::Recovering,
        message: "recovers".into(),
        by_drop: false,
    };
    let changes: [fn(&mut Published); 3] = [
        |entry| entry.due_at = at(30_000),
        |entry| entry.versions.binding_generation = 2,
        |entry| entry.grace_period_seconds = Some(7),
    ];
    for change in changes {
        let mut sim = not_due_for_an_hour();
        let mut changed = published("m1", "a", 60);
        change(&mut changed);
        sim.publish(vec![changed]);
        sim.run_until(61_000, |_| {});
        assert!(matches!(sim.only().state, State::Leased(_)), "{:?}", sim.only().state);
    }
    let mut sim = not_due_for_an_hour();
    let mut held_back = published("m1", "a", 60);
    held_back.hold = Some(stays.into());
    sim.publish(vec![held_back]);
    sim.publish(vec![published("m1", "a", 60)]);
    sim.run_until(61_000, |_| {});
    assert!(matches!(sim.only().state, State::Leased(_)), "{:?}", sim.only().state);
}

// That it waits is written to the binding as a condition, which is a newer version of it: if that ended the wait, it would
// be leased and held and written for ever.
#[test]
fn a_newer_version_alone_ends_no_wait() {
    let mut sim = not_due_for_an_hour();
    let mut newer = published("m1", "a", 60);
    newer.versions.binding = "11".into();
    newer.versions.cluster = "21".into();
    sim.publish(vec![newer]);
    sim.run_until(3_599_999, |_| {});
    assert_eq!(held(&sim), Some(HoldReason::Wait));
    sim.run_until(3_600_000, |_| {});
    assert!(matches!(sim.only().state, State::Leased(_)));
}

/// How often an entry is leased in five seconds whose evictor says each time what `outcome` makes of the moment.
fn leases_in_five_seconds(outcome: impl Fn(u64) -> OutcomeKind) -> usize {
    let mut sim = Sim::new(settings(1_000.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1_000);
    let mut leases = 0;
    sim.run_until(5_000, |sim| {
        while let Some(id) = sim.held.keys().next().copied() {
            leases += 1;
            assert!(leases < 100, "leased again and again within {} ms", sim.millis);
            let outcome = outcome(sim.millis);
            sim.complete(id, outcome);
        }
    });
    leases
}

// The evictor's clock is a minute behind the queue's: "in ten seconds" was 50 s ago.
#[test]
fn a_time_that_is_over_is_waited_for_a_moment() {
    let over = |_| at(0) - SignedDuration::from_secs(50);
    let wait = leases_in_five_seconds(|now| OutcomeKind::Wait { until: over(now) });
    assert!((4..=6).contains(&wait), "{wait} leases");
    let no_target = leases_in_five_seconds(|now| OutcomeKind::NoTarget {
        recheck_at: Some(over(now)),
        rests_on: NoTargetRestsOn::Places,
    });
    assert!((4..=6).contains(&no_target), "{no_target} leases");
}
