//! What is stored at the end, without what may differ between two good runs: times, versions and identities.

use std::collections::BTreeMap;

use api_types::names::annotation;
use api_types::work::condition;
use kube_sandbox::{Fleet, Sandbox};
use serde_json::Value;

/// Every object of interest, by server, kind, namespace and name.
pub type EndState = BTreeMap<String, Value>;

const CONTROL_PLANE: [(&str, &str); 6] = [
    ("cluster.karmada.io/v1alpha1", "Cluster"),
    ("work.karmada.io/v1alpha2", "ResourceBinding"),
    ("work.karmada.io/v1alpha1", "Work"),
    ("failover.karmada.io/v1alpha1", "FailoverRecord"),
    ("policy.karmada.io/v1alpha1", "PropagationPolicy"),
    ("apps/v1", "Deployment"),
];
const MEMBER: [(&str, &str); 2] = [("apps/v1", "Deployment"), ("v1", "Namespace")];

/// Looks at the control plane and at all members.
pub fn look(fleet: &Fleet) -> EndState {
    let mut state = of_server("control plane", fleet.control_plane(), &CONTROL_PLANE);
    for member in fleet.members() {
        state.extend(of_server(member.name(), member.sandbox(), &MEMBER));
    }
    state
}

fn of_server(server: &str, sandbox: &Sandbox, kinds: &[(&str, &str)]) -> EndState {
    let objects = kinds.iter().flat_map(|(version, kind)| {
        sandbox
            .list(version, kind)
            .into_iter()
            .map(move |object| (kind, object))
    });
    objects
        .map(|(kind, mut object)| {
            let name = name(server, kind, &object);
            if *kind == "FailoverRecord" {
                object["metadata"] = Value::Null;
                // One that graceful eviction makes up for, since the evictor ended before it wrote it, does not say how the
                // cluster was at the eviction: nobody knows that any more. Others say it, as the evictor's tests show.
                if let Some(cause) = object["spec"]["cause"].as_object_mut() {
                    cause.remove("conditions");
                }
            }
            (name, without_what_may_differ(object))
        })
        .collect()
}

fn name(server: &str, kind: &str, object: &Value) -> String {
    // The name of a record contains identities; it tells of one move of one binding.
    if kind == "FailoverRecord" {
        let spec = &object["spec"];
        return format!(
            "{server}: move of {}/{} from {}",
            spec["binding"]["namespace"], spec["binding"]["name"], spec["from"]
        );
    }
    format!(
        "{server}: {kind} {}/{}",
        object["metadata"]["namespace"], object["metadata"]["name"]
    )
}

fn without_what_may_differ(object: Value) -> Value {
    match object {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(key, _)| !may_differ(key));
            kept.map(|(key, value)| match key.as_str() {
                "deletionTimestamp" => (key, Value::from("set")),
                // Conditions are found by their type: their order in the list means nothing.
                "conditions" => (key, by_type(without_what_may_differ(value))),
                _ => (key, without_what_may_differ(value)),
            })
            .collect()
        }
        Value::Array(items) => items
            .into_iter()
            .filter(|item| !says_nothing(item))
            .map(without_what_may_differ)
            .collect(),
        other => other,
    }
}

fn by_type(conditions: Value) -> Value {
    match conditions {
        Value::Array(mut items) => {
            items.sort_by_key(|item| item["type"].to_string());
            Value::Array(items)
        }
        other => other,
    }
}

/// Times, versions and identities, and texts that have them inside. That an object is to be deleted does not differ.
fn may_differ(key: &str) -> bool {
    const NAMES: [&str; 7] = [
        "resourceVersion",
        "uid",
        "generation",
        "observedGeneration",
        "schedulerObservedGeneration",
        "managedFields",
        "timeAdded",
    ];
    const WITH_THESE_INSIDE: [&str; 8] = [
        annotation::TEMPLATE_UID,
        annotation::TAINT_WINDOWS,
        annotation::MANAGED_TAINTS,
        annotation::TAINT_FORECAST,
        // Also: the first crossing ever of a cluster is not counted by a process that had not seen it before.
        annotation::FLAP_SCORE,
        "verdict",
        "message",
        "reason",
    ];
    let ends = ["Time", "At", "Timestamp"];
    let is_time = ends.iter().any(|end| key.ends_with(end)) && key != "deletionTimestamp";
    NAMES.contains(&key) || WITH_THESE_INSIDE.contains(&key) || is_time || key.ends_with("permanent-id")
}

/// `GracefulEviction` says False after a task, and nothing where no task was ever waited for: the same.
fn says_nothing(item: &Value) -> bool {
    item["type"] == condition::GRACEFUL_EVICTION && item["status"] == "False"
}

/// What differs, object by object and as short as it can be said.
pub fn differences(expected: &EndState, found: &EndState) -> Vec<String> {
    let mut differences = Vec::new();
    for key in expected
        .keys()
        .chain(found.keys().filter(|key| !expected.contains_key(*key)))
    {
        match (expected.get(key), found.get(key)) {
            (Some(expected), Some(found)) => differ(key, expected, found, &mut differences),
            (Some(_), None) => differences.push(format!("{key} is missing")),
            _ => differences.push(format!("{key} should not be there: {}", found[key])),
        }
    }
    differences
}

fn differ(path: &str, expected: &Value, found: &Value, differences: &mut Vec<String>) {
    match (expected, found) {
        _ if expected == found => {}
        (Value::Object(expected), Value::Object(found)) => {
            for key in expected
                .keys()
                .chain(found.keys().filter(|key| !expected.contains_key(*key)))
            {
                let of = |fields: &serde_json::Map<String, Value>| fields.get(key).cloned().unwrap_or(Value::Null);
                differ(&format!("{path}.{key}"), &of(expected), &of(found), differences);
            }
        }
        _ => differences.push(format!("{path} is {found}, not {expected}")),
    }
}
