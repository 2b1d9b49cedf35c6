//! How a copy leaves a member: what becomes of its Work and of the copy, and when the next one comes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::identity::Bound;
use crate::world::{World, deployment};

/// Two replicas on m1.
async fn on_m1(world: &World, name: &str) -> Bound {
    let web = world.spread(deployment("purge", name, 2), json!({})).await;
    world.place(&web, &[("m1", 2)]).await;
    world.healthy(&web, "m1").await;
    web
}

/// What evictor and scheduler would write: the task and no cluster yet, then the new place.
async fn leaves_m1(world: &World, web: &Bound, mode: &str) {
    let task = json!({"fromCluster": "m1", "purgeMode": mode, "reason": "TaintUntolerated", "producer": "TaintManager",
        "clustersBeforeFailover": ["m1"]});
    world
        .plane
        .merge(
            &web.binding,
            json!({"spec": {"gracefulEvictionTasks": [task], "clusters": []}}),
        )
        .await;
    world.place(web, &[("m2", 2)]).await;
}

fn is_going(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

pub async fn gracefully_the_old_copy_stays(world: &World, mode: &str) {
    let web = on_m1(world, &mode.to_lowercase()).await;
    leaves_m1(world, &web, mode).await;
    world.healthy(&web, "m2").await;
    for (server, object) in [(&world.plane, web.work("m1")), (&world.m1, web.template.clone())] {
        let there = server.get(&object).await.unwrap();
        assert!(!is_going(&there), "{object} stays until the task is done");
    }
    world.healthy(&web, "m1").await;
    // The task is done.
    world
        .plane
        .merge(&web.binding, json!({"spec": {"gracefulEvictionTasks": []}}))
        .await;
    world.scheduled(&web).await;
    world.plane.until_gone(&web.work("m1")).await;
    assert!(!world.m1.has(&web.template).await, "a Work goes after what it brought");
    assert!(world.m2.has(&web.template).await);
}

pub async fn directly_the_old_copy_goes_first(world: &World) {
    let web = on_m1(world, "directly").await;
    // Its end takes a while.
    world
        .m1
        .merge(&web.template, json!({"metadata": {"finalizers": ["example.io/slow"]}}))
        .await;
    leaves_m1(world, &web, "Directly").await;
    world.plane.until(&web.work("m1"), "is going", is_going).await;
    world.m1.until(&web.template, "is going", is_going).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(
        !world.plane.has(&web.work("m2")).await,
        "the new copy waits for the end of the old one"
    );
    assert!(world.plane.has(&web.work("m1")).await && !world.m2.has(&web.template).await);
    world
        .m1
        .merge(&web.template, json!({"metadata": {"finalizers": null}}))
        .await;
    world.healthy(&web, "m2").await;
    assert!(!world.m1.has(&web.template).await && !world.plane.has(&web.work("m1")).await);
}
