//! Namespaces that go: in a member, where somebody deletes one that takes its time, and on the control plane with all that
//! is in it.

use serde_json::{Value, json};

use crate::identity::Id;
use crate::world::{MEMBERS, World, config, deployment};

pub async fn one_that_terminates(world: &World) {
    let before = world.on_both(config("terminating", "before", "v"), json!({}), 0).await;
    let namespace = Id::namespace("terminating");
    let mut stays = config("terminating", "stays", "own");
    stays["metadata"]["finalizers"] = json!(["example.io/slow"]);
    let stays = world.m1.create(stays).await;
    world.m1.delete(&namespace).await;
    world.m1.until_gone(&before.template).await;

    let meanwhile = world.spread(config("terminating", "meanwhile", "v"), json!({})).await;
    world.place(&meanwhile, &[("m1", 0), ("m2", 0)]).await;
    for bound in [&before, &meanwhile] {
        world.refused(bound, "m1", "because it is being terminated").await;
    }
    world.applied(&meanwhile, "m2").await;
    let elsewhere = world.spread(config("shop", "elsewhere", "v"), json!({})).await;
    world.place(&elsewhere, &[("m1", 0)]).await;
    world.applied(&elsewhere, "m1").await;

    world.m1.merge(&stays, json!({"metadata": {"finalizers": null}})).await;
    for bound in [&before, &meanwhile] {
        world.applied(bound, "m1").await;
        world.m1.until(&bound.template, "is there again", |_| true).await;
    }
    let again = world.m1.get(&namespace).await.unwrap();
    assert_eq!(again["metadata"]["labels"]["karmada.io/managed"], "true");
}

/// The namespace waits for its bindings, these for the Works, and the Works for the members.
pub async fn one_that_goes_everywhere(world: &World) {
    let inside = [
        world.on_both(config("leaving", "inside", "v"), json!({}), 0).await,
        world.on_both(deployment("leaving", "inside", 1), json!({}), 1).await,
    ];
    let namespace = Id::namespace("leaving");
    world
        .plane
        .merge(&namespace, json!({"metadata": {"labels": {"team": "a"}}}))
        .await;
    for name in MEMBERS {
        let follows = |copy: &Value| copy["metadata"]["labels"]["team"] == "a";
        world.member(name).until(&namespace, "follows", follows).await;
    }
    world.plane.delete(&namespace).await;
    world.plane.until_gone(&namespace).await;
    for name in MEMBERS {
        for bound in &inside {
            world.plane.until_gone(&bound.work(name)).await;
        }
        world.plane.until_gone(&Id::work(name, &namespace)).await;
        assert!(!world.member(name).has(&namespace).await, "{name}");
    }
}
