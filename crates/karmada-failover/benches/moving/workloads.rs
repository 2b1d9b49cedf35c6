//! The workloads of the benchmarks of moves, and the policy by which each stands on one member, whichever.
#![allow(dead_code, reason = "each benchmark uses its part")]

use serde_json::{Value, json};

/// The fleet.
pub const MEMBERS: [&str; 3] = ["member1", "member2", "member3"];
/// Where the workloads are.
pub const NAMESPACE: &str = "shop";

/// For all workloads of a kind.
pub fn policy(api_version: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": NAMESPACE, "name": "workloads"},
        "spec": {
            "resourceSelectors": [{"apiVersion": api_version, "kind": kind}],
            "placement": {
                "clusterAffinity": {"clusterNames": MEMBERS},
                "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
            },
        },
    })
}

/// One that moves without waiting for anything to start.
#[allow(dead_code, reason = "not every benchmark moves ConfigMaps")]
pub fn config_map(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": NAMESPACE, "name": format!("settings-{number:03}")},
        "data": {"colour": "blue"},
    })
}
