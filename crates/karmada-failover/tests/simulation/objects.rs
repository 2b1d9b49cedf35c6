//! The objects of a plan.

use karmada_failover::story::scenario::{Action, ObjectName};
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

/// The label by which policies choose a member.
pub fn group(member: &str, group: &str) -> Action {
    Action::Patch {
        object: ObjectName::cluster(member),
        patch: json!({"metadata": {"labels": {"group": group}}}),
    }
}

/// A person's taint.
pub fn taint(member: &str, key: &str, effect: &str, time_added: Option<String>) -> Action {
    Action::Taint {
        cluster: member.to_owned(),
        key: key.to_owned(),
        value: "by-hand".to_owned(),
        effect: effect.to_owned(),
        time_added,
    }
}

/// A person's pause.
pub fn pause(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause",
        "metadata": {"name": name}, "spec": spec,
    })
}

/// The pause of this name.
pub fn pause_named(name: &str) -> ObjectName {
    named("failover.karmada.io/v1alpha1", "FailoverPause", None, name)
}

/// An object by its name.
pub fn named(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> ObjectName {
    ObjectName {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    }
}
