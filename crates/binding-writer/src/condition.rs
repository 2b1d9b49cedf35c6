//! One condition of a binding's status, written without touching those of other writers.

use api_types::conditions::{self, Say};
use api_types::work::Binding;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};

use crate::edit::conditional;

const CONDITIONS: &str = "/status/conditions";

/// The patch that says `say`, or `None` when the binding says it already.
pub(crate) fn set(read: &Binding, say: Say<'_>, now: Timestamp) -> Option<Value> {
    let existing = read.status.as_ref().map_or(&[][..], |status| &status.conditions);
    // At rest thousands of bindings are looked at: what says it already is found without a copy of anything.
    if existing.iter().any(|there| says(there, &say, read.metadata.generation)) {
        return None;
    }
    let mut wanted = existing.to_vec();
    if !conditions::set(&mut wanted, say, read.metadata.generation, now) {
        return None;
    }
    let index = wanted.iter().position(|condition| condition.type_ == say.type_)?;
    let condition = json!(wanted[index]);
    let operation = if index < existing.len() {
        json!({"op": "replace", "path": format!("{CONDITIONS}/{index}"), "value": condition})
    } else if !existing.is_empty() {
        json!({"op": "add", "path": format!("{CONDITIONS}/-"), "value": condition})
    } else if read.status.is_some() {
        json!({"op": "add", "path": CONDITIONS, "value": [condition]})
    } else {
        json!({"op": "add", "path": "/status", "value": {"conditions": [condition]}})
    };
    Some(conditional(read, vec![operation]))
}

fn says(there: &Condition, say: &Say<'_>, generation: Option<i64>) -> bool {
    (there.type_.as_str(), there.status.as_str()) == (say.type_, say.status)
        && (there.reason.as_str(), there.message.as_str()) == (say.reason, say.message)
        && there.observed_generation == generation
}

/// The patch that removes the condition, or `None` when it is not there.
pub(crate) fn clear(read: &Binding, type_: &str) -> Option<Value> {
    let index = read
        .status
        .as_ref()?
        .conditions
        .iter()
        .position(|condition| condition.type_ == type_)?;
    Some(conditional(
        read,
        vec![json!({"op": "remove", "path": format!("{CONDITIONS}/{index}")})],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn binding(status: &Value) -> Value {
        json!({
            "metadata": {"name": "b", "uid": "u", "resourceVersion": "7", "generation": 3},
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "b"}},
            "status": status,
        })
    }

    fn condition(type_: &str, status: &str) -> Value {
        json!({"type": type_, "status": status, "reason": "R", "message": "", "lastTransitionTime": "2025-01-01T00:00:00Z", "newer": 1})
    }

    fn say(status: &str) -> Say<'_> {
        Say {
            type_: "EvictionPending",
            status,
            reason: "Ready",
            message: "soon",
        }
    }

    #[rstest]
    #[case::no_status(json!(null))]
    #[case::empty_status(json!({}))]
    #[case::others(json!({"conditions": [condition("Scheduled", "True")], "newer": 1}))]
    #[case::replaced(json!({"conditions": [condition("EvictionPending", "False"), condition("Scheduled", "True")]}))]
    fn sets_one_and_clears_it_again(#[case] status: Value) {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut stored = binding(&status);
        let read: Binding = serde_json::from_value(stored.clone()).unwrap();
        let patch: json_patch::Patch = serde_json::from_value(set(&read, say("True"), now).unwrap()).unwrap();
        json_patch::patch(&mut stored, &patch).unwrap();
        let after: Binding = serde_json::from_value(stored.clone()).unwrap();
        let written = after.condition("EvictionPending").unwrap();
        assert_eq!(
            (
                written.status.as_str(),
                written.observed_generation,
                written.last_transition_time.0
            ),
            ("True", Some(3), now)
        );
        assert_eq!(set(&after, say("True"), now), None, "the same again is no write");

        let patch: json_patch::Patch = serde_json::from_value(clear(&after, "EvictionPending").unwrap()).unwrap();
        json_patch::patch(&mut stored, &patch).unwrap();
        let cleared: Binding = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(clear(&cleared, "EvictionPending"), None);
        let others = |value: &Value| {
            value["conditions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|c| c["type"] == "Scheduled")
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            others(&stored["status"]),
            others(&status),
            "with the fields that are not known here"
        );
    }
}
