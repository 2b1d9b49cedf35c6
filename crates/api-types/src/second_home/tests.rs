//! Objects as a stock Karmada serves them, read.

use serde_json::{Value, json};

use super::{cluster, failover, history, taint_policy};
use crate::cluster::Cluster;
use crate::policy::{Policy, PurgeMode};
use crate::taint_policy::ClusterTaintPolicy;
use crate::work::Binding;

fn annotated(name: &str, text: &str) -> Value {
    json!({"name": "x", "annotations": {format!("failover.karmada.io/{name}"): text}})
}

fn cluster(taints: &Value, annotation: &str) -> Cluster {
    let object = json!({
        "metadata": annotated("prefer-no-execute-taints", annotation),
        "spec": {"syncMode": "Push", "taints": taints},
    });
    serde_json::from_value(object).unwrap()
}

fn prefer(key: &str) -> Value {
    json!({"key": key, "effect": "PreferNoExecute"})
}

fn keys(cluster: &Cluster) -> Vec<&str> {
    cluster.spec.taints.iter().map(|taint| taint.key.as_str()).collect()
}

#[test]
fn taints_of_the_annotation_stand_behind_those_of_the_field() {
    let cluster = cluster(
        &json!([{"key": "a", "effect": "NoExecute"}, prefer("b")]),
        &json!([prefer("b"), prefer("c"), prefer("c")]).to_string(),
    );
    assert_eq!(
        keys(&cluster),
        ["a", "b", "c"],
        "each key and effect once, the field's first"
    );
    let (in_spec, in_annotation) = cluster::by_home(&cluster);
    assert_eq!((in_spec.len(), in_annotation.len()), (2, 1));
    assert_eq!(cluster::complaint(&cluster), None);
}

#[test]
fn of_a_cluster_that_has_all_in_the_annotation_nothing_is_in_the_field() {
    let stamped = json!({"key": "b", "effect": "PreferNoExecute", "timeAdded": "2026-01-01T00:00:00Z", "value": "v"});
    let cluster = cluster(&json!([]), &json!([prefer("a"), stamped]).to_string());
    assert_eq!(keys(&cluster), ["a", "b"]);
    let (in_spec, in_annotation) = cluster::by_home(&cluster);
    assert_eq!((in_spec.len(), in_annotation.len()), (0, 2));
    let text = cluster::text(in_annotation).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        json!([prefer("a"), stamped])
    );
    assert_eq!(cluster::text(&[]), None);
}

#[test]
fn what_is_no_list_of_such_taints_counts_as_absent() {
    for (text, expected) in [
        ("", "EOF"),
        ("{}", "invalid type: map"),
        (
            r#"[{"key": "a", "effect": "NoExecute"}]"#,
            "taint a has effect \"NoExecute\"",
        ),
        (r#"[{"key": "a"}]"#, "has effect \"\""),
        (r#"[{"effect": "PreferNoExecute"}]"#, "no key"),
    ] {
        let cluster = cluster(&json!([{"key": "z", "effect": "NoExecute"}]), text);
        assert_eq!(keys(&cluster), ["z"], "{text}");
        let complaint = cluster::complaint(&cluster).unwrap().to_string();
        assert!(complaint.contains(expected), "{text}: {complaint}");
        assert!(
            complaint.contains("failover.karmada.io/prefer-no-execute-taints"),
            "{complaint}"
        );
        assert_eq!(cluster::by_home(&cluster).1.len(), 0);
    }
}

fn taint_policy(annotation: &str, spec: &Value) -> ClusterTaintPolicy {
    serde_json::from_value(json!({"metadata": annotated("windows", annotation), "spec": spec})).unwrap()
}

fn stock_form() -> Value {
    json!({
        "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
        "taints": [{"key": "k", "effect": "PreferNoExecute"}],
    })
}

#[test]
fn windows_are_read_with_their_defaults() {
    let policy = taint_policy(
        r#"[{"key": "k", "effect": "PreferNoExecute", "addOnMatchSeconds": 30}]"#,
        &stock_form(),
    );
    let windows = policy.spec.windows.as_ref().unwrap();
    assert_eq!(
        (windows[0].add_on_match_seconds, windows[0].remove_on_mismatch_seconds),
        (30, 180)
    );
    assert_eq!(taint_policy::complaint(&policy), None);
    let written = serde_json::to_value(&policy).unwrap();
    assert_eq!(written["spec"].get("windows"), None, "it is no field");
}

#[test]
fn windows_that_mean_nothing_are_complained_of() {
    for (text, expected, are_read) in [
        ("[", "EOF", false),
        (
            r#"[{"key": "k", "effect": "PreferNoExecute", "addOnMatchSeconds": 0}]"#,
            "shorter than a second",
            false,
        ),
        (
            r#"[{"key": "other", "effect": "NoExecute"}]"#,
            "spec.taints has no other:NoExecute",
            true,
        ),
    ] {
        let policy = taint_policy(text, &stock_form());
        assert_eq!(policy.spec.windows.is_some(), are_read, "{text}");
        let complaint = taint_policy::complaint(&policy).unwrap().to_string();
        assert!(complaint.contains(expected), "{text}: {complaint}");
    }
    let ours = json!({"taintsToAdd": [{"key": "k", "effect": "NoExecute"}]});
    let policy = taint_policy("[]", &ours);
    assert_eq!(policy.spec.windows, None);
    assert!(taint_policy::complaint(&policy).is_some());
}

fn binding(failover: &Value, annotation: &str) -> Binding {
    let object = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": annotated("failover", annotation),
        "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}, "failover": failover},
    });
    serde_json::from_value(object).unwrap()
}

