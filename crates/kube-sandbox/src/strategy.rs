//! What the real server does specially for single built-in kinds: first status, fixed fields, generation, checks.

use serde_json::{Map, Value, json};

use crate::registry::ResourceDef;
use crate::status::{FieldError, FieldErrorKind};

/// Whether `metadata.generation` is kept for this resource.
pub(crate) fn has_generation(def: &ResourceDef) -> bool {
    def.is_custom()
        || matches!(
            (def.group.as_str(), def.kind.as_str()),
            ("apps" | "batch" | "policy" | "apiextensions.k8s.io", _) | ("", "Pod")
        )
}

/// Kinds that an update may create.
pub(crate) fn creates_on_update(def: &ResourceDef) -> bool {
    matches!(def.kind.as_str(), "Lease" | "Event" | "Endpoints") && !def.is_custom()
}

/// Kinds that may be replaced without naming a version.
pub(crate) fn allows_unconditional_update(def: &ResourceDef) -> bool {
    !def.is_custom()
        && !matches!(
            def.kind.as_str(),
            "Lease" | "ServiceAccount" | "CustomResourceDefinition"
        )
}

/// Kinds whose deletion answers with the object instead of a `Status`.
pub(crate) fn delete_returns_object(def: &ResourceDef) -> bool {
    !def.is_custom()
        && matches!(
            def.kind.as_str(),
            "Pod" | "Service" | "ServiceAccount" | "PersistentVolumeClaim" | "Namespace"
        )
}

/// The status that a new object starts with, whatever the client sent.
pub(crate) fn first_status(def: &ResourceDef, object: &mut Value) {
    if !def.status_subresource {
        return;
    }
    let Some(map) = object.as_object_mut() else { return };
    if def.is_custom() {
        map.remove("status");
        return;
    }
    let status = match def.kind.as_str() {
        // A node registers itself together with its status; that of a CRD is made by its own module.
        "Node" | "CustomResourceDefinition" => return,
        "Namespace" => {
            map.insert("spec".into(), json!({"finalizers": ["kubernetes"]}));
            json!({"phase": "Active"})
        }
        "Pod" => json!({"phase": "Pending", "qosClass": "BestEffort"}),
        "PersistentVolumeClaim" => json!({"phase": "Pending"}),
        "Service" => json!({"loadBalancer": {}}),
        "PodDisruptionBudget" => {
            json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0})
        }
        "StatefulSet" => json!({"replicas": 0, "availableReplicas": 0}),
        "ReplicaSet" => json!({"replicas": 0}),
        "DaemonSet" => json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0
        }),
        _ => json!({}),
    };
    map.insert("status".into(), status);
}

/// Splits a write between the main resource and its status: the half that the request does not own stays as it was.
pub(crate) fn keep_other_half(def: &ResourceDef, object: &mut Value, old: &Value, status_write: bool) {
    let Some(map) = object.as_object_mut() else { return };
    let restore = |map: &mut Map<String, Value>, key: &str| match old.get(key) {
        Some(value) => {
            map.insert(key.to_owned(), value.clone());
        }
        None => {
            map.remove(key);
        }
    };
    if !status_write {
        if def.status_subresource {
            restore(map, "status");
        }
        return;
    }
    if def.is_custom() {
        let status = map.remove("status");
        let rv = map["metadata"].get("resourceVersion").cloned();
        *map = old.as_object().cloned().unwrap_or_default();
        map.remove("status");
        if let Some(status) = status {
            map.insert("status".into(), status);
        }
        if let Some(rv) = rv {
            map["metadata"]["resourceVersion"] = rv;
        }
    } else {
        restore(map, "spec");
        if let (Some(meta), Some(before)) = (map.get_mut("metadata"), old.get("metadata"))
            && let Some(meta) = meta.as_object_mut()
        {
            for key in ["labels", "ownerReferences"] {
                match before.get(key) {
                    Some(value) => meta.insert(key.to_owned(), value.clone()),
                    None => meta.remove(key),
                };
            }
        }
    }
}

