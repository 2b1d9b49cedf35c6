//! Templates about as large as API servers take them. A Work holds its template as JSON, which the store of the API server
//! takes up to about 1.5 MiB; what is larger as JSON than as the object that it is does not fit, and that is told.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{MEMBERS, World, condition, config};

/// So long another object may take meanwhile, on a machine that does much else.
const NOT_DELAYED: Duration = Duration::from_secs(10);
const ADVICE: &str = "make the template smaller";

fn length(copy: &Value) -> usize {
    copy["data"]["k"].as_str().map_or(0, str::len)
}

pub async fn a_template_of_a_mebibyte_is_carried(world: &World) {
    let large = world
        .on_both(config("sizes", "large", &"x".repeat(1_000_000)), json!({}), 0)
        .await;
    for name in MEMBERS {
        assert_eq!(
            length(&world.member(name).get(&large.template).await.unwrap()),
            1_000_000
        );
    }
    world.m1.merge(&large.template, json!({"data": {"k": "own"}})).await;
    world
        .m1
        .until(&large.template, "is set right", |copy| length(copy) == 1_000_000)
        .await;
    world
        .plane
        .merge(&large.template, json!({"data": {"k": "y".repeat(900_000)}}))
        .await;
    for name in MEMBERS {
        world
            .member(name)
            .until(&large.template, "follows", |copy| length(copy) == 900_000)
            .await;
    }
}

/// A quote is one byte in the object and two in JSON.
pub async fn a_work_too_large_is_told(world: &World) {
    let quotes = world
        .spread(config("sizes", "quotes", &"\"".repeat(900_000)), json!({}))
        .await;
    let grows = world.on_both(config("sizes", "grows", "small"), json!({}), 0).await;
    world
        .plane
        .merge(&grows.template, json!({"data": {"k": "\"".repeat(900_000)}}))
        .await;
    world.place(&quotes, &MEMBERS.map(|name| (name, 0))).await;
    for bound in [&quotes, &grows] {
        let told = world
            .plane
            .until(&bound.binding, "says that it is too large", |binding| {
                let applied = condition(binding, "FullyApplied");
                let message = applied["message"].as_str().unwrap_or_default();
                applied["status"] == "False" && message.contains("too large")
            })
            .await;
        let message = condition(&told, "FullyApplied")["message"].clone();
        assert!(
            message.as_str().unwrap().contains(ADVICE),
            "{}: {message}",
            bound.template
        );
        world
            .plane
            .until_told(&bound.binding, "SyncWorkFailed", "too large")
            .await;
    }
    assert_eq!(
        length(&world.m1.get(&grows.template).await.unwrap()),
        "small".len(),
        "what was there stays"
    );

    let small = world.spread(config("sizes", "small", "v"), json!({})).await;
    world.plane.until(&small.binding, "is there", |_| true).await;
    let arrived = tokio::time::timeout(NOT_DELAYED, async {
        world.place(&small, &[("m1", 0)]).await;
        world.applied(&small, "m1").await;
    });
    arrived
        .await
        .expect("an object of usual size waits for those that are too large");

    for bound in [&quotes, &grows] {
        world
            .plane
            .merge(&bound.template, json!({"data": {"k": "smaller"}}))
            .await;
    }
    for bound in [&quotes, &grows] {
        for name in MEMBERS {
            world
                .member(name)
                .until(&bound.template, "follows", |copy| length(copy) == "smaller".len())
                .await;
        }
        let done = |binding: &Value| condition(binding, "FullyApplied")["status"] == "True";
        world.plane.until(&bound.binding, "is applied everywhere", done).await;
    }
}
