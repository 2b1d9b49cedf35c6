//! Clusters and bindings, and what becomes of them.

use api_types::cluster::Cluster;
use api_types::work::{Binding, TargetCluster};
use scheduler_filters::schedule::StartFrom;
use scheduler_filters::{Decision, Failure, Fleet, Plugins, Rules, Scheduling, schedule};
use serde_json::{Value, json};

/// The time of every test.
pub fn now() -> jiff::Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// A cluster that is Ready and serves Deployments and ConfigMaps, with `more` merged over it.
pub fn cluster(name: &str, more: &Value) -> Cluster {
    let mut object = json!({
        "metadata": { "name": name },
        "spec": { "syncMode": "Push" },
        "status": {
            "apiEnablements": [
                { "groupVersion": "apps/v1", "resources": [{ "name": "deployments", "kind": "Deployment" }] },
                { "groupVersion": "v1", "resources": [{ "name": "configmaps", "kind": "ConfigMap" }] },
            ],
            "conditions": ready("True"),
        },
    });
    merge(&mut object, more);
    serde_json::from_value(object).unwrap()
}

pub fn ready(status: &str) -> Value {
    json!([{
        "type": "Ready", "status": status, "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }])
}

/// `more` for a cluster that is not Ready.
pub fn not_ready() -> Value {
    json!({ "status": { "conditions": ready("False") } })
}

/// `more` for a cluster with one taint, added now.
pub fn tainted(key: &str, effect: &str) -> Value {
    json!({ "spec": { "taints": [{ "key": key, "effect": effect, "timeAdded": "2026-01-01T12:00:00Z" }] } })
}

/// `more` for a cluster that says that it has room for so many pods.
pub fn room(pods: i64) -> Value {
    json!({ "status": { "resourceSummary": { "allocatable": { "pods": pods.to_string() } } } })
}

/// `more` for a cluster in a region.
pub fn region(name: &str) -> Value {
    json!({ "spec": { "region": name } })
}

/// Both.
pub fn and(mut one: Value, other: &Value) -> Value {
    merge(&mut one, other);
    one
}

/// A binding of a Deployment of so many replicas on these clusters.
pub fn deployment(replicas: i32, placement: &Value, on: &[(&str, i32)]) -> Binding {
    let mut binding: Binding = serde_json::from_value(json!({
        "metadata": { "namespace": "default", "name": "nginx-deployment", "generation": 1 },
        "spec": {
            "resource": { "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx", "uid": "a" },
            "replicas": replicas, "replicaRequirements": {}, "placement": placement,
        },
    }))
    .unwrap();
    binding.spec.clusters = targets(on);
    binding
}

pub fn targets(on: &[(&str, i32)]) -> Vec<TargetCluster> {
    let each = on.iter();
    each.map(|(name, replicas)| TargetCluster {
        name: (*name).to_owned(),
        replicas: *replicas,
        ..TargetCluster::default()
    })
    .collect()
}

/// `binding` after the evictor took it off `cluster`.
pub fn evicted(mut binding: Binding, cluster: &str) -> Binding {
    binding.spec.clusters.retain(|target| target.name != cluster);
    let task = json!({"fromCluster": cluster, "reason": "TaintUntolerated", "producer": "TaintManager"});
    let task = serde_json::from_value(task).unwrap();
    binding.spec.graceful_eviction_tasks.push(task);
    binding
}

pub fn duplicated() -> Value {
    json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}})
}

pub fn aggregated() -> Value {
    json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}})
}

pub fn dynamic_weight() -> Value {
    json!({"replicaScheduling": {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }})
}

pub fn static_weights(weights: &[(&str, i64)]) -> Value {
    let rules = weights
        .iter()
        .map(|(name, weight)| json!({"targetCluster": {"clusterNames": [name]}, "weight": weight}));
    json!({"replicaScheduling": {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": rules.collect::<Vec<_>>()},
    }})
}

/// The placement with spread constraints: field, minGroups, maxGroups.
pub fn spread(mut placement: Value, constraints: &[(&str, i64, i64)]) -> Value {
    let each = constraints
        .iter()
        .map(|(field, min, max)| json!({"spreadByField": field, "minGroups": min, "maxGroups": max}));
    placement["spreadConstraints"] = each.collect();
    placement
}

pub fn placed(binding: &Binding, clusters: &[Cluster], start: StartFrom) -> Result<Decision, Failure> {
    let fleet: Fleet = clusters.iter().cloned().collect();
    schedule(&Scheduling {
        binding,
        fleet: &fleet,
        plugins: &Plugins::default(),
        rules: Rules::default(),
        start,
        now: now(),
    })
}

/// `name:replicas`, joined by blanks, or the reason and the message of the failure.
pub fn answer(binding: &Binding, clusters: &[Cluster]) -> String {
    match placed(binding, clusters, StartFrom::GroupInUse) {
        Ok(decision) => shown(&decision.clusters),
        Err(failure) => format!("{}: {failure}", failure.reason()),
    }
}

pub fn shown(clusters: &[TargetCluster]) -> String {
    let each = clusters
        .iter()
        .map(|target| format!("{}:{}", target.name, target.replicas));
    each.collect::<Vec<_>>().join(" ")
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
