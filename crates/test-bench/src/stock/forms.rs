//! What people write beside a stock Karmada: its fields, and annotations for what it does not know.

use serde_json::{Map, Value, json};

/// Prefix of the annotations that are second homes.
const OURS: &str = "failover.karmada.io/";

/// The purge modes that stock's field can have, for the failure of each.
pub(super) const PURGE_MODES: [(&str, &[&str]); 2] = [
    ("application", &["Directly", "Gracefully", "Never"]),
    ("cluster", &["Directly", "Gracefully"]),
];

/// An object as its owner writes it beside a stock Karmada: what stock does not know stands in annotations.
#[must_use]
pub fn in_stocks_form(mut object: Value) -> Value {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    translate(&kind, &mut object);
    // What is not said needs no annotation to be taken away.
    if let Some(annotations) = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.retain(|_, text| !text.is_null());
    }
    object
}

/// A merge patch of an object of this kind, likewise. What it says of `spec.failover` is all that its annotation says then.
#[must_use]
pub fn patch_in_stocks_form(kind: &str, mut patch: Value) -> Value {
    translate(kind, &mut patch);
    patch
}

fn translate(kind: &str, object: &mut Value) {
    match kind {
        "ClusterTaintPolicy" => taint_policy(object),
        "PropagationPolicy" | "ClusterPropagationPolicy" => failover(object),
        "ResourceBinding" | "ClusterResourceBinding" => {
            failover(object);
            history(object);
        }
        "Cluster" => taints(object),
        _ => {}
    }
}

/// With nothing to say the annotation is taken away.
fn annotate(object: &mut Value, name: &str, value: &Value) {
    let says_nothing = match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        other => other.is_null(),
    };
    let text = if says_nothing {
        Value::Null
    } else {
        json!(value.to_string())
    };
    object["metadata"]["annotations"][format!("{OURS}{name}")] = text;
}

fn taint_policy(object: &mut Value) {
    let spec = object["spec"].as_object_mut().unwrap();
    let Some(Value::Array(windowed)) = spec.remove("taintsToAdd") else {
        return;
    };
    let conditions = spec.remove("matchConditions").unwrap_or(json!([]));
    spec.insert("addOnConditions".to_owned(), conditions);
    if let Some(target) = spec.remove("targetCluster") {
        spec.insert("targetClusters".to_owned(), target);
    }
    let part = |fields: &[&str]| -> Value {
        let one = |taint: &Value| -> Map<String, Value> {
            let has = fields
                .iter()
                .filter_map(|field| Some(((*field).to_owned(), taint.get(*field)?.clone())));
            has.collect()
        };
        windowed.iter().map(one).collect()
    };
    let taints = part(&["key", "value", "effect"]);
    let windows = part(&["key", "effect", "addOnMatchSeconds", "removeOnMismatchSeconds"]);
    spec.insert("taints".to_owned(), taints);
    annotate(object, "windows", &windows);
}

fn failover(object: &mut Value) {
    let Some(failover) = object.pointer("/spec/failover") else {
        return;
    };
    let said = without_nulls(failover);
    annotate(object, "failover", &said);
    for (part, modes) in PURGE_MODES {
        let behavior = object.pointer_mut(&format!("/spec/failover/{part}"));
        let Some(behavior) = behavior.and_then(Value::as_object_mut) else {
            continue;
        };
        if let Some(mode) = behavior.get("purgeMode").and_then(Value::as_str)
            && !modes.contains(&mode)
        {
            behavior.remove("purgeMode");
        }
    }
}

/// In a merge patch null is what is taken away.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let said = fields.iter().filter(|(_, value)| !value.is_null());
            said.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        other => other.clone(),
    }
}

fn history(object: &mut Value) {
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    if let Some(history) = spec.and_then(|spec| spec.remove("activeEvictionHistory")) {
        annotate(object, "active-eviction-history", &history);
    }
}

fn taints(object: &mut Value) {
    let Some(Value::Array(all)) = object.pointer_mut("/spec/taints").map(Value::take) else {
        return;
    };
    let (soft, known): (Vec<_>, Vec<_>) = all.into_iter().partition(|taint| taint["effect"] == "PreferNoExecute");
    object["spec"]["taints"] = json!(known);
    annotate(object, "prefer-no-execute-taints", &json!(soft));
}
