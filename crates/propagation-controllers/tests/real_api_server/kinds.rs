//! Kinds that Kubernetes has and that run nothing by themselves here: each arrives as a real API server completes it, and
//! a new version of the template follows, which an API server may take for a change of what cannot be changed.

use serde_json::{Value, json};

use crate::identity::Id;
use crate::world::{World, merge_into, pod};

/// Templates of all these kinds, without names.
fn templates() -> Vec<(&'static str, &'static str, Value)> {
    let labels = json!({"matchLabels": {"app": "nobody"}});
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let subjects = json!([{"kind": "User", "name": "jane"}]);
    let mut once = pod("nobody", "nginx");
    once["spec"]["restartPolicy"] = json!("Never");
    let role = |kind: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "thing"});
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let provisioner = "example.io/none";
    vec![
        ("v1", "Pod", json!({"spec": pod("nobody", "nginx")["spec"]})),
        ("v1", "ServiceAccount", json!({})),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({"spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}}),
        ),
        (
            "v1",
            "LimitRange",
            json!({"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "9Gi"}}]}}),
        ),
        (
            "v1",
            "ResourceQuota",
            json!({"spec": {"hard": {"count/widgets.example.io": "5"}}}),
        ),
        (
            "v1",
            "ReplicationController",
            json!({"spec": {"replicas": 0, "selector": {"app": "nobody"},
            "template": pod("nobody", "nginx")}}),
        ),
        (
            "v1",
            "PersistentVolume",
            json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"}}}),
        ),
        (
            "apps/v1",
            "ReplicaSet",
            json!({"spec": {"replicas": 0, "selector": labels, "template": pod("nobody", "nginx")}}),
        ),
        (
            "apps/v1",
            "DaemonSet",
            json!({"spec": {"selector": labels, "template": pod("nobody", "nginx")}}),
        ),
        (
            "batch/v1",
            "CronJob",
            json!({"spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": once}}}}),
        ),
        (
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"spec": {"maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nobody"}}}),
        ),
        (
            "policy/v1",
            "PodDisruptionBudget",
            json!({"spec": {"minAvailable": 1, "selector": labels}}),
        ),
        (
            "networking.k8s.io/v1",
            "Ingress",
            json!({"spec": {"defaultBackend": backend}}),
        ),
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({"spec": {"podSelector": {}, "ingress": [{}]}}),
        ),
        (
            "networking.k8s.io/v1",
            "IngressClass",
            json!({"spec": {"controller": provisioner}}),
        ),
        ("rbac.authorization.k8s.io/v1", "Role", json!({"rules": rules})),
        (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            json!({"roleRef": role("Role"), "subjects": subjects}),
        ),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", json!({"rules": rules})),
        (
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            json!({"roleRef": role("ClusterRole"), "subjects": subjects}),
        ),
        ("scheduling.k8s.io/v1", "PriorityClass", json!({"value": 7})),
        ("storage.k8s.io/v1", "StorageClass", json!({"provisioner": provisioner})),
        ("node.k8s.io/v1", "RuntimeClass", json!({"handler": "none"})),
    ]
}

const OF_CLUSTERS: [&str; 7] = [
    "PersistentVolume",
    "IngressClass",
    "ClusterRole",
    "ClusterRoleBinding",
    "PriorityClass",
    "StorageClass",
    "RuntimeClass",
];

/// All of them, with what other ideas use.
pub fn all() -> Vec<(String, String)> {
    let own = [("v1", "ConfigMap"), ("v1", "Service"), ("v1", "Namespace")];
    let of_templates = templates();
    let of_templates = of_templates.iter().map(|(version, kind, _)| (*version, *kind));
    own.into_iter()
        .chain(of_templates)
        .map(|(version, kind)| (version.to_owned(), kind.to_owned()))
        .collect()
}

pub async fn every_native_kind_arrives_and_follows(world: &World) {
    world.m1.until(&Id::namespace("kinds"), "is there", |_| true).await;
    let mut all = Vec::new();
    for (api_version, kind, fields) in templates() {
        let mut template = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "thing"}});
        if !OF_CLUSTERS.contains(&kind) {
            template["metadata"]["namespace"] = json!("kinds");
        }
        merge_into(&mut template, &fields);
        let bound = world.spread(template, json!({})).await;
        let binding = world.plane.until(&bound.binding, "is there", |_| true).await;
        let replicas = binding["spec"]["replicas"].as_i64().unwrap_or(0);
        world.place(&bound, &[("m1", i32::try_from(replicas).unwrap())]).await;
        all.push(bound);
    }
    for bound in &all {
        world.applied(bound, "m1").await;
        world
            .plane
            .merge(&bound.template, json!({"metadata": {"labels": {"version": "2"}}}))
            .await;
    }
    for bound in &all {
        let follows = |copy: &Value| copy["metadata"]["labels"]["version"] == "2";
        world.m1.until(&bound.template, "follows", follows).await;
        world.applied(bound, "m1").await;
    }
    // Also what is of no namespace goes with its template.
    for bound in all
        .iter()
        .filter(|bound| bound.template.namespace.is_none() && bound.template.kind != "PersistentVolume")
    {
        world.withdraw(bound).await;
        assert!(!world.m1.has(&bound.template).await, "{}", bound.template);
    }
}
