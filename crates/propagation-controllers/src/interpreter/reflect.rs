//! What of a member's status is carried to the control plane: stock's subsets for the kinds it knows, the whole
//! status for the others. Zeros are left out, as Kubernetes writes them.

use api_types::names::annotation;
use serde_json::{Map, Value};

use super::{InterpretError, gvk};
use crate::json::{pointer_key, some_text, text};

const DEPLOYMENT: &[&str] = &[
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "observedGeneration",
];
const REPLICA_SET: &[&str] = &["replicas", "readyReplicas", "availableReplicas", "observedGeneration"];
const STATEFUL_SET: &[&str] = &[
    "replicas",
    "availableReplicas",
    "currentReplicas",
    "readyReplicas",
    "updatedReplicas",
];
const DAEMON_SET: &[&str] = &[
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "observedGeneration",
];
const JOB: &[&str] = &[
    "active",
    "succeeded",
    "failed",
    "conditions",
    "startTime",
    "completionTime",
];
const BUDGET: &[&str] = &[
    "disruptionsAllowed",
    "expectedPods",
    "desiredHealthy",
    "currentHealthy",
    "disruptedPods",
];
const AUTOSCALER: &[&str] = &["currentReplicas", "desiredReplicas"];

pub(super) fn reflect(observed: &Value) -> Result<Option<Value>, InterpretError> {
    let subset = match gvk(observed) {
        ("apps/v1", "Deployment") => with_generations(observed, DEPLOYMENT)?,
        ("apps/v1", "ReplicaSet") => with_generations(observed, REPLICA_SET)?,
        ("apps/v1", "StatefulSet") => with_generations(observed, STATEFUL_SET)?,
        ("apps/v1", "DaemonSet") => with_generations(observed, DAEMON_SET)?,
        ("batch/v1", "Job") => fields(observed, JOB),
        ("v1", "Service") if text(observed, "/spec/type") != "LoadBalancer" => return Ok(None),
        ("v1", "Service") => fields(observed, &["loadBalancer"]),
        ("policy/v1", "PodDisruptionBudget") => fields(observed, BUDGET),
        ("autoscaling/v2", "HorizontalPodAutoscaler") => fields(observed, AUTOSCALER),
        _ => return whole(observed),
    };
    Ok((!subset.is_empty()).then_some(Value::Object(subset)))
}

/// The API server takes no status but an object, and would refuse all else that is said with it.
fn whole(observed: &Value) -> Result<Option<Value>, InterpretError> {
    let status = observed.get("status").filter(|status| !is_zero(status));
    match status {
        Some(status) if !status.is_object() => {
            let problem = format!("its status is a {}, not an object", type_name(status));
            Err(InterpretError::new("reflect the status of", observed, problem))
        }
        other => Ok(other.cloned()),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

fn fields(observed: &Value, names: &[&str]) -> Map<String, Value> {
    let status = observed.get("status");
    let field = |name: &&str| Some(((*name).to_owned(), status?.get(*name)?.clone()));
    names
        .iter()
        .filter_map(field)
        .filter(|(_, value)| !is_zero(value))
        .collect()
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) => false,
    }
}

