use failover_core::eviction::Cause;
use failover_core::eviction::desired_entry::Nothing;
use failover_core::eviction::queue::{BindingVersions, Purge, TemplateRef};

use super::*;

const CAUSE: &str = "k:NoExecute@2026-01-01T00:00:00Z";

fn wanted(cause: &str) -> Wanted {
    Wanted::Entry(Box::new(Published {
        key: key(cause).into(),
        due_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        priority: 0,
        template: TemplateRef::default(),
        replicas: 1,
        purge_mode: Purge::Gracefully,
        grace_period_seconds: None,
        reason: "r".into(),
        hold: None,
        versions: BindingVersions::default(),
        traceparent: None,
    }))
}

fn key(cause: &str) -> EntryKey {
    EntryKey {
        cluster: "m1".into(),
        cluster_uid: "c".into(),
        binding: BindingKey::namespaced("n", "web"),
        binding_uid: "b".into(),
        cause: cause.parse::<Cause>().unwrap().into(),
    }
}

fn metadata(uid: &str, version: &str) -> ObjectMeta {
    ObjectMeta {
        uid: Some(uid.into()),
        resource_version: Some(version.into()),
        ..ObjectMeta::default()
    }
}

fn settle(ledger: &mut Ledger, binding: Option<&ObjectMeta>, wanted: &Wanted) -> Changed {
    let pair = Pair {
        cluster: &"m1".into(),
        binding: &BindingKey::namespaced("n", "web"),
        cluster_metadata: Some(&metadata("c", "50")),
        binding_metadata: binding,
    };
    ledger.settle(pair, wanted, |_| WithdrawReason::Tolerated)
}

fn asked(version: &str) -> Confirmation {
    Confirmation {
        binding_version: version.into(),
        cluster_version: "50".into(),
    }
}

#[test]
fn a_question_is_answered_from_a_state_at_least_as_new_and_not_before() {
    let mut ledger = Ledger::default();
    assert_eq!(
        settle(&mut ledger, Some(&metadata("b", "7")), &wanted(CAUSE)),
        Changed::Yes
    );
    ledger.next_delta(10);
    ledger.ask(key(CAUSE), asked("9"));
    assert_eq!(
        settle(&mut ledger, Some(&metadata("b", "8")), &wanted(CAUSE)),
        Changed::No
    );
    assert_eq!(
        ledger.next_delta(10),
        None,
        "what is known is older than what the evictor read"
    );
    assert_eq!(ledger.asked_on(&"m1".into()), [BindingKey::namespaced("n", "web")]);

    assert_eq!(
        settle(&mut ledger, Some(&metadata("b", "9")), &wanted(CAUSE)),
        Changed::Yes
    );
    assert_eq!(ledger.next_delta(10).unwrap().upserts.len(), 1, "it is confirmed");
    assert!(ledger.asked_on(&"m1".into()).is_empty());
    assert_eq!(
        settle(&mut ledger, Some(&metadata("b", "10")), &wanted(CAUSE)),
        Changed::No
    );
}

#[test]
fn what_is_asked_and_not_wanted_is_taken_back_even_if_it_was_never_published() {
    let mut ledger = Ledger::default();
    ledger.ask(key(CAUSE), asked("9"));
    let nothing = Wanted::Nothing(Nothing::NoCause);
    assert_eq!(
        ledger.clusters_of(&BindingKey::namespaced("n", "web")),
        BTreeSet::from(["m1".into()])
    );
    assert_eq!(settle(&mut ledger, None, &nothing), Changed::Yes, "the binding is gone");
    let delta = ledger.next_delta(10).unwrap();
    assert_eq!(delta.withdrawals, [(key(CAUSE), WithdrawReason::Tolerated)]);

    // Another cause has taken the place of the one asked about.
    let other = "k:NoExecute@2026-01-01T00:00:30Z";
    ledger.ask(key(CAUSE), asked("9"));
    assert_eq!(
        settle(&mut ledger, Some(&metadata("another", "3")), &wanted(other)),
        Changed::Yes
    );
    let delta = ledger.next_delta(10).unwrap();
    assert_eq!((delta.withdrawals.len(), delta.upserts.len()), (1, 1));
}

#[test]
fn a_new_stream_begins_without_debts() {
    let mut ledger = Ledger::default();
    settle(&mut ledger, Some(&metadata("b", "7")), &wanted(CAUSE));
    ledger.ask(key(CAUSE), asked("9"));
    assert_eq!(ledger.snapshot().len(), 1);
    assert!(ledger.asked_on(&"m1".into()).is_empty());
    assert_eq!(ledger.next_delta(10), None);
}
