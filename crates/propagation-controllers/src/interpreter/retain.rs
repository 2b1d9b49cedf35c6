//! What of an object belongs to the member and is taken over before the object is written there.

use api_types::names::label;
use serde_json::Value;

use super::gvk;
use crate::json::{list, pointer_key, set, some_text, text};

/// The type of Secrets that a member fills with a token of its own.
pub const SERVICE_ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";

pub(super) fn retain(desired: &mut Value, observed: &Value) {
    match gvk(desired) {
        ("apps/v1", "Deployment") => {
            let wanted = format!("/metadata/labels/{}", pointer_key(label::RETAIN_REPLICAS));
            if text(desired, &wanted) == "true" {
                keep(desired, observed, &["spec", "replicas"]);
            }
        }
        ("batch/v1", "Job") => retain_job(desired, observed),
        ("v1", "Service") => retain_service(desired, observed),
        ("v1", "ServiceAccount") => retain_account(desired, observed),
        ("v1", "PersistentVolumeClaim") => {
            keep(desired, observed, &["spec", "volumeName"]);
            keep_if_open(desired, observed, &["spec", "storageClassName"]);
        }
        ("v1", "PersistentVolume") => keep(desired, observed, &["spec", "claimRef"]),
        ("v1", "Pod") => {
            for field in [
                "nodeName",
                "serviceAccountName",
                "serviceAccount",
                "volumes",
                "tolerations",
                "priority",
            ] {
                keep(desired, observed, &["spec", field]);
            }
            for field in ["priorityClassName", "imagePullSecrets"] {
                keep_if_open(desired, observed, &["spec", field]);
            }
            for containers in ["/spec/containers", "/spec/initContainers"] {
                retain_of_containers(desired, observed, containers);
            }
        }
        ("networking.k8s.io/v1", "Ingress") if !names_its_class(desired) => {
            keep_if_open(desired, observed, &["spec", "ingressClassName"]);
        }
        ("v1", "Secret") if text(desired, "/type") == SERVICE_ACCOUNT_TOKEN => {
            keep(desired, observed, &["data"]);
            keep(
                desired,
                observed,
                &["metadata", "annotations", "kubernetes.io/service-account.uid"],
            );
        }
        _ => {}
    }
}

/// Takes the member's value, if it has one.
fn keep(desired: &mut Value, observed: &Value, keys: &[&str]) {
    let pointer: String = keys.iter().map(|key| format!("/{}", pointer_key(key))).collect();
    if let Some(value) = observed.pointer(&pointer).filter(|value| !value.is_null()) {
        set(desired, keys, value.clone());
    }
}

/// The same for what the template leaves open, and the member's admission chose when the object came. It does not choose
/// again when the object is replaced: without this its choice would be lost, or asked to be changed where nobody may.
fn keep_if_open(desired: &mut Value, observed: &Value, keys: &[&str]) {
    let pointer: String = keys.iter().map(|key| format!("/{}", pointer_key(key))).collect();
    if desired.pointer(&pointer).is_none_or(Value::is_null) {
        keep(desired, observed, keys);
    }
}

/// In the old way, which stands for the field.
fn names_its_class(ingress: &Value) -> bool {
    let class = format!("/metadata/annotations/{}", pointer_key("kubernetes.io/ingress.class"));
    some_text(ingress, &class).is_some()
}

/// The volumes of the account's token are mounted by the member, and its limit ranges say what a container asks for that
/// says nothing itself.
fn retain_of_containers(desired: &mut Value, observed: &Value, containers: &str) {
    let there = list(observed, containers);
    let wanted = desired.pointer_mut(containers).and_then(Value::as_array_mut);
    for container in wanted.into_iter().flatten() {
        let same = there
            .iter()
            .find(|other| text(other, "/name") == text(container, "/name"));
        if let Some(other) = same {
            keep(container, other, &["volumeMounts"]);
            for amounts in ["requests", "limits"] {
                let chosen = other
                    .pointer(&format!("/resources/{amounts}"))
                    .and_then(Value::as_object);
                for resource in chosen.into_iter().flat_map(serde_json::Map::keys) {
                    keep_if_open(container, other, &["resources", amounts, resource]);
                }
            }
        }
    }
}

