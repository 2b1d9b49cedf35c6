use rstest::rstest;
use serde_json::{Value, json};

use super::super::testing::{T0, after, binding, cluster, unhealthy_since, with_clock};
use super::*;
use crate::eviction::queue::{EntryKey, HoldReason, Published, WithdrawReason};

fn failing(change: impl FnOnce(&mut Value)) -> Binding {
    binding("Unhealthy", |b| {
        with_clock(b, &unhealthy_since(0));
        change(b);
    })
}

fn published(binding: &Binding) -> Published {
    match wanted(Some(binding), Some(&cluster("True"))) {
        Wanted::Entry(entry) => *entry,
        Wanted::Nothing(nothing) => panic!("{nothing:?}"),
    }
}

#[test]
fn an_entry_has_all_that_the_queue_and_people_need() {
    let entry = published(&failing(|b| b["spec"]["schedulePriority"] = json!({"priority": 7})));
    assert_eq!(entry.key.to_string(), format!("n/web on m1 (application@{T0})"));
    assert_eq!(
        (&*entry.key.cluster_uid, entry.key.binding_uid.to_string().as_str()),
        ("c1", "b1")
    );
    assert_eq!((entry.priority, entry.replicas, entry.due_at), (7, 2, after(60)));
    assert_eq!(entry.grace_period_seconds, Some(600));
    assert_eq!(
        (entry.versions.binding, entry.versions.cluster),
        ("10".into(), "20".into())
    );
    assert_eq!(entry.hold, None);
}

#[rstest]
#[case::whatever_the_cause(r#"[{"cluster": "m1"}]"#, Some(false))]
#[case::this_failure(r#"[{"cluster": "m1", "verdict": "application@2026-01-01T00:00:00Z"}]"#, Some(false))]
#[case::dropped(
    r#"[{"cluster": "m1", "verdict": "application@2026-01-01T00:00:00Z", "droppedBy": "ada"}]"#,
    Some(true)
)]
#[case::another_failure(r#"[{"cluster": "m1", "verdict": "application@2026-01-01T00:00:01Z"}]"#, None)]
#[case::another_cluster(r#"[{"cluster": "m2"}]"#, None)]
#[case::that_nobody_can_read("m1", Some(false))]
fn holds(#[case] stay: &str, #[case] by_drop: Option<bool>) {
    let binding = failing(|b| b["metadata"]["annotations"]["failover.karmada.io/stay"] = json!(stay));
    let hold = published(&binding).hold;
    assert_eq!(hold.as_ref().map(|hold| hold.by_drop), by_drop);
    assert!(hold.is_none_or(|hold| hold.reason == HoldReason::Stay));
}

fn key() -> EntryKey {
    EntryKey::clone(&published(&failing(|_| ())).key)
}

#[rstest]
#[case::healthy_again(binding("Healthy", |b| with_clock(b, &unhealthy_since(0))), "True", WithdrawReason::ApplicationRecovered)]
#[case::recovered_and_fails_again(failing(|b| with_clock(b, &unhealthy_since(9))), "True", WithdrawReason::Replaced)]
// Nobody says that it recovered.
#[case::not_known_now(binding("Unknown", |b| with_clock(b, &unhealthy_since(0))), "True", WithdrawReason::NotPublished)]
#[case::not_ready(failing(|_| ()), "False", WithdrawReason::ClusterNotReady)]
#[case::left(failing(|b| b["spec"]["clusters"] = json!([])), "True", WithdrawReason::BindingGone)]
#[case::leaves(
    failing(|b| b["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "m1", "reason": "r", "producer": "p"}])),
    "True",
    WithdrawReason::Leaving
)]
#[case::asks_no_more(failing(|b| b["spec"]["failover"] = json!(null)), "True", WithdrawReason::Tolerated)]
#[case::another_binding(failing(|b| b["metadata"]["uid"] = json!("b2")), "True", WithdrawReason::BindingGone)]
fn taken_back(#[case] now: Binding, #[case] ready: &str, #[case] expected: WithdrawReason) {
    let cluster = cluster(ready);
    let instead = wanted(Some(&now), Some(&cluster));
    assert_eq!(withdraw_reason(&key(), &instead, Some(&cluster)), expected);
}

#[test]
fn what_is_gone_has_no_entry() {
    let cluster = cluster("True");
    assert_eq!(wanted(None, Some(&cluster)), Wanted::Nothing(Nothing::BindingGone));
    let no_cluster = wanted(Some(&failing(|_| ())), None);
    assert_eq!(no_cluster, Wanted::Nothing(Nothing::NoCause));
    assert_eq!(
        withdraw_reason(&key(), &no_cluster, None),
        WithdrawReason::ClusterRecovered
    );
}