/// Whether the write changes what `metadata.generation` counts.
pub(crate) fn desired_state_changed(def: &ResourceDef, object: &Value, old: &Value) -> bool {
    if !def.is_custom() {
        return object.get("spec") != old.get("spec");
    }
    let rest = |v: &Value| -> Map<String, Value> {
        let ignored: &[&str] = if def.status_subresource {
            &["metadata", "status"]
        } else {
            &["metadata"]
        };
        v.as_object()
            .into_iter()
            .flatten()
            .filter(|(k, _)| !ignored.contains(&k.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    };
    rest(object) != rest(old)
}

/// Checks of single kinds; `old` is the stored object on updates.
pub(crate) fn validate(def: &ResourceDef, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if def.is_custom() {
        return errors;
    }
    let spec = &object["spec"];
    match def.kind.as_str() {
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => {
            selector_errors(spec, &mut errors);
            negative_errors(spec, &["replicas", "minReadySeconds"], &mut errors);
            container_errors(&spec["template"]["spec"], "spec.template.spec", &mut errors);
            let restarts = &spec["template"]["spec"]["restartPolicy"];
            if restarts.as_str().is_some_and(|policy| policy != "Always") {
                errors.push(FieldError::not_supported(
                    "spec.template.spec.restartPolicy",
                    restarts.clone(),
                    &["Always".into()],
                ));
            }
            if let Some(old) = old
                && old["spec"]["selector"] != spec["selector"]
            {
                errors.push(FieldError::invalid(
                    "spec.selector",
                    spec["selector"].clone(),
                    "field is immutable",
                ));
            }
        }
        "Job" => {
            container_errors(&spec["template"]["spec"], "spec.template.spec", &mut errors);
            if !matches!(
                spec["template"]["spec"]["restartPolicy"].as_str(),
                Some("Never" | "OnFailure")
            ) {
                errors.push(FieldError::new(
                    FieldErrorKind::Required,
                    "spec.template.spec.restartPolicy",
                    None,
                    "valid values: \"OnFailure\", \"Never\"",
                ));
            }
            for field in ["selector", "template", "completionMode"] {
                if let Some(old) = old
                    && old["spec"][field] != spec[field]
                {
                    errors.push(FieldError::invalid(
                        &format!("spec.{field}"),
                        spec[field].clone(),
                        "field is immutable",
                    ));
                }
            }
        }
        "Pod" => container_errors(spec, "spec", &mut errors),
        "Service" => {
            if spec["type"] != "ExternalName"
                && spec["clusterIP"] != "None"
                && spec["ports"].as_array().is_none_or(Vec::is_empty)
            {
                errors.push(FieldError::required("spec.ports", ""));
            }
            if let Some(old) = old
                && old["spec"]["clusterIP"] != spec["clusterIP"]
                && spec["type"] != "ExternalName"
            {
                errors.push(FieldError::invalid(
                    "spec.clusterIPs[0]",
                    json!([spec["clusterIP"]]),
                    "may not change once set",
                ));
            }
        }
        "ConfigMap" | "Secret" => {
            if let Some(old) = old
                && def.is("Secret")
                && old["type"] != object["type"]
            {
                errors.push(FieldError::invalid(
                    "type",
                    object["type"].clone(),
                    "field is immutable",
                ));
            }
            data_key_errors(object, &mut errors);
            if let Some(old) = old
                && old["immutable"] == Value::Bool(true)
            {
                for field in ["data", "binaryData", "stringData", "immutable"] {
                    if old[field] != object[field] {
                        errors.push(FieldError::new(
                            FieldErrorKind::Forbidden,
                            field,
                            None,
                            "field is immutable when `immutable` is set",
                        ));
                    }
                }
            }
        }
        "Event" => {
            let regarding = object["involvedObject"]["namespace"].as_str().unwrap_or_default();
            let own = object["metadata"]["namespace"].as_str().unwrap_or_default();
            // Events of cluster-scoped objects go to the namespace "default".
            if regarding != own && !(regarding.is_empty() && own == "default") {
                errors.push(FieldError::invalid(
                    "involvedObject.namespace",
                    regarding.into(),
                    "does not match event.namespace",
                ));
            }
        }
        "Node" => {
            let taints = spec["taints"].as_array().map_or(&[][..], Vec::as_slice);
            for (i, taint) in taints.iter().enumerate() {
                let same = |other: &Value| other["key"] == taint["key"] && other["effect"] == taint["effect"];
                if taints[..i].iter().any(same) {
                    errors.push(FieldError::new(
                        FieldErrorKind::Duplicate,
                        &format!("metadata.taints[{i}]"),
                        Some(taint.clone()),
                        "taints must be unique by key and effect pair",
                    ));
                }
            }
        }
        "Lease" => {
            if spec["leaseDurationSeconds"].as_i64().is_some_and(|s| s <= 0) {
                errors.push(FieldError::invalid(
                    "spec.leaseDurationSeconds",
                    spec["leaseDurationSeconds"].clone(),
                    "must be greater than 0",
                ));
            }
            if spec["leaseTransitions"].as_i64().is_some_and(|s| s < 0) {
                errors.push(FieldError::invalid(
                    "spec.leaseTransitions",
                    spec["leaseTransitions"].clone(),
                    "must be greater than or equal to 0",
                ));
            }
        }
        _ => {}
    }
    errors
}

/// The keys of config maps and secrets become names of files.
fn data_key_errors(object: &Value, errors: &mut Vec<FieldError>) {
    for field in ["data", "binaryData"] {
        for key in object[field].as_object().into_iter().flat_map(Map::keys) {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
            if key.is_empty() || !key.chars().all(fits) {
                errors.push(FieldError::invalid(
                    &format!("{field}[{key}]"),
                    key.clone().into(),
                    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
                ));
            }
        }
    }
}

fn negative_errors(spec: &Value, fields: &[&str], errors: &mut Vec<FieldError>) {
    for field in fields {
        if spec[*field].as_i64().is_some_and(|n| n < 0) {
            errors.push(FieldError::invalid(
                &format!("spec.{field}"),
                spec[*field].clone(),
                "must be greater than or equal to 0",
            ));
        }
    }
}

fn selector_errors(spec: &Value, errors: &mut Vec<FieldError>) {
    let selector = spec["selector"]["matchLabels"].as_object();
    let expressions = spec["selector"]["matchExpressions"]
        .as_array()
        .is_some_and(|e| !e.is_empty());
    if selector.is_none_or(Map::is_empty) && !expressions {
        errors.push(FieldError::required("spec.selector", ""));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let selects_nothing = selector.is_none_or(Map::is_empty) && !expressions;
    if selects_nothing || selector.into_iter().flatten().any(|(k, v)| labels.get(k) != Some(v)) {
        errors.push(FieldError::invalid(
            "spec.template.metadata.labels",
            labels.clone(),
            "`selector` does not match template `labels`",
        ));
    }
}

fn container_errors(pod: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let containers = pod["containers"].as_array().map_or(&[][..], Vec::as_slice);
    if containers.is_empty() {
        errors.push(FieldError::required(&format!("{path}.containers"), ""));
    }
    for (i, container) in containers.iter().enumerate() {
        for field in ["name", "image"] {
            if container[field].as_str().unwrap_or_default().is_empty() {
                errors.push(FieldError::required(&format!("{path}.containers[{i}].{field}"), ""));
            }
        }
        let name = &container["name"];
        if containers[..i].iter().any(|c| &c["name"] == name) {
            errors.push(FieldError::new(
                FieldErrorKind::Duplicate,
                &format!("{path}.containers[{i}].name"),
                Some(name.clone()),
                "",
            ));
        }
    }
}
