#![allow(clippy::needless_pass_by_value, reason = "rows of tables are values")]

use api_types::policy::PurgeMode;
use rstest::rstest;
use serde_json::{Value, json};

use std::sync::Arc;

use super::super::testing::{T0, after, binding, cluster, cluster_since, t0, unhealthy_since, with_clock};
use super::*;

type Change = fn(&mut Value);

/// Unhealthy since T0, changed.
fn failing(change: impl FnOnce(&mut Value)) -> Binding {
    binding("Unhealthy", |b| {
        with_clock(b, &unhealthy_since(0));
        change(b);
    })
}

fn affected(binding: &Binding, cluster: &Cluster) -> Affected {
    match verdict(binding, cluster) {
        ApplicationVerdict::Affected(affected) => affected,
        ApplicationVerdict::NotAffected(reason) => panic!("{reason}"),
    }
}

#[rstest]
#[case::as_the_policy_says(json!({"decisionConditions": {"tolerationSeconds": 60}}), 60)]
// Absent is 10 here; stock stores 300, and what is stored counts.
#[case::absent(json!({"decisionConditions": {}}), 10)]
#[case::stocks(json!({"decisionConditions": {"tolerationSeconds": 300}}), 300)]
#[case::none(json!({"decisionConditions": {"tolerationSeconds": 0}}), 0)]
#[case::less_than_none(json!({"decisionConditions": {"tolerationSeconds": -5}}), 0)]
#[case::delay_within(json!({"decisionConditions": {}, "preConditions": {"delaySeconds": 5}}), 10)]
#[case::delay_beyond(json!({"decisionConditions": {}, "preConditions": {"delaySeconds": 5000}}), 4990)]
#[case::negative_delay(json!({"decisionConditions": {}, "preConditions": {"delaySeconds": -1}}), 10)]
fn due(#[case] rules: Value, #[case] seconds: i64) {
    let binding = failing(|b| {
        b["spec"]["failover"]["application"] = rules;
        b["status"]["aggregatedStatus"][0]["creationTimestamp"] = json!(after(-10));
    });
    let affected = affected(&binding, &cluster("True"));
    assert_eq!(affected.due_at, after(seconds));
    assert_eq!(affected.cause, Cause::Application { since: t0() });
}

#[rstest]
#[case::absent(json!({}), PurgeMode::Gracefully, Some(600))]
#[case::gracefully(json!({"purgeMode": "Gracefully", "gracePeriodSeconds": 30}), PurgeMode::Gracefully, Some(30))]
#[case::old_spelling(json!({"purgeMode": "Graciously"}), PurgeMode::Gracefully, Some(600))]
#[case::directly(json!({"purgeMode": "Directly"}), PurgeMode::Directly, None)]
#[case::old_directly(json!({"purgeMode": "Immediately", "gracePeriodSeconds": 30}), PurgeMode::Directly, None)]
#[case::never(json!({"purgeMode": "Never"}), PurgeMode::Never, None)]
#[case::nobody_knows_it(json!({"purgeMode": "Odd"}), PurgeMode::Gracefully, Some(600))]
#[case::no_grace_at_all(json!({"gracePeriodSeconds": 0}), PurgeMode::Gracefully, Some(600))]
fn what_becomes_of_the_copy(#[case] rules: Value, #[case] mode: PurgeMode, #[case] grace: Option<i32>) {
    let binding = failing(|b| {
        b["spec"]["failover"]["application"] = rules;
        b["spec"]["failover"]["application"]["decisionConditions"] = json!({});
    });
    let affected = affected(&binding, &cluster("True"));
    assert_eq!((affected.purge_mode, affected.grace_period_seconds), (mode, grace));
}

