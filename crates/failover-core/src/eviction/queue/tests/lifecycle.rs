use rstest::rstest;

use super::*;

#[test]
fn an_entry_waits_is_ready_leased_and_gone() {
    let mut sim = Sim::new(settings(0.5));
    sim.publish(vec![published("m1", "a", 300)]);
    sim.consumer(10, 1);
    assert_eq!(sim.only().state, State::Waiting);
    sim.run_until(299_999, |_| {});
    assert_eq!(sim.only().state, State::Waiting, "never early");
    sim.run_until(300_000, |_| {});
    assert!(matches!(sim.only().state, State::Leased(_)), "the bucket is full");
    let lease = sim.lease();
    sim.complete(lease, OutcomeKind::Evicted);
    assert!(sim.queue.is_empty());
    let changes = sim.queue.changes_after(0, 100).unwrap().changes;
    assert_eq!(changes.last().unwrap().removed, Some(Removed::Evicted));
}

// C29 (kubernetes#108982): the due time moves with what is published, both ways.
#[test]
fn a_due_time_moves() {
    let mut sim = Sim::new(settings(0.5));
    sim.publish(vec![published("m1", "a", 300)]);
    sim.run_until(100_000, |_| {});
    sim.publish(vec![published("m1", "a", 3_600)]);
    sim.run_until(400_000, |_| {});
    assert_eq!(sim.only().state, State::Waiting);
    sim.publish(vec![published("m1", "a", 150)]);
    assert_eq!(
        (&sim.only().state, sim.only().since),
        (&State::Ready, at(150_000)),
        "ready since it was due"
    );
}

#[test]
fn lanes_take_turns_and_priority_goes_first_within_one() {
    let mut sim = Sim::new(settings(1.0));
    let mut urgent = published("m1", "z", 0);
    urgent.priority = 5;
    sim.publish(vec![
        published("m1", "a", -1),
        published("m1", "b", -2),
        published("m2", "c", 0),
        urgent,
    ]);
    sim.consumer(10, 1);
    sim.run_until(5_000, Sim::evict_all);
    assert_eq!(
        sim.names(),
        ["z", "c", "b", "a"],
        "priority, the other lane, then by due time"
    );
}

#[test]
fn what_is_ready_longer_than_the_limit_goes_before_the_younger() {
    let mut sim = Sim::new(settings(1.0));
    let urgent = |n| Published {
        priority: 9,
        ..published("m1", n, 0)
    };
    sim.publish(vec![
        published("m1", "old", -601),
        urgent("u1"),
        published("m1", "young", 0),
    ]);
    sim.consumer(10, 1);
    sim.run_until(5_000, Sim::evict_all);
    assert_eq!(sim.names(), ["old", "u1", "young"]);
}

// Correctness rule 5: a rebuilt queue has the same order.
#[test]
fn a_rebuilt_queue_has_the_same_order() {
    let entries: Vec<_> = (0..20_i64)
        .map(|n| Published {
            priority: i32::try_from(n % 3).unwrap(),
            ..published(if n % 4 == 0 { "m2" } else { "m1" }, &format!("b{n:02}"), -(n * 7 % 11))
        })
        .collect();
    let order = |entries: Vec<Published>, restart_after: Option<usize>| {
        let mut sim = Sim::new(settings(1.0));
        sim.publish(entries.clone());
        sim.consumer(10, 1);
        if let Some(count) = restart_after {
            while sim.evicted.len() < count {
                let next = sim.millis + 500;
                sim.run_until(next, Sim::evict_all);
            }
            let done: Vec<_> = sim.evicted.clone();
            let mut rebuilt = Sim::new(settings(1.0));
            let mut rest: Vec<_> = entries
                .into_iter()
                .filter(|e| !done.iter().any(|(_, key)| *key == *e.key))
                .collect();
            rest.reverse();
            rebuilt.publish(rest);
            rebuilt.consumer(10, 1);
            rebuilt.run_until(60_000, Sim::evict_all);
            return done
                .into_iter()
                .chain(rebuilt.evicted)
                .map(|(_, key)| key)
                .collect::<Vec<_>>();
        }
        sim.run_until(60_000, Sim::evict_all);
        sim.evicted.into_iter().map(|(_, key)| key).collect()
    };
    let in_lane = |keys: &[EntryKey], lane: &str| {
        keys.iter()
            .filter(|key| key.cluster.as_str() == lane)
            .cloned()
            .collect::<Vec<_>>()
    };
    let reference = order(entries.clone(), None);
    for count in [1, 5, 13] {
        let restarted = order(entries.clone(), Some(count));
        for lane in ["m1", "m2"] {
            assert_eq!(
                in_lane(&restarted, lane),
                in_lane(&reference, lane),
                "restart after {count}"
            );
        }
    }
}

