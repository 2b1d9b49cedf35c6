use std::sync::Arc;

use super::*;

/// Names of the entries that changed after a revision, in order, with why they left.
fn after(sim: &Sim, revision: u64) -> Vec<(String, Option<Removed>)> {
    let after = sim.queue.changes_after(revision, 1_000).unwrap();
    assert_eq!(after.up_to, sim.queue.revision());
    let named = |change: Change| (change.entry.key().binding.name.clone(), change.removed);
    after.changes.into_iter().map(named).collect()
}

fn withdraw(sim: &mut Sim, entry: &Published) {
    sim.tell(Event::Withdraw {
        stream: PRODUCER,
        entries: vec![(EntryKey::clone(&entry.key), WithdrawReason::Tolerated)],
    });
}

#[test]
fn changes_can_be_followed_from_any_kept_revision() {
    let mut sim = Sim::new(QueueSettings {
        changes_kept: 3,
        ..settings(1.0)
    });
    sim.publish((0..5).map(|n| published("m1", &format!("b{n}"), 0)).collect());
    assert_eq!(sim.queue.revision(), 5);
    assert_eq!(after(&sim, 0).len(), 5);
    // As many as there are entries are kept, and those of the event under way.
    for due in 1..6 {
        sim.publish(vec![published("m1", "b0", due)]);
    }
    assert_eq!(sim.queue.revision(), 10);
    assert_eq!(sim.queue.changes_after(0, 10).unwrap_err(), TooFarBack { oldest: 5 });
    assert_eq!(after(&sim, 4), [("b4".to_owned(), None), ("b0".to_owned(), None)]);
    assert_eq!(after(&sim, 10), []);
    assert!(sim.queue.changes_after(11, 10).is_err(), "of another queue");
}

/// Reads on as a watcher does, and returns how many changes it was told of.
fn read_on(sim: &Sim, revision: &mut u64) -> usize {
    let mut read = 0;
    while *revision < sim.queue.revision() {
        let after = sim.queue.changes_after(*revision, 7).unwrap();
        read += after.changes.len();
        *revision = after.up_to;
    }
    read
}

// Whoever is up to date before an event may read all that it did, however many entries it touched, and goes on.
#[test]
fn no_single_event_throws_out_who_was_up_to_date() {
    let mut sim = Sim::new(QueueSettings {
        changes_kept: 3,
        ..settings(0.0)
    });
    let all: Vec<_> = (0..50).map(|n| published("m1", &format!("b{n}"), 0)).collect();
    let mut revision = sim.queue.revision();
    sim.publish(all.clone());
    assert_eq!(read_on(&sim, &mut revision), 50, "all come");
    let paused = PauseScopeView::Clusters(["m1".into()].into());
    sim.tell(pause(paused, None));
    assert_eq!(read_on(&sim, &mut revision), 50, "all are held");
    sim.tell(Event::Withdraw {
        stream: PRODUCER,
        entries: all
            .iter()
            .map(|entry| (EntryKey::clone(&entry.key), WithdrawReason::Tolerated))
            .collect(),
    });
    assert_eq!(read_on(&sim, &mut revision), 50, "all leave");
    assert!(sim.queue.is_empty());
}

// What an event left behind is given back by those that follow, so that an empty queue remembers no million of entries.
#[test]
fn what_left_is_remembered_for_as_long_as_it_may_be_asked_for() {
    let mut sim = Sim::new(QueueSettings {
        changes_kept: 10,
        ..settings(0.0)
    });
    let all: Vec<_> = (0..3_000).map(|n| published("m1", &format!("b{n}"), 300)).collect();
    sim.publish(all.clone());
    for entry in all.chunks(1_000) {
        sim.tell(Event::Withdraw {
            stream: PRODUCER,
            entries: entry
                .iter()
                .map(|entry| (EntryKey::clone(&entry.key), WithdrawReason::Tolerated))
                .collect(),
        });
    }
    let remembered = |all: &[Published]| all.iter().filter(|entry| Arc::strong_count(&entry.key) > 1).count();
    assert!(remembered(&all) > 1_000, "{}", remembered(&all));
    for _ in 0..6 {
        sim.tell(Event::Tick);
    }
    assert_eq!(remembered(&all), 10);
}

#[test]
fn what_happened_to_an_entry_since_is_told_once_as_what_it_came_to() {
    let mut sim = Sim::new(settings(0.0));
    sim.publish(vec![published("m1", "a", 300), published("m1", "b", 300)]);
    sim.publish(vec![published("m1", "a", 600)]);
    assert_eq!(after(&sim, 0), [("b".to_owned(), None), ("a".to_owned(), None)]);
    let first = sim.queue.changes_after(0, 1).unwrap();
    assert_eq!(
        (first.changes.len(), first.up_to),
        (0, 1),
        "it is told later, and the reader goes on"
    );
    let a = published("m1", "a", 600);
    withdraw(&mut sim, &a);
    let gone = ("a".to_owned(), Some(Removed::Withdrawn(WithdrawReason::Tolerated)));
    assert_eq!(after(&sim, 0), [("b".to_owned(), None), gone]);
    sim.publish(vec![a]);
    assert_eq!(after(&sim, 0), [("b".to_owned(), None), ("a".to_owned(), None)]);
}

// A queue of which entries go and come for days keeps none of them twice.
#[test]
fn nothing_is_kept_of_what_came_back_or_left_long_ago() {
    let mut sim = Sim::new(QueueSettings {
        changes_kept: 4,
        ..settings(0.0)
    });
    let (a, b) = (published("m1", "a", 300), published("m1", "b", 300));
    sim.publish(vec![a.clone(), b.clone()]);
    let kept = sim.entry_of("b").published.key.clone();
    for due in 0..10 {
        withdraw(&mut sim, &a);
        withdraw(&mut sim, &b);
        sim.publish(vec![published("m1", "b", 301 + due)]);
        let now = sim.entry_of("b").published.key.clone();
        assert!(Arc::ptr_eq(&kept, &now), "the key of what came back");
    }
    assert_eq!(
        Arc::strong_count(&a.key),
        1,
        "a left more than four changes ago, or is kept as gone"
    );
}
