//! Objects that scenarios are made of.

use api_types::names::taint;
use serde_json::{Value, json};

/// A Deployment in the namespace `default`, with a label `app` of its name.
#[must_use]
pub fn deployment(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "default", "name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": name, "image": "nginx"}]},
            },
        },
    })
}

/// The same Deployment, each pod of which asks for so many CPUs.
#[must_use]
pub fn asking_for(cpus: u32, mut deployment: Value) -> Value {
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
    container["resources"] = json!({"requests": {"cpu": cpus.to_string()}});
    deployment
}

/// A policy that places the Deployment of this name so.
#[must_use]
pub fn placed_by(deployment: &str, placement: &Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": format!("{deployment}-propagation")},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment}],
            "placement": placement,
        },
    })
}

/// A policy that divides the Deployment of this name over clusters by weight.
#[must_use]
pub fn divided(deployment: &str, weights: &[(&str, i64)]) -> Value {
    let names: Vec<&str> = weights.iter().map(|(cluster, _)| *cluster).collect();
    let weights: Vec<Value> = weights
        .iter()
        .map(|(cluster, weight)| json!({"targetCluster": {"clusterNames": [cluster]}, "weight": weight}))
        .collect();
    let placement = json!({
        "clusterAffinity": {"clusterNames": names},
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": weights},
        },
    });
    placed_by(deployment, &placement)
}

/// A policy that puts the whole Deployment of this name on so many of these clusters.
#[must_use]
pub fn duplicated(deployment: &str, clusters: &[&str], on: usize) -> Value {
    let placement = json!({
        "clusterAffinity": {"clusterNames": clusters},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": on, "maxGroups": on}],
        "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
    });
    placed_by(deployment, &placement)
}

/// The same policy with a word on how its workload moves: `spec.failover`.
#[must_use]
pub fn failing_over(mut policy: Value, failover: Value) -> Value {
    policy["spec"]["failover"] = failover;
    policy
}

/// The same policy for a workload that bears a failed cluster for so many seconds.
#[must_use]
pub fn tolerating(mut policy: Value, seconds: u32) -> Value {
    policy["spec"]["placement"]["clusterTolerations"] = json!([
        {"key": taint::NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds},
    ]);
    policy
}

/// The key of the binding that a Deployment in `default` gets.
#[must_use]
pub fn binding_of(deployment: &str) -> String {
    format!("default/{deployment}-deployment")
}