#[test]
fn what_stock_does_not_know_of_a_failover_comes_from_the_annotation() {
    let stock = json!({
        "application": {"decisionConditions": {"tolerationSeconds": 120}, "purgeMode": "Gracefully", "gracePeriodSeconds": 600},
        "cluster": {"purgeMode": "Gracefully"},
    });
    let ours = json!({
        "application": {
            "decisionConditions": {"tolerationSeconds": 1}, "preConditions": {"delaySeconds": 60}, "blockPredecessorSeconds": 0,
        },
        "cluster": {"purgeMode": "Never", "tolerationSeconds": 30},
    });
    let binding = binding(&stock, &ours.to_string());
    let failover = binding.spec.failover.as_ref().unwrap();
    let application = failover.application.as_ref().unwrap();
    assert_eq!(
        application.decision_conditions.toleration_seconds,
        Some(120),
        "the field counts"
    );
    assert_eq!(application.block_predecessor_seconds, Some(0));
    assert_eq!(application.pre_conditions.as_ref().unwrap().delay_seconds, Some(60));
    let cluster = failover.cluster.as_ref().unwrap();
    assert_eq!(cluster.purge_mode, Some(PurgeMode::Never), "the field cannot say it");
    assert_eq!(cluster.toleration_seconds, Some(30));
}

#[test]
fn a_purge_mode_that_stock_can_say_is_the_fields() {
    let stock = json!({"cluster": {"purgeMode": "Gracefully"}});
    for (ours, expected) in [
        ("Directly", PurgeMode::Gracefully),
        ("Immediately", PurgeMode::Immediately),
        ("Graciously", PurgeMode::Graciously),
    ] {
        let binding = binding(&stock, &json!({"cluster": {"purgeMode": ours}}).to_string());
        let cluster = binding.spec.failover.unwrap().cluster.unwrap();
        assert_eq!(cluster.purge_mode, Some(expected), "{ours}");
    }
    let binding = binding(&Value::Null, r#"{"cluster": {"purgeMode": "Directly"}}"#);
    let cluster = binding.spec.failover.unwrap().cluster.unwrap();
    assert_eq!(cluster.purge_mode, Some(PurgeMode::Directly), "without the field");
}

#[test]
fn a_failover_that_cannot_be_read_leaves_the_field() {
    let stock = json!({"cluster": {"purgeMode": "Directly"}});
    for text in [
        "",
        "[]",
        r#"{"cluster": 1}"#,
        r#"{"cluster": {"tolerationSeconds": "soon"}}"#,
        r#"{"application": {"blockPredecessorSeconds": 1}}"#,
    ] {
        let binding = binding(&stock, text);
        let failover = binding.spec.failover.as_ref().unwrap();
        assert_eq!(serde_json::to_value(failover).unwrap(), stock, "{text}");
        let policy: Policy = serde_json::from_value(json!({
            "metadata": annotated("failover", text), "spec": {"resourceSelectors": [], "failover": stock},
        }))
        .unwrap();
        assert_eq!(policy.spec.failover, binding.spec.failover);
        assert!(failover::complaint(&policy).is_some(), "{text}");
    }
}

#[test]
fn a_history_comes_from_the_annotation_while_the_field_is_empty() {
    let item = |name: &str| json!({"clusterName": name, "creationTimestamp": "2026-01-01T00:00:00Z"});
    let read = |field: &Value, annotation: &str| -> Binding {
        serde_json::from_value(json!({
            "metadata": annotated("active-eviction-history", annotation),
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}, "activeEvictionHistory": field},
        }))
        .unwrap()
    };
    let adopted = read(&json!([]), &json!([item("m1")]).to_string());
    assert_eq!(adopted.spec.active_eviction_history[0].cluster_name, "m1");
    assert!(history::is_in_annotation(&adopted));
    let text = history::text(&adopted.spec.active_eviction_history).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!([item("m1")]));
    let kept = read(&json!([item("m2")]), &json!([item("m1")]).to_string());
    assert_eq!(kept.spec.active_eviction_history[0].cluster_name, "m2");
    assert!(!history::is_in_annotation(&kept));
    let broken = read(&json!([]), "m1");
    assert!(broken.spec.active_eviction_history.is_empty());
    assert!(history::complaint(&broken).is_some() && !history::is_in_annotation(&broken));
}
