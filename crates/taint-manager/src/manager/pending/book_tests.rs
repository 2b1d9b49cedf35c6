use rstest::rstest;

use super::*;

fn published(name: &str) -> v1::PublishedEntry {
    v1::PublishedEntry {
        key: Some(v1::EntryKey {
            cause: "k:NoExecute@2026-01-01T00:00:00Z".into(),
            cluster: "m1".into(),
            cluster_uid: "c".into(),
            namespace: "n".into(),
            name: name.into(),
            uid: "b".into(),
        }),
        due_at: Some(convert::to_time("2026-01-01T00:00:00Z".parse().unwrap())),
        reason: "cause".into(),
        ..v1::PublishedEntry::default()
    }
}

fn entry(name: &str, state: v1::EntryState, hold: Option<v1::HoldReason>) -> v1::Entry {
    v1::Entry {
        published: Some(published(name)),
        state: state.into(),
        hold: hold.map(|reason| v1::Hold {
            reason: reason.into(),
            message: "why".into(),
            until: None,
            dropped: false,
        }),
        ..v1::Entry::default()
    }
}

fn live() -> Book {
    let mut book = Book::default();
    book.begin();
    book.synced();
    book.settled();
    book
}

fn happened(book: &mut Book, step: Step) -> Vec<Happened> {
    book.take(step).unwrap().unwrap().happened
}

#[test]
fn a_life_is_told_step_by_step() {
    let mut book = live();
    let mut next = |state, hold| happened(&mut book, Step::Changed(entry("web", state, hold)));
    assert_eq!(next(v1::EntryState::Waiting, None), [Happened::Queued]);
    assert_eq!(next(v1::EntryState::Ready, None), []);
    assert_eq!(next(v1::EntryState::Leased, None), [Happened::Released]);
    let no_target = Held {
        reason: v1::HoldReason::NoTarget,
        message: "why".into(),
        by_drop: false,
    };
    let held = Some(v1::HoldReason::NoTarget);
    assert_eq!(next(v1::EntryState::Held, held), [Happened::Held(no_target)]);
    assert_eq!(next(v1::EntryState::Held, held), [], "the same again is no news");
    assert_eq!(next(v1::EntryState::Leased, None), [], "nor is another look");
    assert_eq!(next(v1::EntryState::Held, held), [], "that comes to the same");
    let stay = Some(v1::HoldReason::Stay);
    assert!(matches!(next(v1::EntryState::Held, stay)[..], [Happened::Held(_)]));
    assert_eq!(
        next(v1::EntryState::Held, Some(v1::HoldReason::NotNeeded)),
        [],
        "that passes"
    );
    assert_eq!(next(v1::EntryState::Leased, None), [Happened::Released]);
    let removed = v1::EntryRemoved {
        entry: Some(entry("web", v1::EntryState::Leased, None)),
        reason: v1::RemovedReason::Evicted.into(),
        message: String::new(),
    };
    assert_eq!(
        happened(&mut book, Step::Removed(removed)),
        [Happened::Evicted],
        "the evictor tells of it"
    );
    assert_eq!(book.of(&BindingKey::namespaced("n", "web")), None);
}

#[rstest]
#[case(v1::RemovedReason::ClusterRecovered, Some("ClusterRecovered"))]
#[case(v1::RemovedReason::Tolerated, Some("Tolerated"))]
#[case(v1::RemovedReason::BindingGone, Some("BindingGone"))]
#[case(v1::RemovedReason::ProducerGone, Some("ProducerGone"))]
#[case(v1::RemovedReason::ApplicationRecovered, Some("ApplicationRecovered"))]
#[case(v1::RemovedReason::ClusterNotReady, Some("ClusterNotReady"))]
#[case(v1::RemovedReason::Replaced, None)]
#[case(v1::RemovedReason::Leaving, None)]
fn what_left_without_an_eviction_was_abandoned(#[case] reason: v1::RemovedReason, #[case] expected: Option<&str>) {
    let removed = v1::EntryRemoved {
        entry: Some(entry("web", v1::EntryState::Ready, None)),
        reason: reason.into(),
        message: "words".into(),
    };
    let word = match happened(&mut live(), Step::Removed(removed)).as_slice() {
        [Happened::Abandoned { word, .. }] => Some(*word),
        _ => None,
    };
    assert_eq!(word, expected);
}

#[test]
fn what_a_new_watch_does_not_tell_is_gone_and_no_news() {
    let mut book = live();
    happened(&mut book, Step::Changed(entry("web", v1::EntryState::Ready, None)));
    happened(&mut book, Step::Changed(entry("other", v1::EntryState::Ready, None)));
    book.begin();
    assert!(!book.is_live());
    assert_eq!(
        happened(&mut book, Step::Changed(entry("web", v1::EntryState::Leased, None))),
        []
    );
    book.synced();
    assert!(book.is_live());
    assert_eq!(book.settled(), BTreeSet::from([BindingKey::namespaced("n", "other")]));
    assert!(book.of(&BindingKey::namespaced("n", "web")).is_some());
}

// A second owner holds it, it is asked about again, and the answer is the same.
#[test]
fn a_hold_that_goes_on_is_told_once() {
    let mut book = live();
    let mut next = |state, hold| happened(&mut book, Step::Changed(entry("web", state, hold)));
    let held = Some(v1::HoldReason::SecondOwner);
    assert_eq!(next(v1::EntryState::Held, held).len(), 2, "it is queued, and held");
    assert_eq!(next(v1::EntryState::Leased, None), []);
    assert_eq!(next(v1::EntryState::Held, held), []);
}

// The queue's leader changes: its successor knows nothing until the producers have published again.
#[test]
fn what_a_new_term_of_the_queue_hears_again_is_no_news() {
    let mut book = live();
    let held = entry("web", v1::EntryState::Held, Some(v1::HoldReason::NoTarget));
    happened(&mut book, Step::Changed(held.clone()));
    happened(&mut book, Step::Changed(entry("other", v1::EntryState::Ready, None)));
    book.begin();
    book.synced();
    let web = BindingKey::namespaced("n", "web");
    assert!(book.of(&web).is_some(), "it may yet be published");
    let waiting = entry("web", v1::EntryState::Ready, None);
    assert_eq!(happened(&mut book, Step::Changed(waiting)), []);
    assert_eq!(happened(&mut book, Step::Changed(held)), []);
    let new = entry("new", v1::EntryState::Ready, None);
    assert_eq!(happened(&mut book, Step::Changed(new)), [Happened::Queued]);
    assert_eq!(book.settled(), BTreeSet::from([BindingKey::namespaced("n", "other")]));
    assert!(book.of(&web).is_some());
}

#[test]
fn what_cannot_be_understood_is_named() {
    let mut nameless = entry("", v1::EntryState::Ready, None);
    assert_eq!(
        live().take(Step::Changed(nameless.clone())).unwrap_err().to_string(),
        "field key.name is missing"
    );
    nameless.published = None;
    assert_eq!(
        live().take(Step::Changed(nameless)).unwrap_err().to_string(),
        "field published is missing"
    );
}

#[test]
fn what_enters_the_queue_held_is_told_as_both() {
    let stay = entry("web", v1::EntryState::Held, Some(v1::HoldReason::Stay));
    let held = Held {
        reason: v1::HoldReason::Stay,
        message: "why".into(),
        by_drop: false,
    };
    assert_eq!(
        happened(&mut live(), Step::Changed(stay)),
        [Happened::Queued, Happened::Held(held)]
    );
}
