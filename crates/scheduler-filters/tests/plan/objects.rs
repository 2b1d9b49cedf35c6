//! Clusters and bindings.

use api_types::cluster::Cluster;
use api_types::work::Binding;
use serde_json::{Value, json};

/// The time of every test.
pub fn now() -> jiff::Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// A cluster that is Ready and serves Deployments and ConfigMaps, with `more` merged over it.
pub fn cluster(name: &str, more: Value) -> Cluster {
    let mut object = json!({
        "metadata": { "name": name },
        "spec": { "syncMode": "Push" },
        "status": {
            "apiEnablements": [
                { "groupVersion": "apps/v1", "resources": [{ "name": "deployments", "kind": "Deployment" }] },
                { "groupVersion": "v1", "resources": [{ "name": "configmaps", "kind": "ConfigMap" }] },
            ],
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "ClusterReady", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    });
    merge(&mut object, more);
    serde_json::from_value(object).unwrap()
}

/// A binding of a Deployment of 3 replicas, with `spec` merged over it.
pub fn deployment(spec: Value) -> Binding {
    let mut object = json!({
        "metadata": { "namespace": "default", "name": "nginx-deployment", "generation": 1 },
        "spec": {
            "resource": { "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx", "uid": "u" },
            "replicas": 3,
            "replicaRequirements": {},
        },
    });
    merge(&mut object["spec"], spec);
    serde_json::from_value(object).unwrap()
}

/// The placement of the worked example: member1 and member2 with weights 1:2.
pub fn one_to_two() -> Value {
    json!({
        "clusterAffinity": { "clusterNames": ["member1", "member2"] },
        "replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": { "staticWeightList": [
                { "targetCluster": { "clusterNames": ["member1"] }, "weight": 1 },
                { "targetCluster": { "clusterNames": ["member2"] }, "weight": 2 },
            ] },
        },
    })
}

/// Clusters and replicas as `name:replicas`, joined by blanks.
pub fn shown(clusters: &[api_types::work::TargetCluster]) -> String {
    clusters
        .iter()
        .map(|target| format!("{}:{}", target.name, target.replicas))
        .collect::<Vec<_>>()
        .join(" ")
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}
