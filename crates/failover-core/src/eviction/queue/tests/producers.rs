//! Producers that lag behind, that are two of one name, or that publish each other's entries.

use super::*;

fn hello(sim: &mut Sim, stream: StreamId, producer: &str, identity: &str) {
    sim.tell(Event::ProducerHello {
        stream,
        producer: producer.into(),
        epoch: ProducerEpoch {
            lease_uid: "lease".into(),
            transitions: 1,
        },
        identity: identity.into(),
    });
}

fn upsert(sim: &mut Sim, stream: StreamId, entries: Vec<Published>) {
    sim.effects.clear();
    sim.tell(Event::Upsert { stream, entries });
}

#[test]
fn an_entry_from_an_older_state_changes_nothing_and_is_asked_for_again() {
    let mut sim = Sim::new(settings(1.0));
    let entry = published("m1", "web", 0);
    let mut newer = entry.clone();
    newer.versions.binding = "11".into();
    newer.hold = Some(
        ProducerHold {
            reason: HoldReason::Stay,
            message: "stays".into(),
            by_drop: false,
        }
        .into(),
    );
    sim.publish(vec![newer.clone()]);
    upsert(&mut sim, PRODUCER, vec![entry]);
    assert_eq!(*sim.only().published, newer);
    assert!(sim.effects.contains(&Effect::Outdated));
    let asks = |effect: &Effect| matches!(effect, Effect::Confirm { binding_version, cluster_version, .. } if binding_version == "11" && cluster_version == "20");
    assert!(sim.effects.iter().any(asks), "{:?}", sim.effects);

    // A snapshot from an older state loses no entry either.
    hello(&mut sim, 2, "taintManager", "p");
    upsert(&mut sim, 2, vec![published("m1", "web", 0)]);
    sim.tell(Event::SnapshotComplete { stream: 2 });
    assert_eq!(*sim.only().published, newer);
}

#[test]
fn two_live_processes_of_one_name_are_seen() {
    let mut sim = Sim::new(settings(1.0));
    let notes = |sim: &Sim| sim.queue.notes(sim.now()).join("; ");
    hello(&mut sim, 2, "taintManager", "a");
    hello(&mut sim, 3, "taintManager", "a");
    assert!(
        !notes(&sim).contains("in turns"),
        "a process that comes again is no second one"
    );
    for (stream, identity) in [(4, "b"), (5, "a"), (6, "b")] {
        sim.effects.clear();
        hello(&mut sim, stream, "taintManager", identity);
        let closed = |effect: &Effect| matches!(effect, Effect::CloseStream { stream: closed, reason } if *closed == stream - 1 && reason.contains("only the newest one publishes"));
        assert!(sim.effects.iter().any(closed), "{:?}", sim.effects);
    }
    assert!(
        notes(&sim).contains("published by two processes in turns, b and a (4 times so far)"),
        "{}",
        notes(&sim)
    );
    assert_eq!(sim.queue.status(sim.now()).producers[0].takeovers, 4);
    sim.run_until(301_000, |_| {});
    assert!(!notes(&sim).contains("in turns"), "it is over: {}", notes(&sim));
}

#[test]
fn an_entry_has_one_producer_at_a_time() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "web", 0)]);
    hello(&mut sim, 2, "other", "o");
    upsert(&mut sim, 2, vec![published("m1", "new", 0), published("m1", "web", 0)]);
    let taken =
        |effect: &Effect| matches!(effect, Effect::KeyTaken { stream: 2, owner, .. } if &**owner == "taintManager");
    assert!(sim.effects.iter().any(taken), "{:?}", sim.effects);
    assert_eq!(sim.queue.len(), 1, "nothing of the message was taken");
    sim.tell(Event::ProducerLeft { stream: PRODUCER });
    upsert(&mut sim, 2, vec![published("m1", "new", 0), published("m1", "web", 0)]);
    assert_eq!(sim.queue.len(), 2);
    assert!(sim.queue.entries().all(|entry| &*entry.producer == "other"));
}