/// Adds the generation of the member's object and of the template it was rendered from: by them a reader sees whether
/// a status speaks of the newest template.
fn with_generations(observed: &Value, names: &[&str]) -> Result<Map<String, Value>, InterpretError> {
    let mut subset = fields(observed, names);
    if let Some(generation) = observed.pointer("/metadata/generation").filter(|g| !is_zero(g)) {
        subset.insert("generation".to_owned(), generation.clone());
    }
    let written = some_text(
        observed,
        &format!("/metadata/annotations/{}", pointer_key(annotation::TEMPLATE_GENERATION)),
    );
    if let Some(written) = written {
        let generation: i64 = written.parse().map_err(|_| {
            let problem = format!(
                "annotation {} is {written:?}, not a number",
                annotation::TEMPLATE_GENERATION
            );
            InterpretError::new("reflect the status of", observed, problem)
        })?;
        if generation != 0 {
            subset.insert("resourceTemplateGeneration".to_owned(), generation.into());
        }
    }
    Ok(subset)
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn object(api_version: &str, kind: &str, spec: Value, status: Value) -> Value {
        json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": "a", "generation": 2, "annotations": {"resourcetemplate.karmada.io/generation": "7"}},
            "spec": spec, "status": status})
    }

    #[rstest]
    #[case::deployment("apps/v1", "Deployment",
        json!({"replicas": 1, "readyReplicas": 0, "availableReplicas": 1, "updatedReplicas": 1, "observedGeneration": 2, "conditions": [{}]}),
        json!({"replicas": 1, "availableReplicas": 1, "updatedReplicas": 1, "observedGeneration": 2, "generation": 2, "resourceTemplateGeneration": 7}))]
    #[case::stateful_set_without_revisions("apps/v1", "StatefulSet",
        json!({"replicas": 1, "currentReplicas": 1, "currentRevision": "x", "observedGeneration": 2}),
        json!({"replicas": 1, "currentReplicas": 1, "generation": 2, "resourceTemplateGeneration": 7}))]
    #[case::replica_set("apps/v1", "ReplicaSet", json!({"replicas": 1, "fullyLabeledReplicas": 1}),
        json!({"replicas": 1, "generation": 2, "resourceTemplateGeneration": 7}))]
    #[case::daemon_set("apps/v1", "DaemonSet", json!({"numberReady": 1, "numberMisscheduled": 0}),
        json!({"numberReady": 1, "generation": 2, "resourceTemplateGeneration": 7}))]
    #[case::job("batch/v1", "Job", json!({"active": 1, "ready": 1, "startTime": "t", "uncountedTerminatedPods": {}}),
        json!({"active": 1, "startTime": "t"}))]
    #[case::other_kinds_whole("example.com/v1", "Widget", json!({"phase": "x", "n": 0}), json!({"phase": "x", "n": 0}))]
    fn subsets(#[case] version: &str, #[case] kind: &str, #[case] status: Value, #[case] wanted: Value) {
        assert_eq!(
            reflect(&object(version, kind, json!({}), status)).unwrap(),
            Some(wanted)
        );
    }

    #[test]
    fn kinds_without_status_reflect_nothing() {
        assert_eq!(
            reflect(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})).unwrap(),
            None
        );
        let service = object(
            "v1",
            "Service",
            json!({"type": "ClusterIP"}),
            json!({"loadBalancer": {}}),
        );
        assert_eq!(reflect(&service).unwrap(), None);
    }

    #[test]
    fn a_balancer_reflects_its_addresses() {
        let service = object(
            "v1",
            "Service",
            json!({"type": "LoadBalancer"}),
            json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}),
        );
        assert_eq!(
            reflect(&service).unwrap(),
            Some(json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}))
        );
    }

    #[rstest]
    #[case::list(json!([{"phase": "Running"}]), Some("cannot reflect the status of Widget a: its status is a list, not an object"))]
    #[case::text(json!("Running"), Some("cannot reflect the status of Widget a: its status is a text, not an object"))]
    #[case::empty_list(json!([]), None)]
    fn a_status_is_an_object(#[case] status: Value, #[case] error: Option<&str>) {
        let reflected = reflect(&object("example.io/v1", "Widget", json!({}), status));
        match error {
            Some(error) => assert_eq!(reflected.unwrap_err().to_string(), error),
            None => assert_eq!(reflected.unwrap(), None),
        }
    }

    #[test]
    fn an_unreadable_template_generation_is_an_error() {
        let mut broken = object("apps/v1", "Deployment", json!({}), json!({}));
        broken["metadata"]["annotations"]["resourcetemplate.karmada.io/generation"] = json!("new");
        let error = reflect(&broken).unwrap_err();
        assert!(error.to_string().contains("not a number"), "{error}");
    }
}
