use rstest::rstest;
use serde_json::json;

use super::*;

fn binding(clusters: &[&str], clock: &serde_json::Value) -> Binding {
    let targets: Vec<_> = clusters.iter().map(|name| json!({"name": name})).collect();
    serde_json::from_value(json!({
        "metadata": {"name": "b", "annotations": {HEALTH_CLOCK: clock.to_string()}},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"}, "clusters": targets},
    }))
    .unwrap()
}

fn at(second: u8) -> Timestamp {
    format!("2026-01-01T00:00:{second:02}Z").parse().unwrap()
}

#[rstest]
#[case::recovered(Some(ApplicationVerdict::NotAffected(NotFailing::Healthy)), ("ApplicationRecovered", "the application is healthy there"))]
#[case::leaves_for_a_taint(
    Some(ApplicationVerdict::NotAffected(NotFailing::AlreadyLeaving)),
    ("ApplicationNotCounted", "the cluster is in spec.gracefulEvictionTasks already")
)]
#[case::asks_no_more(
    Some(ApplicationVerdict::NotAffected(NotFailing::NotAsked)),
    ("ApplicationNotCounted", "the binding has no spec.failover.application")
)]
#[case::cluster_gone(None, ("ApplicationNotCounted", "the cluster is gone"))]
fn only_what_is_healthy_recovered(#[case] verdict: Option<ApplicationVerdict>, #[case] expected: (&str, &str)) {
    let (reason, why) = why_over(verdict.as_ref());
    assert_eq!((reason, why.as_str()), expected);
}

#[rstest]
#[case::begins(json!({}), json!({"m1": {"unhealthySince": at(1)}}), Some(Turn::Fails { cluster: "m1".into(), since: at(1) }))]
#[case::ends(json!({"m1": {"unhealthySince": at(1)}}), json!({}), Some(Turn::Over { cluster: "m1".into(), since: at(1) }))]
#[case::begins_anew(
    json!({"m1": {"unhealthySince": at(1)}}),
    json!({"m1": {"unhealthySince": at(9)}}),
    Some(Turn::Fails { cluster: "m1".into(), since: at(9) })
)]
#[case::goes_on(json!({"m1": {"unhealthySince": at(1)}}), json!({"m1": {"unhealthySince": at(1), "settled": true}}), None)]
#[case::is_noted_as_settled(json!({}), json!({"m1": {"settled": true, "firstCollected": at(1)}}), None)]
#[case::has_left(json!({"m2": {"unhealthySince": at(1)}}), json!({}), None)]
fn what_a_step_of_the_clock_means(
    #[case] before: serde_json::Value,
    #[case] after: serde_json::Value,
    #[case] expected: Option<Turn>,
) {
    let clock = |value| HealthClock::of(&binding(&["m1"], value)).unwrap();
    let turns = turns(&binding(&["m1"], &json!({})), &clock(&before), &clock(&after));
    assert_eq!(turns, Vec::from_iter(expected));
}
