//! `queue watch`: what is told of each change.

mod of_a_queue;

use std::time::Duration;

use clap::Parser;
use eviction_queue_api::v1;
use eviction_queue_api::v1::watch_entries_response::Message;
use failoverctl::Cli;
use failoverctl::cli::{FilterArgs, StateFilter};
use failoverctl::control_plane::ControlPlane;
use failoverctl::entry::EntryView;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::output::{Colour, Format};
use failoverctl::run::{Answer, answer};
use failoverctl::watch::{Beginning, Follow, Left, Lines, QueueChange, Synced, unsure};
use insta::assert_snapshot;
use rstest::rstest;

use crate::live::{LIMIT, World};
use crate::objects::{busy, calm, entry, held, now, proto};

fn changed(entry: v1::Entry, revision: u64) -> v1::WatchEntriesResponse {
    v1::WatchEntriesResponse {
        message: Some(Message::Changed(entry)),
        revision,
    }
}

fn removed(entry: v1::Entry, reason: v1::RemovedReason, revision: u64) -> v1::WatchEntriesResponse {
    let removed = v1::EntryRemoved {
        entry: Some(entry),
        reason: reason.into(),
        message: "the cluster recovered".to_owned(),
    };
    v1::WatchEntriesResponse {
        message: Some(Message::Removed(removed)),
        revision,
    }
}

fn synced(term: &str, revision: u64) -> v1::WatchEntriesResponse {
    let synced = v1::WatchSynced {
        queue_epoch: term.to_owned(),
    };
    v1::WatchEntriesResponse {
        message: Some(Message::Synced(synced)),
        revision,
    }
}

fn ready(name: &str) -> v1::Entry {
    entry(name, -60, v1::EntryState::Ready)
}

fn waiting(name: &str) -> v1::Entry {
    entry(name, 30, v1::EntryState::Waiting)
}

fn leased(name: &str) -> v1::Entry {
    entry(name, -60, v1::EntryState::Leased)
}

fn events(changes: &[QueueChange]) -> Vec<String> {
    changes
        .iter()
        .map(|change| format!("{} {}", change.event.word(), change.binding))
        .collect()
}

fn steps(follow: &mut Follow, steps: impl IntoIterator<Item = v1::WatchEntriesResponse>) -> Vec<QueueChange> {
    steps.into_iter().flat_map(|step| follow.step(step).changes).collect()
}