/// Secrets that the member's token controller added stay beside those of the template.
fn retain_account(desired: &mut Value, observed: &Value) {
    let mut secrets = list(desired, "/secrets").to_vec();
    let added = list(observed, "/secrets")
        .iter()
        .filter(|secret| !secrets.iter().any(|own| text(own, "/name") == text(secret, "/name")))
        .cloned()
        .collect::<Vec<_>>();
    if !added.is_empty() {
        secrets.extend(added);
        set(desired, &["secrets"], Value::Array(secrets));
    }
}

/// The member's Job controller made the selector and the labels it selects by.
fn retain_job(desired: &mut Value, observed: &Value) {
    if desired.pointer("/spec/manualSelector").and_then(Value::as_bool) == Some(true) {
        return;
    }
    keep(desired, observed, &["spec", "selector"]);
    keep(desired, observed, &["spec", "template", "metadata", "labels"]);
}

/// Addresses and ports that the member chose; they cannot be changed, or clients would lose them.
fn retain_service(desired: &mut Value, observed: &Value) {
    if text(desired, "/spec/clusterIP") != "None" {
        keep(desired, observed, &["spec", "clusterIP"]);
        keep(desired, observed, &["spec", "clusterIPs"]);
    }
    for field in [
        "healthCheckNodePort",
        "ipFamilies",
        "ipFamilyPolicy",
        "loadBalancerClass",
    ] {
        if desired.pointer(&format!("/spec/{field}")).is_none() {
            keep(desired, observed, &["spec", field]);
        }
    }
    if !matches!(text(desired, "/spec/type"), "NodePort" | "LoadBalancer") {
        return;
    }
    let chosen = list(observed, "/spec/ports").to_vec();
    let ports = desired.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let same = |other: &&Value| other.get("port") == port.get("port") && protocol(other) == protocol(port);
        let node_port = chosen.iter().find(same).and_then(|other| other.get("nodePort"));
        if let (None, Some(node_port)) = (port.get("nodePort"), node_port) {
            set(port, &["nodePort"], node_port.clone());
        }
    }
}