#[rstest]
#[case::healthy("Healthy", |_: &mut Value| (), NotFailing::Healthy)]
#[case::deleted("Unhealthy", |b: &mut Value| b["metadata"]["deletionTimestamp"] = json!(T0), NotFailing::BindingDeleted)]
#[case::left("Unhealthy", |b: &mut Value| b["spec"]["clusters"] = json!([]), NotFailing::NotThere)]
// Together with the failure of the cluster: one task.
#[case::leaving(
    "Unhealthy",
    |b: &mut Value| b["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "m1", "reason": "r", "producer": "p"}]),
    NotFailing::AlreadyLeaving
)]
#[case::not_asked("Unhealthy", |b: &mut Value| b["spec"]["failover"] = json!({"cluster": {}}), NotFailing::NotAsked)]
#[case::no_status("Unhealthy", |b: &mut Value| b["status"] = json!({}), NotFailing::NotReported)]
#[case::not_counted("Unhealthy", |b: &mut Value| with_clock(b, ""), NotFailing::NotCounted)]
#[case::unknown("Unknown", |b: &mut Value| with_clock(b, ""), NotFailing::Unknown)]
#[case::unknown_now("Unknown", |_: &mut Value| (), NotFailing::Unknown)]
#[case::odd_health("Odd", |b: &mut Value| with_clock(b, ""), NotFailing::Unknown)]
#[case::unreadable("Unhealthy", |b: &mut Value| with_clock(b, "m1"), NotFailing::UnreadableClock)]
#[case::another_s_clock("Unhealthy", |b: &mut Value| b["metadata"]["creationTimestamp"] = json!(after(1)), NotFailing::NotCounted)]
#[case::never_healthy(
    "Unhealthy",
    |b: &mut Value| b["spec"]["failover"]["application"]["preConditions"] = json!({"healthyState": "Healthy"}),
    NotFailing::NeverHealthy
)]
#[case::a_state_that_nobody_knows(
    "Unhealthy",
    |b: &mut Value| b["spec"]["failover"]["application"]["preConditions"] = json!({"healthyState": "Odd"}),
    NotFailing::NeverHealthy
)]
#[case::not_collected(
    "Unhealthy",
    |b: &mut Value| b["spec"]["failover"]["application"]["preConditions"] = json!({"delaySeconds": 5}),
    NotFailing::NotCollected
)]
fn not_affected(#[case] health: &str, #[case] change: Change, #[case] expected: NotFailing) {
    let binding = binding(health, |b| {
        with_clock(b, &unhealthy_since(0));
        change(b);
    });
    assert_eq!(
        verdict(&binding, &cluster("True")),
        ApplicationVerdict::NotAffected(expected)
    );
}

// Either home of `settled` and of the first status suffices.
#[rstest]
#[case::status_settled(json!({"healthyState": "Healthy"}), |b: &mut Value| b["status"]["aggregatedStatus"][0]["settled"] = json!(true), 60)]
#[case::clock_settled(
    json!({"healthyState": "Healthy"}),
    |b: &mut Value| with_clock(b, &json!({"m1": {"unhealthySince": T0, "settled": true}}).to_string()),
    60
)]
#[case::clock_collected(
    json!({"delaySeconds": 100}),
    |b: &mut Value| with_clock(b, &json!({"m1": {"unhealthySince": T0, "firstCollected": T0}}).to_string()),
    100
)]
fn two_homes(#[case] before: Value, #[case] change: Change, #[case] seconds: i64) {
    let binding = failing(|b| {
        b["spec"]["failover"]["application"]["preConditions"] = before;
        change(b);
    });
    assert_eq!(affected(&binding, &cluster("True")).due_at, after(seconds));
}

// C93 (karmada#7431): what is Unknown at the moment moves nobody, and ends nothing.
#[test]
fn what_nobody_knows_goes_on() {
    let unknown = binding("Unknown", |b: &mut Value| with_clock(b, &unhealthy_since(0)));
    assert_eq!(
        verdict(&unknown, &cluster("True")),
        ApplicationVerdict::NotAffected(NotFailing::Unknown)
    );
    let clock = HealthClock::of(&unknown).unwrap();
    let next = clock.next(&unknown, &|_| Some(Arc::new(cluster("True"))), after(50));
    let again = failing(|b| with_clock(b, &next.annotation().unwrap()));
    assert_eq!(affected(&again, &cluster("True")).due_at, after(60));
}

/// `binding` as it is when its clock was brought up to what `cluster` is at that second.
fn kept_at(seconds: i64, mut binding: Binding, cluster: &Cluster) -> Binding {
    let m1 = Arc::new(cluster.clone());
    let clock = HealthClock::of(&binding)
        .unwrap()
        .next(&binding, &|_| Some(m1.clone()), after(seconds));
    let annotations = binding.metadata.annotations.get_or_insert_default();
    let name = api_types::names::annotation::HEALTH_CLOCK.to_owned();
    annotations.insert(name, clock.annotation().unwrap_or_default());
    binding
}