// What an evictor found not needed is not leased again on the same word, and is not lost either.
#[test]
fn not_needed_is_held_until_confirmed_from_a_state_at_least_as_new() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 5);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    let found = OutcomeKind::NotNeeded {
        binding_version: "12".into(),
        cluster_version: "20".into(),
    };
    sim.complete(lease, found);
    assert_eq!(held(&sim), Some(HoldReason::NotNeeded));
    assert!(
        matches!(sim.effects.last(), Some(Effect::Confirm { producer: PRODUCER, binding_version, .. }) if binding_version == "12")
    );

    let with_version = |version: &str| {
        let mut entry = published("m1", "a", 0);
        entry.versions.binding = version.into();
        entry
    };
    sim.publish(vec![with_version("11")]);
    assert_eq!(held(&sim), Some(HoldReason::NotNeeded), "an older state says nothing");
    sim.publish(vec![with_version("12")]);
    assert_eq!(
        (&sim.only().state, sim.only().past.not_before),
        (&State::Ready, Some(at(2_000))),
        "back-off of 1 s"
    );
    sim.run_until(1_999, |_| {});
    assert!(sim.held.is_empty());
    sim.run_until(2_000, |_| {});
    assert_eq!(sim.held.len(), 1);
}

#[test]
fn a_producer_that_reconnects_is_asked_to_confirm_again() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 5);
    sim.run_until(1_000, |_| {});
    sim.tell(Event::ProducerLeft { stream: PRODUCER });
    let lease = sim.lease();
    sim.complete(
        lease,
        OutcomeKind::NotNeeded {
            binding_version: "12".into(),
            cluster_version: "20".into(),
        },
    );
    sim.effects.clear();
    sim.hello(2, 1);
    sim.tell(Event::Upsert {
        stream: 2,
        entries: vec![published("m1", "a", 0)],
    });
    assert_eq!(held(&sim), Some(HoldReason::NotNeeded));
    sim.tell(Event::SnapshotComplete { stream: 2 });
    assert!(matches!(sim.effects.last(), Some(Effect::Confirm { producer: 2, .. })));
}

#[test]
fn no_target_is_held_and_looked_at_again() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 50);
    let no_target = |sim: &mut Sim, recheck_at| {
        let lease = sim.lease();
        sim.complete(
            lease,
            OutcomeKind::NoTarget {
                recheck_at,
                rests_on: NoTargetRestsOn::Places,
            },
        );
        assert_eq!(held(sim), Some(HoldReason::NoTarget));
    };
    sim.run_until(1_000, |_| {});
    no_target(&mut sim, None);
    sim.tell(Event::ClusterSeen(cluster("h1", None)));
    assert_eq!(
        held(&sim),
        Some(HoldReason::NoTarget),
        "nothing about the cluster as a place changed"
    );
    sim.tell(Event::ClusterSeen(ClusterView {
        as_a_place: 7,
        ..cluster("h1", None)
    }));
    assert!(
        matches!(sim.only().state, State::Leased(_)),
        "the token came back, and the entry goes at once"
    );

    no_target(&mut sim, Some(at(31_000)));
    sim.run_until(30_999, |_| {});
    assert!(sim.held.is_empty());
    sim.run_until(31_000, |_| {});
    no_target(&mut sim, None);
    sim.run_until(330_999, |_| {});
    assert!(sim.held.is_empty());
    sim.run_until(331_000, |_| {});
    no_target(&mut sim, None);
    let mut changed = published("m1", "a", 0);
    changed.versions.binding_generation = 2;
    sim.publish(vec![changed]);
    assert!(
        matches!(sim.only().state, State::Leased(_)),
        "the spec of the binding changed"
    );
    assert_eq!(
        sim.queue.stats().next().unwrap().1.success_rate(sim.now().elapsed),
        Some(0.0)
    );
}

