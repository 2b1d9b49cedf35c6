//! What the real server does specially for single built-in kinds: defaults, first status, fixed fields, generation.

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

fn default(map: &mut Value, key: &str, value: Value) {
    if map.get(key).is_none_or(Value::is_null) {
        map[key] = value;
    }
}

/// The items of a list field, none where there is no list; unlike indexing it does not put a null there.
fn items_mut<'a>(object: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    object
        .get_mut(field)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// Fills the defaults of built-in kinds.
pub(crate) fn apply_defaults(def: &ResourceDef, object: &mut Value) {
    if def.is_custom() {
        return;
    }
    match def.kind.as_str() {
        "Deployment" => {
            let spec = &mut object["spec"];
            default(spec, "replicas", 1.into());
            default(spec, "revisionHistoryLimit", 10.into());
            default(spec, "progressDeadlineSeconds", 600.into());
            default(spec, "strategy", json!({}));
            default(&mut spec["strategy"], "type", "RollingUpdate".into());
            if spec["strategy"]["type"] == "RollingUpdate" {
                default(&mut spec["strategy"], "rollingUpdate", json!({}));
                default(&mut spec["strategy"]["rollingUpdate"], "maxSurge", "25%".into());
                default(&mut spec["strategy"]["rollingUpdate"], "maxUnavailable", "25%".into());
            }
            template_defaults(&mut spec["template"], "Always");
        }
        "ReplicaSet" => {
            default(&mut object["spec"], "replicas", 1.into());
            template_defaults(&mut object["spec"]["template"], "Always");
        }
        "StatefulSet" => {
            let spec = &mut object["spec"];
            default(spec, "replicas", 1.into());
            default(spec, "revisionHistoryLimit", 10.into());
            default(spec, "podManagementPolicy", "OrderedReady".into());
            default(
                spec,
                "updateStrategy",
                json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
            );
            default(
                spec,
                "persistentVolumeClaimRetentionPolicy",
                json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
            );
            template_defaults(&mut spec["template"], "Always");
        }
        "DaemonSet" => {
            let spec = &mut object["spec"];
            default(spec, "revisionHistoryLimit", 10.into());
            default(
                spec,
                "updateStrategy",
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
            );
            template_defaults(&mut spec["template"], "Always");
        }
        "Job" => job_defaults(object),
        "CronJob" => {
            let spec = &mut object["spec"];
            default(spec, "concurrencyPolicy", "Allow".into());
            default(spec, "suspend", false.into());
            default(spec, "successfulJobsHistoryLimit", 3.into());
            default(spec, "failedJobsHistoryLimit", 1.into());
        }
        "Pod" => pod_defaults(&mut object["spec"], "Always"),
        "Service" => service_defaults(object),
        "Secret" => default(object, "type", "Opaque".into()),
        "Namespace" => {
            let name = crate::meta::name(object).to_owned();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
        }
        "ClusterRoleBinding" | "RoleBinding" => {
            for subject in items_mut(object, "subjects") {
                if matches!(subject["kind"].as_str(), Some("User" | "Group")) {
                    default(subject, "apiGroup", "rbac.authorization.k8s.io".into());
                }
            }
        }
        _ => {}
    }
}

fn job_defaults(object: &mut Value) {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let name = crate::meta::name(object).to_owned();
    let spec = &mut object["spec"];
    default(spec, "parallelism", 1.into());
    default(spec, "completions", 1.into());
    default(spec, "backoffLimit", 6.into());
    default(spec, "completionMode", "NonIndexed".into());
    default(spec, "suspend", false.into());
    default(spec, "manualSelector", false.into());
    default(spec, "podReplacementPolicy", "TerminatingOrFailed".into());
    if spec["manualSelector"] != Value::Bool(true) && !uid.is_empty() {
        let labels = json!({
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": name,
            "controller-uid": uid,
            "job-name": name,
        });
        if spec["selector"].get("matchLabels").is_none() {
            spec["selector"] = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
        }
        if !spec["template"]["metadata"]["labels"].is_object() {
            spec["template"]["metadata"]["labels"] = json!({});
        }
        for (key, value) in labels.as_object().into_iter().flatten() {
            spec["template"]["metadata"]["labels"][key] = value.clone();
        }
    }
    template_defaults(&mut spec["template"], "Always");
}

