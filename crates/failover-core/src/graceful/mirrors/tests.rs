#![expect(clippy::needless_pass_by_value, reason = "JSON literals read best as they are")]

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const NOON: &str = "2026-01-01T12:00:00Z";

fn noon() -> Timestamp {
    NOON.parse().unwrap()
}

/// Of a ConfigMap that default/web needs, with `spec` over it.
fn attached(spec: Value) -> Binding {
    let mut binding = json!({
        "metadata": {"namespace": "default", "name": "c-configmap",
                     "labels": {"app": "x", depended_by_label(&"default/web".parse().unwrap()): "id"}},
        "spec": {
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "c"},
            "requiredBy": [{"namespace": "default", "name": "web", "clusters": [{"name": "m1", "replicas": 2}]}],
        },
    });
    for (field, value) in spec.as_object().unwrap() {
        binding["spec"][field] = value.clone();
    }
    serde_json::from_value(binding).unwrap()
}

fn mirror_of(time: &str) -> Value {
    json!([{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "DependencyMirror", "purgeMode": "Gracefully",
            "creationTimestamp": time}])
}

fn owner(spec: Value) -> Binding {
    let mut binding = attached(json!({"requiredBy": []}));
    binding.metadata.name = Some("web".to_owned());
    binding.metadata.labels = None;
    let mut value = serde_json::to_value(binding).unwrap();
    for (field, of) in spec.as_object().unwrap() {
        value["spec"][field] = of.clone();
    }
    serde_json::from_value(value).unwrap()
}

