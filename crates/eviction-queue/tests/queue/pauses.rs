//! What a FailoverPause holds back, by its scope, and until when.

use std::sync::Arc;
use std::time::Duration;

use eviction_queue_api::v1;
use jiff::SignedDuration;
use serde_json::{Value, json};
use test_bench::paused;

use crate::world::{Consumer, Producer, World};

fn pause(world: &World, spec: Value) {
    let mut spec = spec;
    spec["reason"] = json!("change night");
    world.put(json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "p"}, "spec": spec,
    }));
}

fn status(world: &World) -> Value {
    let pause = world
        .plane
        .get("failover.karmada.io/v1alpha1", "FailoverPause", None, "p");
    pause.unwrap()["status"].clone()
}

/// A namespaced binding on m1, another one on m2, and one of cluster scope on m2; what is held.
async fn held(world: &World) -> Vec<String> {
    world.settle().await;
    let filter = v1::EntryFilter {
        state: v1::EntryState::Held.into(),
        ..v1::EntryFilter::default()
    };
    let mut names = Vec::new();
    for entry in world.entries(filter).await {
        let hold = entry.hold.unwrap();
        assert_eq!(
            (hold.reason(), hold.message.as_str()),
            (v1::HoldReason::Paused, "FailoverPause p: change night")
        );
        names.push(entry.published.unwrap().key.unwrap().name);
    }
    names.sort();
    names
}

async fn publish(world: &World) -> Producer {
    let mut role = world.entry("m2", "role", 0);
    Arc::make_mut(&mut role.key).binding.namespace = None;
    let mut other = world.entry("m2", "other", 0);
    Arc::make_mut(&mut other.key).binding.namespace = Some("team-b".into());
    Producer::publish(world, vec![world.entry("m1", "web", 0), other, role]).await
}

#[test]
fn each_scope_holds_what_it_covers() {
    paused(async {
        for (spec, expected) in [
            (json!({"scope": "Clusters", "clusters": ["m1", "m9"]}), vec!["web"]),
            (json!({"scope": "Clusters", "clusters": ["m2"]}), vec!["other", "role"]),
            (json!({"scope": "Namespaces", "namespaces": ["team-b"]}), vec!["other"]),
            (
                json!({"scope": "Namespaces", "namespaces": ["-", "default"]}),
                vec!["role", "web"],
            ),
        ] {
            let world = World::new();
            let _queue = world.queue("q", world.flags(0.0)).await;
            let _producer = publish(&world).await;
            pause(&world, spec);
            assert_eq!(held(&world).await, expected);
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(status(&world), json!({"active": true, "heldEntries": expected.len()}));
        }
    });
}

#[test]
fn a_pause_ends_when_it_is_deleted() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(1.0)).await;
        let _producer = publish(&world).await;
        pause(&world, json!({"scope": "All"}));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(
            status(&world),
            json!({"active": true, "heldEntries": 3}),
            "what would leave without it"
        );
        let mut consumer = Consumer::connect(&world.client(), 3).await.unwrap();
        assert!(
            tokio::time::timeout(Duration::from_secs(60), consumer.granted())
                .await
                .is_err()
        );
        let pauses = kube::Api::<api_types::failover::FailoverPause>::all(world.plane.observer());
        pauses.delete("p", &kube::api::DeleteParams::default()).await.unwrap();
        let lease = tokio::time::timeout(Duration::from_secs(1), consumer.granted()).await;
        assert!(lease.is_ok_and(|lease| lease.is_ok()), "deleting it resumes");
    });
}

#[test]
fn a_pause_ends_by_itself() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(1.0)).await;
        let _producer = publish(&world).await;
        let until = world.clock.now() + SignedDuration::from_secs(60);
        pause(&world, json!({"scope": "All", "until": until}));
        let mut consumer = Consumer::connect(&world.client(), 3).await.unwrap();
        let lease = consumer.granted().await.unwrap();
        let at = lease.released_at.unwrap();
        let late = jiff::Timestamp::new(at.seconds, at.nanos)
            .unwrap()
            .duration_since(until);
        assert!((0.0..=1.0).contains(&late.as_secs_f64()), "{late:?}");
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(status(&world)["active"], json!(false));
    });
}

#[test]
fn a_pause_that_never_was_says_so() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(1.0)).await;
        let _producer = publish(&world).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        pause(&world, json!({"scope": "All", "until": world.started}));
        tokio::time::sleep(Duration::from_secs(3)).await;
        let said = status(&world);
        assert_eq!((&said["active"], &said["heldEntries"]), (&json!(false), &json!(0)));
        let condition = &said["conditions"][0];
        assert_eq!(
            (&condition["type"], &condition["status"], &condition["reason"]),
            (&json!("Accepted"), &json!("False"), &json!("InvalidSpec"))
        );
        let message = condition["message"].as_str().unwrap();
        assert!(message.contains("it was never in effect"), "{message}");
        let events = world.plane.list("v1", "Event");
        let warned = events.iter().filter(|event| event["reason"] == "PauseInvalid").count();
        assert_eq!(warned, 1);
        // Mended, it pauses, and takes the complaint back.
        let until = world.clock.now() + SignedDuration::from_secs(600);
        pause(&world, json!({"scope": "All", "until": until}));
        tokio::time::sleep(Duration::from_secs(3)).await;
        let said = status(&world);
        assert_eq!(
            (&said["active"], &said["conditions"][0]["status"]),
            (&json!(true), &json!("True"))
        );
    });
}
