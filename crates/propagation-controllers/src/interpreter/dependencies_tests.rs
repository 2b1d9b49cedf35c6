use rstest::rstest;
use serde_json::json;

use super::*;

/// `Kind/name` of each, in order.
fn named(template: &Value) -> Vec<String> {
    let found = dependencies(template).unwrap();
    assert!(found.iter().all(|object| object.namespace == "shop"), "{found:?}");
    let words = |object: &DependentObject| format!("{}/{}", object.kind, object.name.as_deref().unwrap_or("*"));
    found.iter().map(words).collect()
}

fn object(api_version: &str, kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": "shop", "name": "a"}, "spec": spec})
}

fn pod() -> Value {
    json!({
        "serviceAccountName": "robot",
        "imagePullSecrets": [{"name": "registry"}, {"name": ""}],
        "initContainers": [{"name": "i", "envFrom": [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "keys"}}]}],
        "containers": [{"name": "c", "image": "x", "env": [
            {"name": "PLAIN", "value": "1"},
            {"name": "A", "valueFrom": {"secretKeyRef": {"name": "password", "key": "k"}}},
            {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "k", "optional": true}}},
            {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}],
        "ephemeralContainers": [{"name": "e", "envFrom": [{"secretRef": {"name": "debug"}}]}],
        "volumes": [
            {"name": "v1", "secret": {"secretName": "volume-secret"}},
            {"name": "v2", "configMap": {"name": "volume-map"}},
            {"name": "v3", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "v4", "projected": {"sources": [{"secret": {"name": "projected-secret"}}, {"configMap": {"name": "projected-map"}},
                {"serviceAccountToken": {"path": "t"}}]}},
            {"name": "v5", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "csi-secret"}}},
            {"name": "v6", "azureFile": {"secretName": "azure", "shareName": "s"}},
            {"name": "v7", "cephfs": {"monitors": [], "secretRef": {"name": "ceph"}}},
            {"name": "v8", "emptyDir": {}}]
    })
}

const OF_POD: [&str; 14] = [
    "ConfigMap/projected-map",
    "ConfigMap/settings",
    "ConfigMap/volume-map",
    "PersistentVolumeClaim/data",
    "Secret/azure",
    "Secret/ceph",
    "Secret/csi-secret",
    "Secret/debug",
    "Secret/keys",
    "Secret/password",
    "Secret/projected-secret",
    "Secret/registry",
    "Secret/volume-secret",
    "ServiceAccount/robot",
];

#[rstest]
#[case("apps/v1", "Deployment", json!({"template": {"spec": pod()}}))]
#[case("apps/v1", "ReplicaSet", json!({"template": {"spec": pod()}}))]
#[case("apps/v1", "DaemonSet", json!({"template": {"spec": pod()}}))]
#[case("apps/v1", "StatefulSet", json!({"template": {"spec": pod()}}))]
#[case("batch/v1", "Job", json!({"template": {"spec": pod()}}))]
#[case("batch/v1", "CronJob", json!({"jobTemplate": {"spec": {"template": {"spec": pod()}}}}))]
#[case("v1", "Pod", pod())]
fn all_that_pods_name(#[case] api_version: &str, #[case] kind: &str, #[case] spec: Value) {
    assert_eq!(named(&object(api_version, kind, &spec)), OF_POD);
}

#[rstest]
#[case::default_account(json!({"serviceAccountName": "default"}), &[])]
#[case::old_spelling(json!({"serviceAccount": "robot"}), &["ServiceAccount/robot"])]
#[case::nothing(json!({"containers": [{"name": "c"}]}), &[])]
fn accounts(#[case] pod: Value, #[case] wanted: &[&str]) {
    assert_eq!(
        named(&object("apps/v1", "Deployment", &json!({"template": {"spec": pod}}))),
        wanted
    );
}

#[test]
fn claims_that_a_stateful_set_makes_by_itself_are_no_dependency() {
    let volume = |name: &str, claim: &str| json!({"name": name, "persistentVolumeClaim": {"claimName": claim}});
    let spec = json!({
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        "template": {"spec": {"volumes": [volume("data", "data"), volume("shared", "all-share-it")]}}});
    assert_eq!(
        named(&object("apps/v1", "StatefulSet", &spec)),
        ["PersistentVolumeClaim/all-share-it"]
    );
}

#[test]
fn certificates_of_an_ingress() {
    let spec = json!({"tls": [{"hosts": ["a"], "secretName": "one"}, {"hosts": ["b"]}, {"secretName": "one"}]});
    assert_eq!(named(&object("networking.k8s.io/v1", "Ingress", &spec)), ["Secret/one"]);
}

#[test]
fn an_imported_service_needs_its_stand_in_and_the_addresses() {
    let import = object("multicluster.x-k8s.io/v1alpha1", "ServiceImport", &json!({}));
    assert_eq!(named(&import), ["Service/derived-a", "EndpointSlice/*"]);
    let slices = serde_json::to_value(&dependencies(&import).unwrap()[1]).unwrap();
    assert_eq!(
        slices,
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "namespace": "shop",
            "labelSelector": {"matchLabels": {"kubernetes.io/service-name": "derived-a"}}})
    );
}

// C112 (karmada#6600): what cannot be read is no empty list.
#[test]
fn a_pod_that_cannot_be_read_is_an_error() {
    let broken = object(
        "apps/v1",
        "Deployment",
        &json!({"template": {"spec": {"volumes": "many"}}}),
    );
    let error = dependencies(&broken).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot find the dependencies of Deployment shop/a: /spec/template/spec: "),
        "{error}"
    );
}

#[test]
fn other_kinds_need_nothing() {
    assert_eq!(named(&object("v1", "ConfigMap", &json!({}))), [""; 0]);
}
