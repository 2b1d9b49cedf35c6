//! Drop and Undrop over gRPC, with a producer that the test plays.

use std::time::Duration;

use eviction_queue_api::convert::to_key;
use eviction_queue_api::v1::{self, publish_response};
use failover_core::eviction::queue::{HoldReason, ProducerHold};
use test_bench::paused;
use tonic::{Code, Status};

use crate::world::{Consumer, Producer, World};

async fn drop_entry(world: &World, key: &v1::EntryKey, reason: &str, dry_run: bool) -> Result<v1::Entry, Status> {
    let mut admin = world.client().admin().await.unwrap();
    let request = v1::DropRequest {
        key: Some(key.clone()),
        reason: reason.into(),
        dry_run,
    };
    Ok(admin.drop(request).await?.into_inner().entry.unwrap())
}

async fn undrop_entry(world: &World, key: &v1::EntryKey) -> Result<v1::Entry, Status> {
    let mut admin = world.client().admin().await.unwrap();
    let request = v1::UndropRequest {
        key: Some(key.clone()),
        reason: "the test is over".into(),
        dry_run: false,
    };
    Ok(admin.undrop(request).await?.into_inner().entry.unwrap())
}

async fn only(world: &World) -> v1::Entry {
    world.settle().await;
    let mut entries = world.entries(v1::EntryFilter::default()).await;
    assert_eq!(entries.len(), 1);
    entries.remove(0)
}

fn hold_of(entry: &v1::Entry) -> v1::HoldReason {
    entry
        .hold
        .as_ref()
        .map_or(v1::HoldReason::Unspecified, v1::Hold::reason)
}

#[test]
fn a_drop_is_held_and_taken_back_and_told_to_watchers() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(1.0)).await;
        let mut entry = world.entry("m1", "a", 0);
        let key = to_key(&entry.key);
        let mut producer = Producer::publish(&world, vec![entry.clone()]).await;

        let would_be = drop_entry(&world, &key, "a test runs", true).await.unwrap();
        assert_eq!(hold_of(&would_be), v1::HoldReason::Dropped);
        assert_eq!(
            only(&world).await.state(),
            v1::EntryState::Ready,
            "a dry run changes nothing"
        );

        let dropped = drop_entry(&world, &key, " a test runs ", false).await.unwrap();
        assert_eq!(dropped.hold, would_be.hold);
        let order = dropped.order.unwrap();
        assert_eq!(
            (order.kind(), order.caller.as_str(), order.reason.as_str()),
            (v1::OrderKind::Drop, "local", "a test runs")
        );
        let client = world.client();
        let mut consumer = Consumer::connect(&client, 5).await.unwrap();
        let nothing = tokio::time::timeout(Duration::from_secs(60), consumer.granted()).await;
        assert!(nothing.is_err(), "what is dropped is not released");

        let mut service = client.queue().await.unwrap();
        let written = v1::OrderWrittenRequest {
            queue_epoch: world.status().await.queue_epoch,
            key: Some(key.clone()),
            order_id: order.id,
            binding_resource_version: "11".into(),
        };
        service.order_written(written.clone()).await.unwrap();
        let publish_response::Message::Confirm(confirm) = producer.next().await.unwrap() else {
            panic!("the producer is asked to speak from the binding that has it")
        };
        assert_eq!(confirm.binding_resource_version, "11");
        entry.versions.binding = "11".into();
        entry.hold = Some(
            ProducerHold {
                reason: HoldReason::Stay,
                message: "dropped by local: a test runs".into(),
                by_drop: true,
            }
            .into(),
        );
        producer.upsert(&[entry.clone()]);
        let stays = only(&world).await;
        assert_eq!((hold_of(&stays), stays.order), (v1::HoldReason::Stay, None));
        assert!(stays.hold.unwrap().dropped);
        drop_entry(&world, &key, "again", false).await.unwrap();
        assert_eq!(
            hold_of(&only(&world).await),
            v1::HoldReason::Stay,
            "repeating is harmless"
        );

        let undropped = undrop_entry(&world, &key).await.unwrap();
        assert_eq!(hold_of(&undropped), v1::HoldReason::Undropped);
        let written = v1::OrderWrittenRequest {
            order_id: undropped.order.unwrap().id,
            binding_resource_version: "12".into(),
            ..written
        };
        service.order_written(written).await.unwrap();
        entry.versions.binding = "12".into();
        entry.hold = None;
        producer.upsert(&[entry]);
        assert!(consumer.granted().await.is_ok(), "and it goes");
        drop(queue);
    });
}

#[test]
fn a_leased_entry_loses_its_lease() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(1.0)).await;
        let entry = world.entry("m1", "a", 0);
        let _producer = Producer::publish(&world, vec![entry.clone()]).await;
        let client = world.client();
        let mut consumer = Consumer::connect(&client, 1).await.unwrap();
        let lease = consumer.granted().await.unwrap();
        drop_entry(&world, &to_key(&entry.key), "why", false).await.unwrap();
        let v1::lease_response::Message::Revoked(revoked) = consumer.next().await.unwrap() else {
            panic!("revoked")
        };
        assert!(
            revoked.reason.starts_with("dropped by local: why"),
            "{}",
            revoked.reason
        );
        consumer.complete(&client, &lease, v1::Outcome::Failed).await.unwrap();
        assert_eq!(hold_of(&only(&world).await), v1::HoldReason::Dropped);
    });
}

#[test]
fn what_cannot_be_ordered_says_why_and_is_counted() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(1.0)).await;
        let mut entry = world.entry("m1", "a", 0);
        let key = to_key(&entry.key);
        let status = drop_entry(&world, &key, "why", false).await.unwrap_err();
        assert_eq!(status.code(), Code::NotFound);
        assert!(status.message().contains("default/a on m1"), "{}", status.message());
        let status = drop_entry(&world, &key, " ", false).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(
            status.message().starts_with("field reason is missing"),
            "{}",
            status.message()
        );
        let status = drop_entry(&world, &key, &"x".repeat(257), false).await.unwrap_err();
        assert!(status.message().contains("at most 256"), "{}", status.message());
        entry.hold = Some(
            ProducerHold {
                reason: HoldReason::Stay,
                message: "the annotation keeps it".into(),
                by_drop: false,
            }
            .into(),
        );
        let _producer = Producer::publish(&world, vec![entry]).await;
        let status = undrop_entry(&world, &key).await.unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition);
        let refused = |method, code| {
            let labels = [("method", method), ("code", code)];
            queue.metrics().value("failover_queue_refused_total", &labels)
        };
        assert_eq!(refused("Drop", "NOT_FOUND"), Some(1.0));
        assert_eq!(refused("Drop", "INVALID_ARGUMENT"), Some(2.0));
        assert_eq!(refused("Undrop", "FAILED_PRECONDITION"), Some(1.0));
    });
}