#[test]
fn a_lease_is_completed_with_its_own_entry_only() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "web", 0)]);
    sim.consumer(9, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.effects.clear();
    let completion = Completion {
        outcome: OutcomeKind::Evicted,
        reason: "R".into(),
        message: "m".into(),
    };
    sim.tell(Event::Complete {
        lease,
        key: published("m1", "other", 0).key,
        consumer: None,
        completion: completion.clone(),
    });
    assert_eq!(sim.effects, [Effect::Completed(CompleteResult::OtherEntry)]);
    assert_eq!(sim.only().state, State::Leased(lease));
    let key = std::sync::Arc::new(sim.only().key().clone());
    for expected in [CompleteResult::Accepted, CompleteResult::Late] {
        sim.effects.clear();
        sim.tell(Event::Complete {
            lease,
            key: key.clone(),
            consumer: None,
            completion: completion.clone(),
        });
        assert!(sim.effects.contains(&Effect::Completed(expected)));
    }
    assert_eq!(sim.queue.len(), 0);
}

/// An entry without a target, whose verdict rests on free resources or not, and what it waits for.
fn without_target(rests_on: NoTargetRestsOn) -> (Sim, impl Fn(&Sim) -> Option<i64>) {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "web", 0)]);
    sim.consumer(9, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.complete(
        lease,
        OutcomeKind::NoTarget {
            recheck_at: None,
            rests_on,
        },
    );
    (sim, |sim: &Sim| match &sim.only().state {
        State::Held { until, .. } => until.map(|until| until.as_second() - t0().as_second()),
        _ => None,
    })
}

#[test]
fn resources_matter_to_who_found_too_little_room() {
    let more = |sim: &mut Sim, resources: u64| {
        let view = ClusterView {
            resources,
            ..cluster("h1", None)
        };
        sim.tell(Event::ClusterSeen(view));
    };
    let (mut sim, until) = without_target(NoTargetRestsOn::Places);
    more(&mut sim, 7);
    assert_eq!(until(&sim), Some(301), "resources were no part of the verdict");
    let (mut sim, until) = without_target(NoTargetRestsOn::PlacesAndResources);
    more(&mut sim, 7);
    assert_eq!(
        until(&sim),
        Some(31),
        "soon, but not at once: somewhere they change all the time"
    );
    sim.run_until(20_000, |_| {});
    more(&mut sim, 8);
    assert_eq!(until(&sim), Some(31), "and not later for changing again");
    sim.run_until(32_000, |_| {});
    assert_eq!(sim.only().state, State::Ready);
}

#[test]
fn nobody_waits_longer_than_a_day_without_a_look() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "web", 0)]);
    sim.consumer(9, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.complete(lease, OutcomeKind::Wait { until: Timestamp::MAX });
    let State::Held { until, .. } = &sim.only().state else {
        panic!("it is held")
    };
    assert_eq!(*until, Some(at(1_000 + 24 * 3_600_000)));
}

/// A producer of two entries that has been away for longer than the grace.
fn gone() -> Sim {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "web", 0), published("m1", "old", 0)]);
    sim.consumer(9, 0);
    sim.tell(Event::ProducerLeft { stream: PRODUCER });
    sim.run_until(30_000, |_| {});
    assert_eq!(sim.queue.held()[&HoldReason::ProducerGone], 2);
    sim
}

