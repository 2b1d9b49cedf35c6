//! A member goes, and comes back with a deletion waiting for it, while another one takes connections and answers nothing.

use std::time::Duration;

use e2e_harness::eventually;
use serde_json::json;

use crate::whole_way::thing;
use crate::world::{MEMBERS, World, config};

/// What waited for the member is dealt with so soon after its return.
const AT_ONCE: Duration = Duration::from_secs(15);

pub async fn one_member_hangs_and_the_other_goes_and_comes_back(world: &mut World) {
    let probe = world.on_both(config("shop", "probe", "1"), json!({}), 0).await;
    world.members[1].pause().unwrap();
    world.plane.merge(&probe.template, json!({"data": {"k": "2"}})).await;
    world
        .m1
        .until(&probe.template, "follows", |copy| copy["data"]["k"] == "2")
        .await;

    goes_and_comes_back(world).await;

    world.refused(&probe, MEMBERS[1], "no answer within 10s").await;
    world.members[1].resume().unwrap();
    world.applied(&probe, MEMBERS[1]).await;
    world
        .m2
        .until(&probe.template, "has followed", |copy| copy["data"]["k"] == "2")
        .await;
}

async fn goes_and_comes_back(world: &mut World) {
    let web = thing("apps/v1", "Deployment");
    world.members[0].stop_apiserver().unwrap();
    world.ready("m1", "False").await;
    world.plane.delete(&web.template).await;
    let work = web.work("m1");
    world
        .plane
        .until(&work, "waits", |work| work["metadata"]["deletionTimestamp"].is_string())
        .await;
    world.members[0].start_apiserver().await.unwrap();
    world.ready("m1", "True").await;
    eventually("the copy, its Work and its binding are gone", AT_ONCE, async || {
        let copy = world.m1.get(&web.template).await;
        let (work, binding) = (world.plane.get(&work).await, world.plane.get(&web.binding).await);
        if copy.is_none() && work.is_none() && binding.is_none() {
            Ok(())
        } else {
            Err(format!("{copy:?} {work:?} {binding:?}"))
        }
    })
    .await
    .unwrap();
    assert!(
        world.m1.has(&thing("v1", "ConfigMap").template).await,
        "the others stay"
    );
}