#[test]
fn wait_is_held_until_its_time() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 5);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.complete(lease, OutcomeKind::Wait { until: at(61_000) });
    sim.run_until(60_999, |_| {});
    assert_eq!(held(&sim), Some(HoldReason::Wait));
    sim.run_until(61_000, |_| {});
    assert!(matches!(sim.only().state, State::Leased(_)));
}

// What a person ends is told apart from what ends by itself alone, and takes no turn either.
#[test]
fn a_second_owner_holds_until_the_time_that_the_evictor_names() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 5);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.complete_because(lease, OutcomeKind::Wait { until: at(61_000) }, "SecondOwner");
    assert_eq!(held(&sim), Some(HoldReason::SecondOwner));
    assert_eq!(sim.queue.held(), [(HoldReason::SecondOwner, 1)].into());
    sim.publish(vec![published("m2", "b", 0)]);
    sim.run_until(1_001, Sim::evict_all);
    assert_eq!(sim.evicted.len(), 1, "its token is there for another one at once");
    sim.run_until(60_999, |_| {});
    assert_eq!(held(&sim), Some(HoldReason::SecondOwner));
    sim.run_until(61_000, |_| {});
    assert!(matches!(sim.only().state, State::Leased(_)));
}

#[test]
fn a_producer_s_hold_keeps_an_entry_visible_and_unreleased() {
    let mut sim = Sim::new(settings(1.0));
    sim.consumer(10, 5);
    let hold = ProducerHold {
        reason: HoldReason::Stay,
        message: "stays".into(),
        by_drop: false,
    };
    sim.publish(vec![Published {
        hold: Some(hold.into()),
        ..published("m1", "a", 0)
    }]);
    sim.run_until(60_000, Sim::evict_all);
    assert_eq!(held(&sim), Some(HoldReason::Stay));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.run_until(61_000, Sim::evict_all);
    assert!(sim.queue.is_empty());
}

#[test]
fn entries_of_a_producer_that_stays_away_are_held_and_dropped_in_the_end() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    let queued_at = sim.only().queued_at;
    sim.tell(Event::ProducerLeft { stream: PRODUCER });
    sim.run_until(29_999, |_| {});
    assert_eq!(sim.only().state, State::Ready, "grace");
    sim.run_until(30_000, |_| {});
    assert_eq!(held(&sim), Some(HoldReason::ProducerGone));
    sim.hello(2, 2);
    assert_eq!(held(&sim), Some(HoldReason::ProducerGone), "hello says nothing of it");
    sim.tell(Event::Upsert {
        stream: 2,
        entries: vec![published("m1", "a", 0)],
    });
    assert_eq!(
        (&sim.only().state, sim.only().queued_at),
        (&State::Ready, queued_at),
        "named anew, with its place"
    );
    sim.tell(Event::SnapshotComplete { stream: 2 });
    sim.tell(Event::ProducerLeft { stream: 2 });
    sim.run_until(30_000 + 3_600_000 - 1, |_| {});
    assert_eq!(held(&sim), Some(HoldReason::ProducerGone));
    sim.effects.clear();
    sim.run_until(30_000 + 3_600_000, |_| {});
    assert!(sim.queue.is_empty());
    let last = sim.queue.changes_after(0, 1_000).unwrap().changes.pop().unwrap();
    assert_eq!(last.removed, Some(Removed::ProducerGone));
    let forgotten = Effect::ProducerForgotten {
        producer: "taintManager".into(),
        entries: 1,
        since: at(30_000),
    };
    assert_eq!(sim.effects, [forgotten], "and somebody hears of it");
}

