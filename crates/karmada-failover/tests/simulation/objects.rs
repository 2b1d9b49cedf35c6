//! The objects of a plan.

use serde_json::{Value, json};

use crate::plan::{Kind, Workload};

/// Where the workloads are.
pub const NAMESPACE: &str = "shop";

/// The template.
pub fn template(workload: &Workload) -> Value {
    let metadata = json!({"namespace": NAMESPACE, "name": workload.name, "labels": {"app": workload.name}});
    let (api_version, kind) = (workload.kind.api_version(), workload.kind.name());
    match workload.kind {
        Kind::ConfigMap => json!({
            "apiVersion": api_version, "kind": kind, "metadata": metadata,
            "data": {"replicas": workload.replicas.to_string()},
        }),
        Kind::Deployment | Kind::StatefulSet => json!({
            "apiVersion": api_version, "kind": kind, "metadata": metadata,
            "spec": {
                "replicas": workload.replicas,
                "serviceName": "app",
                "selector": {"matchLabels": {"app": workload.name}},
                "template": {
                    "metadata": {"labels": {"app": workload.name}},
                    "spec": {"containers": [{"name": "app", "image": "app"}]},
                },
            },
        }),
    }
}

/// The policy.
pub fn policy(workload: &Workload) -> Value {
    let mut policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": NAMESPACE, "name": workload.name},
        "spec": {
            "resourceSelectors": [{
                "apiVersion": workload.kind.api_version(), "kind": workload.kind.name(), "name": workload.name,
            }],
            "placement": workload.placement,
        },
    });
    if let Some(failover) = &workload.failover {
        policy["spec"]["failover"] = failover.clone();
    }
    policy
}