fn service_defaults(object: &mut Value) {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let spec = &mut object["spec"];
    if !spec.is_object() {
        *spec = json!({});
    }
    default(spec, "type", "ClusterIP".into());
    default(spec, "sessionAffinity", "None".into());
    for port in items_mut(spec, "ports") {
        default(port, "protocol", "TCP".into());
        let number = port["port"].clone();
        default(port, "targetPort", number);
    }
    if spec["type"] != "ExternalName" {
        default(spec, "internalTrafficPolicy", "Cluster".into());
        default(spec, "ipFamilies", json!(["IPv4"]));
        default(spec, "ipFamilyPolicy", "SingleStack".into());
        if spec.get("clusterIP").is_none_or(|ip| ip.is_null() || ip == "") && !uid.is_empty() {
            // An address that depends on the object alone, so that runs repeat.
            let sum = uid
                .bytes()
                .fold(7_u32, |h, b| h.wrapping_mul(31).wrapping_add(u32::from(b)));
            spec["clusterIP"] = format!("10.96.{}.{}", (sum >> 8) % 256, sum % 254 + 1).into();
        }
        if let Some(ip) = spec.get("clusterIP").filter(|ip| ip.is_string()).cloned() {
            default(spec, "clusterIPs", json!([ip]));
        }
    }
}

fn template_defaults(template: &mut Value, restart_policy: &str) {
    if !template.is_object() {
        *template = json!({});
    }
    pod_defaults(&mut template["spec"], restart_policy);
}

fn pod_defaults(spec: &mut Value, restart_policy: &str) {
    if !spec.is_object() {
        *spec = json!({});
    }
    default(spec, "restartPolicy", restart_policy.into());
    default(spec, "dnsPolicy", "ClusterFirst".into());
    default(spec, "schedulerName", "default-scheduler".into());
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30.into());
    if let Some(account) = spec.get("serviceAccountName").filter(|a| a.is_string()).cloned() {
        default(spec, "serviceAccount", account);
    }
    for list in ["containers", "initContainers"] {
        for container in items_mut(spec, list) {
            default(container, "terminationMessagePath", "/dev/termination-log".into());
            default(container, "terminationMessagePolicy", "File".into());
            default(container, "resources", json!({}));
            let image = container["image"].as_str().unwrap_or_default();
            let latest =
                image.ends_with(":latest") || !image.rsplit('/').next().unwrap_or_default().contains([':', '@']);
            default(
                container,
                "imagePullPolicy",
                if latest { "Always" } else { "IfNotPresent" }.into(),
            );
            for port in items_mut(container, "ports") {
                default(port, "protocol", "TCP".into());
            }
            for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
                if let Some(probe) = container.get_mut(probe).filter(|p| p.is_object()) {
                    default(probe, "timeoutSeconds", 1.into());
                    default(probe, "periodSeconds", 10.into());
                    default(probe, "successThreshold", 1.into());
                    default(probe, "failureThreshold", 3.into());
                    if let Some(get) = probe.get_mut("httpGet").filter(|g| g.is_object()) {
                        default(get, "path", "/".into());
                        default(get, "scheme", "HTTP".into());
                    }
                }
            }
        }
    }
    for volume in items_mut(spec, "volumes") {
        for source in ["secret", "configMap", "projected"] {
            if let Some(source) = volume.get_mut(source).filter(|s| s.is_object()) {
                default(source, "defaultMode", 420.into());
            }
        }
    }
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
        return;
    }
    let labels = &spec["template"]["metadata"]["labels"];
    if selector.into_iter().flatten().any(|(k, v)| labels.get(k) != Some(v)) {
        errors.push(FieldError::invalid(
            "spec.template.metadata.labels",
            if labels.is_null() { json!({}) } else { labels.clone() },
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