#[test]
fn each_change_says_what_happened_and_why() {
    let mut follow = Follow::new(&FilterArgs::default(), Beginning::WithWhatIsThere);
    let back = v1::Entry {
        not_before: proto(7),
        last_outcome: "Failed: the API server answers 500".to_owned(),
        ..ready("a")
    };
    let urgent = {
        let mut urgent = waiting("b");
        urgent.published.as_mut().unwrap().due_at = proto(10);
        urgent
    };
    let changes = steps(
        &mut follow,
        [
            changed(waiting("a"), 1),
            changed(held("c", v1::HoldReason::Paused, "FailoverPause x: works"), 1),
            synced("term/1", 1),
            changed(ready("a"), 2),
            changed(leased("a"), 3),
            changed(back, 4),
            changed(leased("a"), 5),
            removed(leased("a"), v1::RemovedReason::Evicted, 6),
            changed(waiting("b"), 7),
            changed(waiting("b"), 8),
            changed(urgent.clone(), 9),
            changed(ready("c"), 10),
            changed(
                held("c", v1::HoldReason::NoTarget, "no cluster fits: there is none"),
                11,
            ),
            removed(urgent, v1::RemovedReason::ClusterRecovered, 12),
        ],
    );
    let mut lines = Lines::new(Format::Table, Colour::Off);
    let text: String = changes
        .iter()
        .map(|change| lines.line(change, now()).unwrap())
        .collect();
    assert_snapshot!(text, @r"
    2026-01-31T12:00:00Z  default/a  member1  present   due 2026-01-31T12:00:30Z: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    2026-01-31T12:00:00Z  default/c  member1  present   held, Paused: FailoverPause x: works
    2026-01-31T12:00:00Z  default/a  member1  ready     due since 2026-01-31T11:59:00Z: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    2026-01-31T12:00:00Z  default/a  member1  released  its turn came, the evictor works on it: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    2026-01-31T12:00:00Z  default/a  member1  returned  Failed: the API server answers 500; tried again at 2026-01-31T12:00:07Z at the earliest
    2026-01-31T12:00:00Z  default/a  member1  released  its turn came, the evictor works on it: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    2026-01-31T12:00:00Z  default/a  member1  evicted   taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    2026-01-31T12:00:00Z  default/b  member1  queued    due 2026-01-31T12:00:30Z: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    2026-01-31T12:00:00Z  default/b  member1  changed   due 2026-01-31T12:00:10Z instead of 2026-01-31T12:00:30Z: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    2026-01-31T12:00:00Z  default/c  member1  ready     it is not held any more: taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-31T11:59:00Z, is not tolerated
    2026-01-31T12:00:00Z  default/c  member1  held      NoTarget: no cluster fits: there is none
    2026-01-31T12:00:00Z  default/b  member1  left      the cluster recovered
    ");
    let mut lines = Lines::new(Format::Wide, Colour::On);
    let text = lines.line(&changes[1], now()).unwrap();
    assert!(text.contains("\x1b[33m") || text.contains("present"), "{text}");
    let mut lines = Lines::new(Format::Json, Colour::On);
    let text = lines.line(&changes[changes.len() - 1], now()).unwrap();
    assert_eq!(text.lines().count(), 1, "one document a line");
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_snapshot!("queue_change_json", serde_json::to_string_pretty(&document).unwrap());
    assert_eq!(
        Lines::new(Format::Name, Colour::Off).line(&changes[0], now()).unwrap(),
        "default/a\n"
    );
}

#[test]
fn from_now_on_what_is_there_is_not_told() {
    let mut follow = Follow::new(&FilterArgs::default(), Beginning::FromNow);
    assert_eq!(
        events(&steps(&mut follow, [changed(waiting("a"), 1), synced("t/1", 1)])),
        [""; 0]
    );
    assert_eq!(
        events(&steps(&mut follow, [changed(ready("a"), 2)])),
        ["ready default/a"]
    );
}

#[test]
fn filters_look_at_before_and_after() {
    let only_held = FilterArgs {
        state: Some(StateFilter::Held),
        ..FilterArgs::default()
    };
    let mut follow = Follow::new(&only_held, Beginning::FromNow);
    let no_target = || held("a", v1::HoldReason::NoTarget, "none fits");
    let told = steps(
        &mut follow,
        [
            synced("t/1", 1),
            changed(ready("a"), 2),
            changed(no_target(), 3),
            changed(ready("a"), 4),
            changed(leased("a"), 5),
        ],
    );
    assert_eq!(events(&told), ["held default/a", "ready default/a"]);
    let elsewhere = FilterArgs {
        cluster: Some("member2".to_owned()),
        ..FilterArgs::default()
    };
    let mut follow = Follow::new(&elsewhere, Beginning::WithWhatIsThere);
    let told = steps(
        &mut follow,
        [
            changed(ready("a"), 1),
            removed(ready("a"), v1::RemovedReason::Evicted, 2),
        ],
    );
    assert_eq!(events(&told), [""; 0]);
    let cluster_scope = FilterArgs {
        namespace: Some("-".to_owned()),
        ..FilterArgs::default()
    };
    let mut role = ready("role");
    role.published.as_mut().unwrap().key.as_mut().unwrap().namespace = String::new();
    let mut follow = Follow::new(&cluster_scope, Beginning::WithWhatIsThere);
    assert_eq!(
        events(&steps(&mut follow, [changed(ready("a"), 1), changed(role, 1)])),
        ["present role"]
    );
}

#[test]
fn a_watch_goes_on_where_it_broke_off() {
    let mut follow = Follow::new(&FilterArgs::default(), Beginning::FromNow);
    assert_eq!(follow.request(), v1::WatchEntriesRequest::default());
    steps(&mut follow, [changed(ready("a"), 4)]);
    follow.broke();
    assert_eq!(
        follow.request().after_revision,
        0,
        "it broke before everything known was sent"
    );
    steps(
        &mut follow,
        [changed(ready("a"), 4), synced("t/1", 4), changed(ready("b"), 5)],
    );
    follow.broke();
    let wanted = v1::WatchEntriesRequest {
        after_revision: 5,
        queue_epoch: "t/1".to_owned(),
    };
    assert_eq!(follow.request(), wanted);
    assert_eq!(follow.step(synced("t/1", 5)).synced, Some(Synced::WentOn));
    assert_eq!(follow.unnamed(), 0);
}

#[test]
fn what_one_term_does_not_name_again_is_gone() {
    let mut follow = Follow::new(&FilterArgs::default(), Beginning::FromNow);
    steps(
        &mut follow,
        [changed(ready("a"), 1), changed(ready("b"), 1), synced("t/1", 1)],
    );
    follow.begin_anew();
    assert_eq!(follow.request().after_revision, 0);
    let told = steps(&mut follow, [changed(leased("b"), 9)]);
    assert_eq!(events(&told), ["released default/b"], "compared with what was known");
    let step = follow.step(synced("t/1", 9));
    assert_eq!(
        (step.synced, events(&step.changes)),
        (Some(Synced::Compared), vec!["left default/a".to_owned()])
    );
    assert!(
        step.changes[0].why.contains("failoverctl history default/a"),
        "{:?}",
        step.changes
    );
}

#[test]
fn a_new_leader_names_what_its_producers_tell_it() {
    let mut follow = Follow::new(&FilterArgs::default(), Beginning::FromNow);
    steps(
        &mut follow,
        [changed(ready("a"), 1), changed(ready("b"), 1), synced("t/1", 1)],
    );
    follow.begin_anew();
    let step = follow.step(synced("t/2", 0));
    assert_eq!(
        (step.synced, step.changes),
        (Some(Synced::NewTerm), vec![]),
        "its producers have not told it yet"
    );
    let status = |synced, revision| v1::GetStatusResponse {
        queue_epoch: "t/2".to_owned(),
        revision,
        producers: vec![v1::ProducerStatus {
            producer: "taintManager".to_owned(),
            synced,
            ..v1::ProducerStatus::default()
        }],
        ..calm()
    };
    assert_eq!(follow.told_by(&status(false, 0)), vec![]);
    assert_eq!(
        events(&steps(&mut follow, [changed(ready("b"), 1)])),
        [""; 0],
        "it is as it was"
    );
    assert_eq!(
        follow.told_by(&status(true, 2)),
        vec![],
        "what happened before that is not seen yet"
    );
    assert_eq!(follow.unnamed(), 1);
    assert_snapshot!(unsure(follow.unnamed(), &follow.silent_producers()), @"1 entry of the former leader may be gone: taintManager has not told the new leader yet; who runs: failoverctl status");
    assert_eq!(events(&follow.told_by(&status(true, 1))), ["left default/a"]);
    assert_eq!(follow.unnamed(), 0);
}

fn left(entries: &[v1::Entry]) -> Left {
    let views: Vec<EntryView> = entries.iter().map(EntryView::of).collect();
    Left::of(views.iter())
}

#[rstest]
#[case::in_turn(left(&[ready("a")]), busy(), "1 entry left, the last in 4s: 1 ready; the last goes at 2026-01-31T12:00:04Z at 0.5/s")]
#[case::not_due_yet(left(&[ready("a"), waiting("b")]), busy(), "2 entries left, the last in 30s: 1 waiting, 1 ready; the last goes at 2026-01-31T12:00:30Z at 0.5/s")]
#[case::some_held(left(&[ready("a"), held("b", v1::HoldReason::NoTarget, "")]), busy(), "2 entries left, the last in 4s but for what is held: 1 ready, 1 held; the last goes at 2026-01-31T12:00:04Z at 0.5/s; what is held goes only when its reason ends: failoverctl queue list --state held")]
#[case::all_held(left(&[held("a", v1::HoldReason::NoTarget, "")]), busy(), "1 entry left: 1 held; what is held goes only when its reason ends: failoverctl queue list --state held")]
#[case::with_the_evictor(left(&[leased("a")]), busy(), "1 entry left: 1 leased")]
#[case::brakes(left(&[ready("a")]), v1::GetStatusResponse { evictions_per_second: 0.0, reason: "all are faulty".to_owned(), ..busy() }, "1 entry left, nothing is released: 1 ready; all are faulty")]
#[case::no_evictor(left(&[ready("a")]), v1::GetStatusResponse { consumers: 0, ..busy() }, "1 entry left, nothing is released: 1 ready; no evictor is connected")]
#[case::nobody_told(left(&[]), v1::GetStatusResponse { producers: vec![], ..busy() }, "no entry matches, but nobody has told the queue yet who has to leave: does the taint manager run?")]
fn how_much_is_left(#[case] left: Left, #[case] status: v1::GetStatusResponse, #[case] expected: &str) {
    assert_eq!(left.progress(&status, now()), expected);
    assert!(!left.is_over(&status));
}

#[test]
fn when_it_is_over() {
    assert!(left(&[]).is_over(&calm()));
    let starting = v1::GetStatusResponse {
        regime: v1::Regime::Starting.into(),
        ..calm()
    };
    assert!(!left(&[]).is_over(&starting));
    let mut gone = calm();
    gone.producers[0].synced = false;
    assert!(!left(&[]).is_over(&gone));
}