// The failure of a cluster is the taint manager's business. When it is back, nothing leaves before its health could
// have been read anew, and by no clock but our own.
#[rstest]
#[case("False")]
#[case("Unknown")]
fn a_cluster_that_is_not_ready_affects_nobody(#[case] ready: &str) {
    let binding = failing(|_| ());
    assert_eq!(
        verdict(&binding, &cluster(ready)),
        ApplicationVerdict::NotAffected(NotFailing::ClusterNotReady)
    );
    let back = cluster_since("True", 500);
    assert_eq!(
        verdict(&binding, &back),
        ApplicationVerdict::NotAffected(NotFailing::ReturnNotCounted)
    );
    let affected = affected(&kept_at(503, binding, &back), &back);
    assert_eq!(affected.due_at, after(563));
    assert_eq!(
        affected.reason(),
        "the application is unhealthy since 2026-01-01T00:00:00Z, tolerated for 60 s since the cluster is Ready, \
         2026-01-01T00:08:23Z, until 2026-01-01T00:09:23Z"
    );
}

// What is stored of its health may be of before the outage, and is read anew within a minute.
#[rstest]
#[case::less_than_a_minute(10, 60)]
#[case::more_than_a_minute(300, 300)]
fn a_cluster_that_returned_has_a_minute_at_least(#[case] tolerated: i64, #[case] seconds: i64) {
    let rules = json!({"decisionConditions": {"tolerationSeconds": tolerated}});
    let failing = failing(|b| b["spec"]["failover"]["application"] = rules.clone());
    for own_word in [500, -80_000, 80_000] {
        let back = cluster_since("True", own_word);
        let kept = kept_at(503, failing.clone(), &back);
        assert_eq!(
            affected(&kept, &back).due_at,
            after(503 + seconds),
            "its clock says {own_word}"
        );
        // No delay without a return: the next failure is counted from its own beginning.
        let recovered = kept_at(
            600,
            binding("Healthy", |b| b["spec"]["failover"]["application"] = rules.clone()),
            &back,
        );
        let mut again = failing.clone();
        again.metadata.annotations = recovered.metadata.annotations;
        let again = kept_at(100_000, again, &cluster_since("True", 500));
        assert_eq!(
            affected(&again, &cluster_since("True", 500)).due_at,
            after(100_000 + tolerated)
        );
    }
}

// Until a clock that another version wrote is written again, the cluster's own word counts.
#[test]
fn a_clock_without_a_mark_goes_by_the_cluster_s_word() {
    let old = json!({"m1": {"unhealthySince": T0}}).to_string();
    let binding = failing(|b| with_clock(b, &old));
    assert_eq!(affected(&binding, &cluster("True")).due_at, after(60));
    assert_eq!(affected(&binding, &cluster_since("True", 500)).due_at, after(560));
}

#[test]
fn a_cluster_of_which_nobody_says_whether_it_is_ready_is_not() {
    let cluster: Cluster =
        serde_json::from_value(json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}})).unwrap();
    assert_eq!(
        verdict(&failing(|_| ()), &cluster),
        ApplicationVerdict::NotAffected(NotFailing::ClusterNotReady)
    );
}

// C96 (karmada#7458): whether dependencies follow says nothing about failover.
#[rstest]
#[case(json!(true))]
#[case(json!(false))]
#[case(json!(null))]
fn c96_it_works_without_propagation_of_dependencies(#[case] propagate: Value) {
    let binding = failing(|b: &mut Value| b["spec"]["propagateDeps"] = propagate);
    assert_eq!(affected(&binding, &cluster("True")).due_at, after(60));
}

#[test]
fn reasons_say_which_rule_counts() {
    let tolerated = affected(&failing(|_| ()), &cluster("True"));
    assert_eq!(
        tolerated.reason(),
        "the application is unhealthy since 2026-01-01T00:00:00Z, tolerated for 60 s, until 2026-01-01T00:01:00Z"
    );
    let delayed = failing(|b| {
        b["spec"]["failover"]["application"]["preConditions"] = json!({"delaySeconds": 120});
        b["status"]["aggregatedStatus"][0]["creationTimestamp"] = json!(T0);
    });
    assert_eq!(
        affected(&delayed, &cluster("True")).reason(),
        "the application is unhealthy since 2026-01-01T00:00:00Z, and spec.failover.application lets it go 120 s after \
         its status was first collected at 2026-01-01T00:00:00Z, at 2026-01-01T00:02:00Z"
    );
}

// Nonsense must neither panic nor move anything early.
#[test]
fn times_beyond_the_calendar_are_for_ever() {
    let binding = failing(|b| {
        with_clock(b, r#"{"m1": {"unhealthySince": "9999-12-30T22:00:00Z"}}"#);
        b["spec"]["failover"]["application"]["decisionConditions"] = json!({"tolerationSeconds": i32::MAX});
    });
    assert_eq!(affected(&binding, &cluster("True")).due_at, Timestamp::MAX);
}