#[test]
fn what_recovers_while_its_producer_is_gone_is_dropped_at_once() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.tell(Event::ProducerLeft { stream: PRODUCER });
    sim.run_until(40_000, |_| {});
    sim.tell(Event::ClusterSeen(cluster("m1", None)));
    assert!(sim.queue.is_empty());
}

#[test]
fn a_snapshot_replaces_the_set() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0), published("m1", "b", 0)]);
    sim.hello(2, 1);
    assert!(matches!(
        sim.effects.last(),
        Some(Effect::CloseStream { stream: PRODUCER, .. })
    ));
    sim.tell(Event::Upsert {
        stream: 2,
        entries: vec![published("m1", "b", 0), published("m1", "c", 0)],
    });
    assert_eq!(sim.queue.len(), 3, "nothing goes before the snapshot is complete");
    sim.publish(vec![published("m1", "d", 0)]);
    assert_eq!(sim.queue.len(), 3, "the old stream has no say");
    sim.tell(Event::SnapshotComplete { stream: 2 });
    let names: Vec<_> = sim
        .queue
        .entries()
        .map(|entry| entry.key().binding.name.clone())
        .collect();
    assert_eq!(names, ["b", "c"]);
    assert_eq!(
        sim.effects.last(),
        Some(&Effect::SnapshotAccepted {
            producer: 2,
            entries: 2
        })
    );
}

#[rstest]
#[case::same_term("lease", 1, EpochCheck::Accept)]
#[case::later_term("lease", 2, EpochCheck::Accept)]
#[case::earlier_term("lease", 0, EpochCheck::Refuse { known_transitions: 1 })]
#[case::another_lease("other", 0, EpochCheck::ConfirmLive)]
fn terms_of_producers(#[case] lease_uid: &str, #[case] transitions: i64, #[case] expected: EpochCheck) {
    let sim = Sim::new(settings(1.0));
    let epoch = ProducerEpoch {
        lease_uid: lease_uid.into(),
        transitions,
    };
    assert_eq!(sim.queue.check_epoch("taintManager", &epoch), expected);
    assert_eq!(sim.queue.check_epoch("applicationFailover", &epoch), EpochCheck::Accept);
}

#[test]
fn a_full_queue_takes_nothing_of_a_message() {
    let mut sim = Sim::new(QueueSettings {
        max_entries: 2,
        ..settings(1.0)
    });
    sim.publish(vec![published("m1", "a", 0)]);
    sim.publish(vec![published("m1", "b", 0), published("m1", "c", 0)]);
    assert_eq!(sim.queue.len(), 1);
    assert_eq!(
        sim.effects.last(),
        Some(&Effect::QueueFull {
            stream: PRODUCER,
            max_entries: 2
        })
    );
    sim.publish(vec![published("m1", "a", 5), published("m1", "b", 0)]);
    assert_eq!(sim.queue.len(), 2, "what is there already needs no room");
}

