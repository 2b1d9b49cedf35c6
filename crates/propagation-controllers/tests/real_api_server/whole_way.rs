//! The kinds that run something: from the template to pods and back to its status; and what members change is set right.

use serde_json::json;

use crate::identity::{Bound, Id};
use crate::world::{World, condition, config, deployment, pod};

/// The names that the objects of `shop` have, for the ideas that go on with them.
pub fn thing(api_version: &str, kind: &str) -> Bound {
    Bound::of(Id::new(api_version, kind, Some("shop"), "thing"))
}

pub async fn every_kind_goes_its_whole_way(world: &World) {
    let mut once = pod("job", "finish");
    once["spec"]["restartPolicy"] = json!("Never");
    let metadata = json!({"namespace": "shop", "name": "thing"});
    let selector = json!({"matchLabels": {"app": "set"}});
    let kinds = [
        (deployment("shop", "thing", 2), 2),
        (
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata,
                "spec": {"replicas": 1, "serviceName": "x", "selector": selector, "template": pod("set", "nginx")}}),
            1,
        ),
        (
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
                "spec": {"parallelism": 1, "completions": 1, "template": once}}),
            1,
        ),
        (config("shop", "thing", "v"), 0),
        (
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"k": "dg=="}, "type": "Opaque"}),
            0,
        ),
        (
            json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata,
                "spec": {"type": "NodePort", "selector": {"a": "b"}, "ports": [{"port": 80}]}}),
            0,
        ),
    ];
    for (template, replicas) in kinds {
        let bound = world.spread(template, json!({})).await;
        world.place(&bound, &[("m1", replicas)]).await;
        world.healthy(&bound, "m1").await;
    }
    let web = thing("apps/v1", "Deployment").template;
    world
        .plane
        .until(&web, "runs twice", |web| web["status"]["availableReplicas"] == 2)
        .await;
    let job = thing("batch/v1", "Job").template;
    world
        .plane
        .until(&job, "is complete", |job| {
            condition(job, "Complete")["status"] == "True"
        })
        .await;
    let namespace = world.m1.get(&Id::namespace("shop")).await.unwrap();
    assert_eq!(namespace["metadata"]["labels"]["karmada.io/managed"], "true");
    what_the_member_changes_is_put_right(world).await;
}

async fn what_the_member_changes_is_put_right(world: &World) {
    let [service, config, web] = [
        thing("v1", "Service").template,
        thing("v1", "ConfigMap").template,
        thing("apps/v1", "Deployment").template,
    ];
    let before = world.m1.get(&service).await.unwrap();
    world
        .m1
        .merge(&service, json!({"spec": {"selector": {"a": "c"}}}))
        .await;
    world.m1.merge(&config, json!({"data": {"added": "1"}})).await;
    world.m1.merge(&web, json!({"spec": {"replicas": 5}})).await;
    world
        .m1
        .until(&service, "is as it was", |service| service["spec"] == before["spec"])
        .await;
    world
        .m1
        .until(&config, "is as it was", |config| config["data"] == json!({"k": "v"}))
        .await;
    world
        .m1
        .until(&web, "is as it was", |web| web["spec"]["replicas"] == 2)
        .await;
}
