//! What a workload's pods need goes with it: the ConfigMap and the Secret that its pod template names.

use serde_json::json;

use crate::identity::Id;
use crate::world::{World, config, deployment};

pub async fn what_pods_need_goes_along(world: &World) {
    let settings = world.plane.create(config("dependencies", "settings", "v")).await;
    let password = world
        .plane
        .create(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "dependencies", "name": "password"},
            "stringData": {"k": "v"}}),
        )
        .await;
    let needed = [&settings, &password];
    let mut web = deployment("dependencies", "web", 1);
    web["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "configMap": {"name": "settings"}}]);
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = json!([{"secretRef": {"name": "password"}}]);
    let web = world.spread(web, json!({"propagateDeps": true})).await;
    world.place(&web, &[("m1", 1)]).await;
    world.applied(&web, "m1").await;
    for object in needed {
        world.m1.until(object, "goes along", |_| true).await;
        assert!(!world.m2.has(object).await, "{object}");
    }
    world.plane.merge(&settings, json!({"data": {"k": "2"}})).await;
    world
        .m1
        .until(&settings, "follows", |copy| copy["data"]["k"] == "2")
        .await;

    world.place(&web, &[("m2", 1)]).await;
    for object in needed {
        world.m2.until(object, "goes along", |_| true).await;
        world.m1.until_gone(object).await;
    }
    world.withdraw(&web).await;
    for object in needed {
        world.m2.until_gone(object).await;
        world.plane.until_gone(&Id::work("m2", object)).await;
        assert!(world.plane.has(object).await, "the template stays");
    }
}
