//! The defaults of built-in kinds, after the `SetDefaults_…` functions of Kubernetes.

use serde_json::{Value, json};

use crate::registry::ResourceDef;

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
    condition_times(def, object);
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
            template_defaults(&mut spec["jobTemplate"]["spec"]["template"], "Always");
        }
        "Pod" => {
            pod_defaults(&mut object["spec"], "Always");
            default(&mut object["spec"], "enableServiceLinks", true.into());
        }
        "Service" => service_defaults(object),
        "ConfigMap" => drop_empty(object),
        "Secret" => {
            drop_empty(object);
            default(object, "type", "Opaque".into());
        }
        "Node" => {
            let capacity = object["status"].get("capacity").cloned();
            if let Some(capacity) = capacity.filter(Value::is_object) {
                default(&mut object["status"], "allocatable", capacity);
            }
        }
        // These the real server shows even when they are empty.
        "Event" => {
            default(object, "eventTime", Value::Null);
            default(object, "firstTimestamp", Value::Null);
            default(object, "lastTimestamp", Value::Null);
            default(object, "source", json!({}));
            default(object, "reportingComponent", "".into());
            default(object, "reportingInstance", "".into());
        }
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

/// Times that a condition does not say are shown as null.
fn condition_times(def: &ResourceDef, object: &mut Value) {
    let times: &[&str] = match def.kind.as_str() {
        "Deployment" => &["lastTransitionTime", "lastUpdateTime"],
        "ReplicaSet" | "StatefulSet" | "DaemonSet" | "Namespace" => &["lastTransitionTime"],
        "Pod" | "Job" => &["lastProbeTime", "lastTransitionTime"],
        "Node" => &["lastHeartbeatTime", "lastTransitionTime"],
        _ => return,
    };
    let Some(status) = object.get_mut("status") else { return };
    for condition in items_mut(status, "conditions") {
        for time in times {
            default(condition, time, Value::Null);
        }
    }
}

/// Empty maps are not kept.
fn drop_empty(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|key, value| {
            !matches!(key.as_str(), "data" | "binaryData") || value.as_object().is_none_or(|map| !map.is_empty())
        });
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
    let labels = spec["template"]["metadata"]["labels"].clone();
    if labels.is_object() {
        default(&mut object["metadata"], "labels", labels);
    }
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
            for variable in items_mut(container, "env") {
                let field = variable.get_mut("valueFrom").and_then(|from| from.get_mut("fieldRef"));
                if let Some(field) = field.filter(|field| field.is_object()) {
                    default(field, "apiVersion", "v1".into());
                }
            }
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
