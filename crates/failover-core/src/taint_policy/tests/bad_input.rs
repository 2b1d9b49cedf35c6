//! What nobody should write, and somebody does.

use super::*;

#[test]
fn edited_annotations_are_replaced_with_a_warning() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.set_annotation(annotation::MANAGED_TAINTS, "oops");
    world.set_annotation(annotation::TAINT_WINDOWS, "oops");
    world.restart();
    world.now = at(400);
    world.look();
    let warnings: Vec<_> = world
        .last
        .as_ref()
        .unwrap()
        .notices
        .iter()
        .filter(|n| n.is_warning)
        .collect();
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].text.contains("failover.karmada.io/managed-taints"));
    world.condition("Ready", "True");
    world.look();
    world.until(5000);
    assert_eq!(
        world.taints(),
        [TAINT],
        "whose it is cannot be known any more: it stays"
    );
    assert!(world.last.as_ref().unwrap().notices.is_empty(), "said once");
}

#[test]
fn conditions_without_reason_or_time_are_conditions() {
    let mut world = World::new(&[not_ready("p", 0)]);
    for conditions in [
        json!([{"type": "Ready", "status": "False"}]),
        json!([{"type": "Ready", "status": "False", "lastTransitionTime": null, "reason": null}]),
    ] {
        world.cluster.status = serde_json::from_value(json!({ "conditions": conditions })).unwrap();
        let late = world.look().next_look.unwrap().duration_since(at(300));
        assert!(!late.is_negative() && late <= CLOCK_STEP, "{late}");
        world.restart();
    }
    world.until(300);
    assert_eq!(world.taints(), [TAINT], "also after a restart");
}

#[test]
fn a_condition_without_a_status_is_missing() {
    let spec = json!({
        "matchConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
        "taintsToAdd": [{"key": "k", "effect": "NoExecute", "addOnMatchSeconds": 1, "removeOnMismatchSeconds": 1}]
    });
    let mut world = World::new(&[policy("p", 0, spec)]);
    world.cluster.status = serde_json::from_value(json!({"conditions": [{"type": "Ready"}]})).unwrap();
    world.look();
    world.until(100);
    assert!(world.taints().is_empty());
    assert_eq!(world.policy_condition("p", "Ready").reason, "ConditionsMissing");
}

