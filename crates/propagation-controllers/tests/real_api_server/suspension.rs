//! What is held back, everywhere or on some clusters, and what becomes of it when that ends.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{MEMBERS, World, condition, config};

/// So long a change that is held back is watched not to arrive; others arrive in a tenth of it.
const WATCHED: Duration = Duration::from_secs(2);

fn is_held_back(work: &Value) -> bool {
    let dispatching = condition(work, "Dispatching");
    dispatching["status"] == "False" && dispatching["reason"] == "SuspendDispatching"
}

pub async fn changes_are_held_back_and_let_go(world: &World) {
    let held = world
        .spread(
            config("suspension", "held", "1"),
            json!({"suspension": {"dispatching": true}}),
        )
        .await;
    world.place(&held, &MEMBERS.map(|name| (name, 0))).await;
    for name in MEMBERS {
        world.plane.until(&held.work(name), "is held back", is_held_back).await;
    }
    tokio::time::sleep(WATCHED).await;
    for name in MEMBERS {
        assert!(
            !world.member(name).has(&held.template).await,
            "{name} has what is held back"
        );
    }
    let binding = world.plane.get(&held.binding).await.unwrap();
    assert_eq!(condition(&binding, "FullyApplied")["status"], "False");

    world
        .plane
        .merge(&held.policy, json!({"spec": {"suspension": null}}))
        .await;
    for name in MEMBERS {
        world.applied(&held, name).await;
        world
            .plane
            .until(&held.work(name), "is dispatched", |work| {
                condition(work, "Dispatching")["status"] == "True"
            })
            .await;
    }
    let done = |binding: &Value| condition(binding, "FullyApplied")["status"] == "True";
    world.plane.until(&held.binding, "is applied everywhere", done).await;

    let on_m1 = json!({"spec": {"suspension": {"dispatchingOnClusters": {"clusterNames": ["m1"]}}}});
    world.plane.merge(&held.policy, on_m1).await;
    world.plane.until(&held.work("m1"), "is held back", is_held_back).await;
    world.plane.merge(&held.template, json!({"data": {"k": "2"}})).await;
    world
        .m2
        .until(&held.template, "follows", |config| config["data"]["k"] == "2")
        .await;
    // Nor is put right what somebody changes there.
    world.m1.merge(&held.template, json!({"data": {"k": "own"}})).await;
    tokio::time::sleep(WATCHED).await;
    assert_eq!(world.m1.get(&held.template).await.unwrap()["data"]["k"], "own");

    world
        .plane
        .merge(&held.policy, json!({"spec": {"suspension": null}}))
        .await;
    world
        .m1
        .until(&held.template, "follows again", |config| config["data"]["k"] == "2")
        .await;

    // What goes, goes.
    world
        .plane
        .merge(&held.policy, json!({"spec": {"suspension": {"dispatching": true}}}))
        .await;
    world.plane.until(&held.work("m1"), "is held back", is_held_back).await;
    world.withdraw(&held).await;
    for name in MEMBERS {
        assert!(!world.member(name).has(&held.template).await);
    }
}