// What people see in a list is the order by which the queue releases, starvation and back-off included.
#[test]
fn a_list_has_the_order_of_the_lane() {
    let mut sim = Sim::new(settings(1.0));
    let urgent = |name: &str| Published {
        priority: 5,
        ..published("m1", name, 1_000)
    };
    sim.consumer(10, 2);
    sim.publish(vec![published("m1", "failed", 0)]);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.publish(vec![published("m1", "out", 0)]);
    sim.run_until(3_000, |_| {});
    sim.publish(vec![
        published("m1", "starving", 0),
        urgent("urgent"),
        published("m1", "young", 1_000),
    ]);
    sim.publish(vec![published("m1", "later", 5_000), published("m2", "other", 0)]);
    sim.millis = 1_100_000;
    sim.complete(lease, OutcomeKind::Failed);
    let list = |sim: &Sim, cluster: Option<api_types::ClusterName>| -> Vec<String> {
        let lanes = sim.queue.lane_entries(cluster.as_ref(), sim.now().wall);
        let entries = lanes.into_iter().flat_map(LaneEntries::into_order);
        entries.map(|entry| entry.key().binding.name.clone()).collect()
    };
    let m1 = list(&sim, Some("m1".into()));
    let ready: Vec<_> = m1
        .iter()
        .filter_map(|name| {
            let entry = sim
                .queue
                .entry_of(&api_types::BindingKey::namespaced("default", name), None)?;
            Some((sim.queue.place(entry.key(), sim.now())?.position, name.clone()))
        })
        .collect();
    assert!(ready.is_sorted() && ready.len() >= 3, "{ready:?}");
    assert_eq!(m1.last().unwrap(), "later");
    assert_eq!(list(&sim, None).len(), sim.queue.len());
}

// C48 (kubernetes/enhancements#5263): a regime that changes while entries wait applies to them.
#[test]
fn the_regime_follows_the_fleet() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish((0..50).map(|n| published("m1", &format!("b{n}"), 0)).collect());
    sim.consumer(10, 1);
    sim.run_until(10_000, Sim::evict_all);
    assert_eq!(sim.evicted.len(), 10);
    sim.tell(Event::ClusterSeen(cluster("h1", Some(taint(5)))));
    assert_eq!(sim.queue.verdict().regime.as_str(), "Halted");
    sim.run_until(20_000, Sim::evict_all);
    assert_eq!(sim.evicted.len(), 10);
    for name in ["h2", "h3"] {
        sim.tell(Event::ClusterSeen(cluster(name, Some(taint(5)))));
    }
    assert_eq!(sim.queue.verdict().regime.as_str(), "AllFaulty");
    for n in 0..4 {
        sim.tell(Event::ClusterSeen(cluster(&format!("x{n}"), None)));
    }
    assert_eq!(sim.queue.verdict().regime.as_str(), "Halted");
    for n in 4..6 {
        sim.tell(Event::ClusterSeen(cluster(&format!("x{n}"), Some(taint(5)))));
    }
    assert_eq!(sim.queue.verdict().regime.as_str(), "Reduced");
    sim.run_until(40_000, Sim::evict_all);
    assert!(
        (11..=12).contains(&sim.evicted.len()),
        "0.1/s for 20 s: {}",
        sim.evicted.len()
    );
}

#[test]
fn places_and_estimates() {
    let mut sim = Sim::new(settings(0.5));
    sim.publish(vec![
        published("m1", "a", -3),
        published("m1", "b", -2),
        published("m1", "c", -1),
        published("m2", "x", 0),
    ]);
    let place =
        |sim: &Sim, cluster: &str, name: &str| sim.queue.place(&published(cluster, name, 0).key, sim.now()).unwrap();
    let positions = [("m1", "a", 1), ("m2", "x", 2), ("m1", "b", 3), ("m1", "c", 4)];
    for (cluster, name, position) in positions {
        let seconds = u64::try_from(position).unwrap() * 2_000;
        let expected = Place {
            position,
            estimated_release_at: Some(at(seconds)),
        };
        assert_eq!(place(&sim, cluster, name), expected, "{name}");
    }
    sim.consumer(10, 1);
    sim.run_until(60_000, Sim::evict_all);
    assert_eq!(sim.names(), ["a", "x", "b", "c"]);
}