fn protocol(port: &Value) -> &str {
    some_text(port, "/protocol").unwrap_or("TCP")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::replicas_follow_the_template("apps/v1", "Deployment", json!({"spec": {"replicas": 1}}), json!({"spec": {"replicas": 5}}), json!({"spec": {"replicas": 1}}))]
    #[case::replicas_of_the_member("apps/v1", "Deployment",
        json!({"metadata": {"labels": {"resourcetemplate.karmada.io/retain-replicas": "true"}}, "spec": {"replicas": 1}}),
        json!({"spec": {"replicas": 5}}),
        json!({"metadata": {"labels": {"resourcetemplate.karmada.io/retain-replicas": "true"}}, "spec": {"replicas": 5}}))]
    #[case::job("batch/v1", "Job", json!({"spec": {"template": {"spec": {}}}}),
        json!({"spec": {"selector": {"matchLabels": {"u": "1"}}, "template": {"metadata": {"labels": {"u": "1"}}}}}),
        json!({"spec": {"selector": {"matchLabels": {"u": "1"}}, "template": {"spec": {}, "metadata": {"labels": {"u": "1"}}}}}))]
    #[case::service("v1", "Service", json!({"spec": {"type": "NodePort", "ports": [{"port": 80}, {"port": 81, "nodePort": 30081}]}}),
        json!({"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 81, "nodePort": 31000}]}}),
        json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "nodePort": 30080}, {"port": 81, "nodePort": 30081}]}}))]
    #[case::headless("v1", "Service", json!({"spec": {"clusterIP": "None"}}), json!({"spec": {"clusterIP": "10.0.0.1"}}), json!({"spec": {"clusterIP": "None"}}))]
    #[case::token("v1", "Secret", json!({"type": SERVICE_ACCOUNT_TOKEN}), json!({"data": {"token": "eA=="}}),
        json!({"type": SERVICE_ACCOUNT_TOKEN, "data": {"token": "eA=="}}))]
    #[case::secret("v1", "Secret", json!({"data": {"a": "MQ=="}}), json!({"data": {"b": "Mg=="}}), json!({"data": {"a": "MQ=="}}))]
    #[case::claim("v1", "PersistentVolumeClaim", json!({"spec": {}}), json!({"spec": {"volumeName": "v"}}), json!({"spec": {"volumeName": "v"}}))]
    #[case::class_of_the_members_choice("v1", "PersistentVolumeClaim", json!({"spec": {}}), json!({"spec": {"storageClassName": "fast"}}), json!({"spec": {"storageClassName": "fast"}}))]
    #[case::class_of_the_template("v1", "PersistentVolumeClaim", json!({"spec": {"storageClassName": ""}}), json!({"spec": {"storageClassName": "fast"}}), json!({"spec": {"storageClassName": ""}}))]
    #[case::ingress_class("networking.k8s.io/v1", "Ingress", json!({"spec": {}}), json!({"spec": {"ingressClassName": "edge"}}), json!({"spec": {"ingressClassName": "edge"}}))]
    #[case::ingress_class_of_the_template("networking.k8s.io/v1", "Ingress", json!({"spec": {"ingressClassName": "own"}}), json!({"spec": {"ingressClassName": "edge"}}), json!({"spec": {"ingressClassName": "own"}}))]
    #[case::ingress_class_by_annotation("networking.k8s.io/v1", "Ingress",
        json!({"metadata": {"annotations": {"kubernetes.io/ingress.class": "own"}}, "spec": {}}), json!({"spec": {"ingressClassName": "edge"}}),
        json!({"metadata": {"annotations": {"kubernetes.io/ingress.class": "own"}}, "spec": {}}))]
    #[case::pod_of_a_limited_namespace("v1", "Pod",
        json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}),
        json!({"spec": {"priorityClassName": "usual", "imagePullSecrets": [{"name": "r"}],
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "4"}}}]}}),
        json!({"spec": {"priorityClassName": "usual", "imagePullSecrets": [{"name": "r"}],
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "4"}}}]}}))]
    #[case::account_with_secrets_of_its_own("v1", "ServiceAccount", json!({"secrets": [{"name": "mine"}]}), json!({"secrets": [{"name": "mine"}, {"name": "t"}]}),
        json!({"secrets": [{"name": "mine"}, {"name": "t"}]}))]
    #[case::volume("v1", "PersistentVolume", json!({"spec": {}}), json!({"spec": {"claimRef": {"name": "c"}}}), json!({"spec": {"claimRef": {"name": "c"}}}))]
    #[case::pod("v1", "Pod",
        json!({"spec": {"containers": [{"name": "c", "image": "new"}, {"name": "d"}], "initContainers": [{"name": "i"}]}}),
        json!({"spec": {"nodeName": "n1", "serviceAccountName": "default", "volumes": [{"name": "token"}], "priority": 0,
            "containers": [{"name": "c", "image": "old", "volumeMounts": [{"name": "token"}]}],
            "initContainers": [{"name": "i", "volumeMounts": [{"name": "token"}]}]}}),
        json!({"spec": {"nodeName": "n1", "serviceAccountName": "default", "volumes": [{"name": "token"}], "priority": 0,
            "containers": [{"name": "c", "image": "new", "volumeMounts": [{"name": "token"}]}, {"name": "d"}],
            "initContainers": [{"name": "i", "volumeMounts": [{"name": "token"}]}]}}))]
    #[case::other_kinds("example.com/v1", "Widget", json!({"spec": {"a": 1}}), json!({"spec": {"a": 2, "b": 3}}), json!({"spec": {"a": 1}}))]
    #[case::account("v1", "ServiceAccount", json!({}), json!({"secrets": [{"name": "t"}]}), json!({"secrets": [{"name": "t"}]}))]
    fn what_belongs_to_the_member_stays(
        #[case] version: &str,
        #[case] kind: &str,
        #[case] mut desired: Value,
        #[case] observed: Value,
        #[case] mut wanted: Value,
    ) {
        for object in [&mut desired, &mut wanted] {
            object["apiVersion"] = json!(version);
            object["kind"] = json!(kind);
        }
        retain(&mut desired, &observed);
        assert_eq!(desired, wanted);
    }
}