// What it said half a minute ago is no word to evict by, before it has said it again.
#[test]
fn entries_of_a_producer_that_was_gone_are_held_until_it_names_them() {
    let mut sim = gone();
    sim.tell(Event::Credit { stream: 9, leases: 1 });
    sim.hello(2, 2);
    sim.run_until(40_000, |_| {});
    assert!(sim.held.is_empty(), "hello releases nothing");
    let notes = sim.queue.notes(sim.now()).join("; ");
    assert!(notes.contains("held until it has named them again"), "{notes}");
    upsert(&mut sim, 2, vec![published("m1", "web", 0), published("m1", "new", 1)]);
    sim.run_until(50_000, |_| {});
    assert_eq!(sim.entry_of("web").state, State::Leased(sim.lease()));
    let state_of = |sim: &Sim, name: &str| sim.entry_of(name).state.as_str();
    assert_eq!([state_of(&sim, "new"), state_of(&sim, "old")], ["Ready", "Held"]);
    assert_eq!(sim.entry_of("new").since, at(1_000), "ready since it was due");
    sim.tell(Event::SnapshotComplete { stream: 2 });
    assert_eq!(sim.queue.len(), 2, "what the snapshot does not name is taken back");
    assert!(sim.queue.held().is_empty());
}

#[test]
fn a_producer_in_a_crash_loop_stays_gone_and_is_forgotten_in_time() {
    let mut sim = gone();
    for stream in 2..120 {
        sim.hello(stream, 2);
        upsert(&mut sim, stream, vec![published("m1", "web", 0)]);
        assert_eq!(sim.entry_of("old").state.as_str(), "Held");
        let until = sim.millis + 10_000;
        sim.run_until(until, |_| {});
        sim.tell(Event::ProducerLeft { stream });
        assert_eq!(
            sim.queue.held()[&HoldReason::ProducerGone],
            2,
            "what it named before it broke off, too"
        );
        let until = sim.millis + 20_000;
        sim.run_until(until, |_| {});
    }
    assert!(sim.millis < 3_600_000);
    sim.run_until(3_600_000, |_| {});
    assert!(sim.queue.is_empty(), "an hour after it was heard as a whole");
}

// It takes more than a hello to be back, within the grace as well.
#[test]
fn the_grace_runs_on_while_a_snapshot_is_under_way() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "web", 0)]);
    sim.tell(Event::ProducerLeft { stream: PRODUCER });
    sim.run_until(20_000, |_| {});
    sim.hello(2, 2);
    sim.run_until(29_999, |_| {});
    assert_eq!(sim.only().state, State::Ready);
    sim.run_until(30_000, |_| {});
    assert_eq!(held(&sim), Some(HoldReason::ProducerGone));
    sim.run_until(4_000_000, |_| {});
    assert_eq!(sim.queue.len(), 1, "who is connected is not forgotten");
    sim.tell(Event::ProducerLeft { stream: 2 });
    assert!(sim.queue.is_empty());
}

// A set that does not fit must not stop the evictions that make room for it.
#[test]
fn a_producer_that_is_turned_away_again_and_again_is_not_one_that_stays_away() {
    let mut sim = Sim::new(QueueSettings {
        max_entries: 2,
        ..settings(0.0)
    });
    let fits = vec![published("m1", "a", 0), published("m1", "b", 0)];
    sim.publish(fits.clone());
    sim.tell(Event::ProducerLeft { stream: PRODUCER });
    for stream in 10..100 {
        sim.hello(stream, i64::try_from(stream).unwrap());
        upsert(&mut sim, stream, fits.clone());
        upsert(&mut sim, stream, vec![published("m1", "c", 0)]);
        assert!(matches!(sim.effects.last(), Some(Effect::QueueFull { .. })));
        sim.tell(Event::ProducerLeft { stream });
        let until = sim.millis + 5_000;
        sim.run_until(until, |_| {});
        assert_eq!(sim.queue.held().get(&HoldReason::ProducerGone), None);
    }
    assert_eq!(sim.queue.len(), 2);
}

#[test]
fn what_was_never_leased_has_no_past_however_often_it_is_published() {
    let mut sim = Sim::new(settings(0.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.publish(vec![published("m1", "a", 1)]);
    assert!(sim.only().past.is_none());
}

#[test]
fn what_recovers_while_a_producer_tries_to_come_back_goes_when_it_fails() {
    let mut sim = gone();
    sim.hello(2, 2);
    sim.tell(Event::ClusterSeen(cluster("m1", None)));
    sim.tell(Event::ProducerLeft { stream: 2 });
    assert!(sim.queue.is_empty());
}
