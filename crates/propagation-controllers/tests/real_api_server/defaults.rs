//! What a member's admission chooses for what a template leaves open. It does so when an object comes, not when it is
//! replaced: a later version of the template must not take it away again.

use serde_json::{Value, json};

use crate::identity::Id;
use crate::world::World;

/// The member's own defaults, of which the control plane knows nothing.
async fn give_m1_its_defaults(world: &World) {
    world
        .m1
        .create(
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.io/disk",
            "metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}),
        )
        .await;
    world
        .m1
        .create(json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "spec": {"controller": "example.io/lb"},
            "metadata": {"name": "edge", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}}))
        .await;
    world.m1.until(&Id::namespace("defaults"), "is there", |_| true).await;
    world
        .m1
        .create(
            json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"namespace": "defaults", "name": "usual"},
            "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1m"}}]}}),
        )
        .await;
}

pub async fn what_a_member_chose_stays(world: &World) {
    give_m1_its_defaults(world).await;
    let metadata = json!({"namespace": "defaults", "name": "open"});
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let cases = [
        (
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
            "/spec/storageClassName",
            json!("fast"),
        ),
        (
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata,
                "spec": {"defaultBackend": backend}}),
            "/spec/ingressClassName",
            json!("edge"),
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
                "spec": {"containers": [{"name": "c", "image": "nginx"}]}}),
            "/spec/containers/0/resources/requests/cpu",
            json!("1m"),
        ),
    ];
    for (template, field, chosen) in cases {
        let bound = world.spread(template, json!({})).await;
        let replicas = i32::from(bound.template.kind == "Pod");
        world.place(&bound, &[("m1", replicas)]).await;
        let has_chosen = |copy: &Value| copy.pointer(field) == Some(&chosen);
        world
            .m1
            .until(&bound.template, &format!("is given {chosen}"), has_chosen)
            .await;
        world.applied(&bound, "m1").await;
        world
            .plane
            .merge(&bound.template, json!({"metadata": {"labels": {"version": "2"}}}))
            .await;
        let copy = world
            .m1
            .until(&bound.template, "follows", |copy| {
                copy["metadata"]["labels"]["version"] == "2"
            })
            .await;
        assert!(has_chosen(&copy), "{copy}");
        world.applied(&bound, "m1").await;
    }
}