fn leaving() -> Binding {
    owner(
        json!({"gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}]}),
    )
}

#[test]
fn owners_are_named_in_two_ways() {
    let web = depended_by_label(&"default/web".parse().unwrap());
    assert_eq!(owner_labels(&attached(json!({}))), [web.clone()].into());
    assert_eq!(owner_labels(&attached(json!({"requiredBy": []}))), [web.clone()].into());
    let two = attached(json!({"requiredBy": [{"name": "role"}, {"namespace": "default", "name": "web"}]}));
    let role = depended_by_label(&"role".parse().unwrap());
    assert_eq!(owner_labels(&two), [web, role].into());
    assert!(owner_labels(&leaving()).is_empty());
}

#[rstest]
#[case::none_yet(json!({}), true)]
#[case::fresh(json!({"gracefulEvictionTasks": mirror_of("2026-01-01T11:59:50Z")}), false)]
#[case::too_old_to_rely_on(json!({"gracefulEvictionTasks": mirror_of("2026-01-01T11:59:40Z")}), true)]
#[case::of_a_clock_far_ahead(json!({"gracefulEvictionTasks": mirror_of("2026-01-01T13:00:00Z")}), true)]
#[case::stays_by_itself(json!({"clusters": [{"name": "m1"}]}), false)]
#[case::placed_elsewhere(json!({"clusters": [{"name": "m2"}]}), true)]
#[case::leaves_by_itself(json!({"gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "R", "producer": "TaintManager"}]}), false)]
#[case::leaves_another_one(json!({"gracefulEvictionTasks": [{"fromCluster": "m2", "reason": "R", "producer": "TaintManager"}]}), true)]
fn mirrors_that_are_needed(#[case] spec: Value, #[case] expected: bool) {
    let web: BindingKey = "default/web".parse().unwrap();
    let mirror = needed(&attached(spec), &web, &"m1".into(), noon());
    assert_eq!(mirror.is_some(), expected, "{mirror:?}");
    if let Some(mirror) = mirror {
        assert_eq!(
            (mirror.producer.as_str(), mirror.purge_mode, mirror.grace_period_seconds),
            ("DependencyMirror", Some(PurgeMode::Gracefully), None)
        );
        assert_eq!(mirror.creation_timestamp, Some(Time(noon())));
    }
}

#[test]
fn what_is_being_deleted_gets_none() {
    let mut going = attached(json!({}));
    going.metadata.deletion_timestamp = Some(Time(noon()));
    assert_eq!(
        needed(&going, &"default/web".parse().unwrap(), &"m1".into(), noon()),
        None
    );
}

fn judged(written: &str, mut spec: Value, owners: &[Binding]) -> MirrorState {
    spec["gracefulEvictionTasks"] = mirror_of(written);
    let attached = attached(spec);
    let mirror = attached.spec.graceful_eviction_tasks[0].clone();
    state(&attached, &mirror, owners, noon())
}

fn needed_until(state: MirrorState) -> (String, Option<Timestamp>) {
    match state {
        MirrorState::Needed { why, until } => (why, until),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_stays_while_an_owner_leaves() {
    let (why, until) = needed_until(judged(
        "2026-01-01T11:00:00Z",
        json!({}),
        &[owner(json!({})), leaving()],
    ));
    assert_eq!(
        (why.as_str(), until),
        ("default/web needs the object and leaves m1", None)
    );
}

#[test]
fn it_stays_for_a_minute_when_nobody_leaves_after_all() {
    let (_, until) = needed_until(judged("2026-01-01T11:59:01Z", json!({}), &[owner(json!({}))]));
    assert_eq!(until, Some("2026-01-01T12:00:01Z".parse().unwrap()));
    assert_eq!(
        judged("2026-01-01T11:59:00Z", json!({}), &[owner(json!({}))]),
        MirrorState::OwnersLeft
    );
    assert_eq!(
        judged("2026-01-01T11:59:00Z", json!({}), &[]),
        MirrorState::OwnersLeft,
        "the owner is gone"
    );
}

// The state before the failure was restored: until the object follows its owner, its copy must not go.
#[rstest]
#[case::not_yet(json!({"requiredBy": [{"namespace": "default", "name": "web", "clusters": [{"name": "m2"}]}]}), false)]
#[case::it_does(json!({}), true)]
fn it_stays_until_the_object_follows_an_owner_that_came_back(#[case] spec: Value, #[case] goes: bool) {
    let back = owner(json!({"clusters": [{"name": "m1", "replicas": 2}]}));
    let state = judged("2026-01-01T11:00:00Z", spec, std::slice::from_ref(&back));
    assert_eq!(state == MirrorState::OwnersLeft, goes, "{state:?}");
    let mut going = back;
    going.metadata.deletion_timestamp = Some(Time(noon()));
    let gone = judged("2026-01-01T11:00:00Z", json!({"requiredBy": []}), &[going]);
    assert_eq!(gone, MirrorState::OwnersLeft);
}

#[test]
fn where_the_object_is_placed_by_itself_it_goes_at_once() {
    let placed = judged(NOON, json!({"clusters": [{"name": "m1"}]}), &[leaving()]);
    assert_eq!(placed, MirrorState::PlacedThere);
}

#[test]
fn another_mirror_is_no_owner_s_task() {
    let chained = owner(json!({"gracefulEvictionTasks": mirror_of("2026-01-01T11:00:00Z")}));
    assert_eq!(
        judged("2026-01-01T11:00:00Z", json!({}), &[chained]),
        MirrorState::OwnersLeft
    );
}

proptest! {
    // Whoever found or wrote a mirror and writes the owner's task in time finds it there then.
    #[test]
    fn a_mirror_that_one_relies_on_is_there_when_the_owner_leaves(age in 0_i64..200, takes in 0_i64..=30) {
        let at = |seconds: i64| noon().saturating_add(SignedDuration::from_secs(seconds)).unwrap();
        let written = at(-age).to_string();
        let mut spec = json!({"gracefulEvictionTasks": mirror_of(&written)});
        if let Some(mirror) = needed(&attached(spec.clone()), &"default/web".parse().unwrap(), &"m1".into(), noon()) {
            spec["gracefulEvictionTasks"] = serde_json::to_value([mirror]).unwrap();
        }
        let attached = attached(spec);
        let mirror = &attached.spec.graceful_eviction_tasks[0];
        let still_there = owner(json!({"clusters": [{"name": "m1", "replicas": 2}]}));
        let state = state(&attached, mirror, [&still_there], at(takes));
        prop_assert!(matches!(state, MirrorState::Needed { .. }), "{:?}", state);
    }
}