#[test]
fn of_a_condition_that_stands_twice_the_first_counts() {
    let mut world = World::new(&[not_ready("p", 0)]);
    let twice = json!({"conditions": [{"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}]});
    world.cluster.status = serde_json::from_value(twice).unwrap();
    world.look();
    world.until(1000);
    assert_eq!((world.taints().len(), world.writes), (0, 0));
}

#[test]
fn each_of_two_equal_taints_is_stamped() {
    let mut world = World::new(&[]);
    world.add_theirs("k", "NoExecute", None);
    world.add_theirs("k", "NoExecute", None);
    world.look();
    world.until(1000);
    assert!(
        world
            .cluster
            .spec
            .taints
            .iter()
            .all(|taint| taint.time_added == Some(Time(at(0))))
    );
    assert_eq!(world.writes, 1);
}

/// A server without our bound on the list.
#[test]
fn ten_thousand_taints_are_stamped_in_ten_writes_and_ours_comes_beside_them() {
    let mut world = World::new(&[not_ready("p", 0)]);
    for n in 0..10_000 {
        world.add_theirs(&format!("k{n}"), "NoExecute", None);
    }
    world.condition("Ready", "False");
    world.look();
    assert_eq!(
        world.last.as_ref().unwrap().next_look,
        Some(at(1)),
        "the rest is not left to chance"
    );
    world.until(299);
    assert_eq!(world.writes, 10);
    assert!(world.cluster.spec.taints.iter().all(|taint| taint.time_added.is_some()));
    world.until(300);
    assert_eq!(
        (world.taints().len(), world.has(TAINT), world.writes),
        (10_001, true, 11)
    );
    world.condition("Ready", "True");
    world.look();
    world.until(480);
    assert_eq!((world.taints().len(), world.has(TAINT)), (10_000, false));
}

#[test]
fn times_in_the_future_delay_nothing() {
    let future = "2099-01-01T00:00:00Z";
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.cluster.status.as_mut().unwrap().conditions[0].last_transition_time = Time(future.parse().unwrap());
    world.look();
    // As if the clock had been wrong when an earlier process wrote it.
    for name in [annotation::TAINT_WINDOWS, annotation::FLAP_SCORE] {
        let text = match name {
            annotation::FLAP_SCORE => json!({"score": 3.0, "at": future, "ready": true}).to_string(),
            _ => world.annotation(name).unwrap().replace("2026-01-01T00:00:00Z", future),
        };
        world.set_annotation(name, &text);
    }
    world.restart();
    world.now = at(100);
    assert_eq!(world.look().next_look, Some(at(400) + CLOCK_STEP));
    let score = FlapScore::read(world.cluster.metadata.annotations.as_ref()).unwrap();
    assert!((score.score - 4.0).abs() < 1e-9);
    world.until(400);
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn a_selector_without_sense_makes_a_policy_invalid_and_moves_nothing() {
    let mut world = tainted(&[not_ready("p", 0)]);
    let mut spec = not_ready_spec("", "NoExecute");
    spec["targetCluster"] =
        json!({"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "Like", "values": ["prod"]}]}});
    edit(&mut world, "p", spec.clone());
    world.until(320);
    world.condition("Ready", "True");
    world.look();
    world.until(5000);
    assert_eq!(world.taints(), [TAINT]);
    let ready = world.policy_condition("p", "Ready");
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "Invalid"));
    assert!(
        ready.message.contains("labelSelector: operator \"Like\""),
        "{}",
        ready.message
    );

    let mut fresh = World::new(&[policy("p", 0, spec)]);
    fresh.condition("Ready", "False");
    fresh.look();
    fresh.until(1000);
    assert_eq!((fresh.taints().len(), fresh.writes), (0, 0));
}

/// Each names the other's taint: with another value, and, in stock's form, for removal where the other adds.
#[test]
fn policies_at_cross_purposes_settle() {
    let crossed = |first: &str, second: &str| {
        json!({
            "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
            "taintsToAdd": [
                {"key": "a", "value": first, "effect": "NoExecute", "addOnMatchSeconds": 1, "removeOnMismatchSeconds": 1},
                {"key": "b", "value": second, "effect": "NoExecute", "addOnMatchSeconds": 1, "removeOnMismatchSeconds": 1}
            ]
        })
    };
    let when = |status: &str| json!([{"conditionType": "Ready", "operator": "In", "statusValues": [status]}]);
    let latch = |add: &str, remove: &str| {
        json!({
            "addOnConditions": when(add), "removeOnConditions": when(remove),
            "taints": [{"key": "a", "effect": "NoSchedule"}]
        })
    };
    let mut world = World::new(&[
        policy("p", 0, crossed("1", "2")),
        policy("q", 1, crossed("2", "1")),
        policy("r", 2, latch("False", "True")),
        policy("s", 3, latch("True", "False")),
    ]);
    for round in 0..5_i64 {
        world.now = at(round * 1000);
        world.condition("Ready", if round % 2 == 0 { "False" } else { "True" });
        world.look();
        world.until(round * 1000 + 10);
        let writes = world.writes;
        world.until(round * 1000 + 900);
        assert_eq!(world.writes, writes, "round {round}");
        assert!(world.has("a:NoSchedule"), "one of r and s always wants it");
        assert_eq!(world.has("a:NoExecute"), round % 2 == 0);
    }
    world.condition("Ready", "False");
    world.until(5000);
    for name in ["p", "q"] {
        let conflict = world.report(name).conflict.clone().unwrap();
        assert!(
            conflict.contains("a:NoExecute") && conflict.contains("b:NoExecute"),
            "{conflict}"
        );
    }
}

#[test]
fn a_record_that_claims_what_we_cannot_have_written_makes_nothing_ours() {
    let entry = |policies: Value, time: Value| json!({"cluster": "cluster-1", "taints": {"k:NoExecute": {"policies": policies, "value": "theirs", "timeAdded": time}}});
    let time = json!(at(-5));
    for forged in [entry(json!({}), time), entry(json!({"gone": "u"}), json!(null))] {
        let mut world = World::new(&[]);
        world.add_theirs("k", "NoExecute", Some(at(-5)));
        world.set_annotation(annotation::MANAGED_TAINTS, &forged.to_string());
        world.look();
        world.until(1000);
        assert_eq!(world.taints(), ["k:NoExecute"], "{forged}");
        assert_eq!(world.annotation(annotation::MANAGED_TAINTS), None);
    }
}

#[test]
fn a_record_with_another_policy_passes_to_one_that_exists() {
    let mut world = tainted(&[not_ready("p", 0)]);
    let edited = world
        .annotation(annotation::MANAGED_TAINTS)
        .unwrap()
        .replace("uid-p", "nobody");
    world.set_annotation(annotation::MANAGED_TAINTS, &edited);
    world.until(400);
    assert_eq!(
        world.cluster.spec.taints[0].time_added,
        Some(Time(at(310))),
        "no flicker"
    );
    assert!(world.annotation(annotation::MANAGED_TAINTS).unwrap().contains("uid-p"));
}

#[test]
fn while_a_process_looks_edited_windows_change_no_time() {
    for edited in ["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"] {
        let mut world = World::new(&[not_ready("p", 0)]);
        world.condition("Ready", "False");
        world.look();
        let text = world.annotation(annotation::TAINT_WINDOWS).unwrap().clone();
        world.set_annotation(annotation::TAINT_WINDOWS, &text.replace("2026-01-01T00:00:00Z", edited));
        world.until(299);
        assert!(world.taints().is_empty());
        assert_eq!(
            world.annotation(annotation::TAINT_WINDOWS),
            Some(&text),
            "and are put right"
        );
        world.until(300);
        assert_eq!(world.taints(), [TAINT]);
    }
}

#[test]
fn an_edited_forecast_is_put_right() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    let told = world.annotation(annotation::TAINT_FORECAST).cloned();
    world.set_annotation(annotation::TAINT_FORECAST, "nothing will happen");
    world.until(10);
    assert_eq!(world.annotation(annotation::TAINT_FORECAST), told.as_ref());
}

/// Only a server without our schemas lets such a policy in; the Cluster's would refuse the taint, and with it all else
/// that is to be written there.
#[test]
fn a_taint_that_no_cluster_may_have_holds_up_nobody_elses() {
    for (field, value) in [("key", "bad key!"), ("key", ""), ("value", "no value!")] {
        let mut bad = not_ready_spec("", "NoSchedule");
        bad["taintsToAdd"][0][field] = json!(value);
        let mut world = World::new(&[policy("bad", 0, bad), not_ready("p", 1)]);
        world.condition("Ready", "False");
        world.look();
        world.until(300);
        assert_eq!(world.taints(), [TAINT], "{field} {value:?}");
        let ready = world.policy_condition("bad", "Ready");
        assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "Invalid"));
        assert!(
            ready.message.contains(&format!("{value:?} is no taint {field}")),
            "{}",
            ready.message
        );
    }
}
