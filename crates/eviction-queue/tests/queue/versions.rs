//! In the middle of an upgrade: producers and consumers that say what this version does not know.

use std::time::Duration;

use eviction_queue_api::convert::to_published;
use eviction_queue_api::v1::{self, lease_request, publish_request};
use test_bench::paused;

use crate::world::{Consumer, Producer, World};

/// No value of any enum.
const OF_TOMORROW: i32 = 99;

#[test]
fn what_a_newer_producer_says_is_taken_as_far_as_it_is_known() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let producer = Producer::publish(&world, world.entries_of("m1", 1)).await;
        let mut entries: Vec<_> = world.entries_of("m2", 3).iter().map(to_published).collect();
        entries[0].purge_mode = OF_TOMORROW;
        entries[1].hold = Some(v1::Hold {
            reason: OF_TOMORROW,
            message: "the moon is full".to_owned(),
            ..v1::Hold::default()
        });
        let (kept, held) = (entries[2].key.clone(), entries[1].key.clone());
        producer.up.send(v1::PublishRequest { message: None }).unwrap();
        producer.say(publish_request::Message::Upserts(v1::Upserts { entries }));
        world.settle().await;
        let found = world.entries(v1::EntryFilter::default()).await;
        let state = |key: &Option<v1::EntryKey>| {
            let of_key = |entry: &&v1::Entry| entry.published.as_ref().is_some_and(|published| &published.key == key);
            found.iter().find(of_key).expect("it is taken").clone()
        };
        assert_eq!(found.len(), 4, "one entry's words cost no other its place");
        assert_eq!(state(&kept).state(), v1::EntryState::Ready);
        let held = state(&held);
        assert_eq!(
            held.state(),
            v1::EntryState::Held,
            "what is to be held is not let go for want of a word"
        );
        let hold = held.hold.unwrap();
        assert_eq!(
            (hold.reason(), hold.message.as_str()),
            (v1::HoldReason::Recovering, "the moon is full")
        );
        producer.upsert(&world.entries_of("m1", 2));
        world.settle().await;
        assert_eq!(world.status().await.totals.unwrap().ready, 4, "and the stream goes on");
        drop(producer.down);
    });
}

#[test]
fn what_a_newer_consumer_says_is_taken_as_far_as_it_is_known() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(10.0)).await;
        let _producer = Producer::publish(&world, vec![world.entry("m1", "a", 0), world.entry("m1", "b", 0)]).await;
        let client = world.client();
        let mut consumer = Consumer::connect(&client, 1).await.unwrap();
        consumer.up.send(v1::LeaseRequest { message: None }).unwrap();
        let lease = consumer.granted().await.unwrap();
        let request = v1::CompleteRequest {
            queue_epoch: lease.queue_epoch.clone(),
            lease_id: lease.lease_id,
            key: lease.entry.clone().unwrap().key,
            outcome: OF_TOMORROW,
            reason: "Postponed".to_owned(),
            message: "the moon is full".to_owned(),
            ..v1::CompleteRequest::default()
        };
        let answer = client.queue().await.unwrap().complete(request.clone()).await.unwrap();
        assert_eq!(answer.into_inner().result(), v1::CompleteResult::Accepted);
        world.settle().await;
        let entries = world.entries(v1::EntryFilter::default()).await;
        let tried = entries
            .iter()
            .find(|entry| entry.published.as_ref().unwrap().key == request.key)
            .expect("who is not known to be gone stays in the queue");
        assert_ne!(tried.state(), v1::EntryState::Leased);
        consumer.say(lease_request::Message::Credit(v1::LeaseCredit { leases: 2 }));
        let mut again = Vec::new();
        for _ in 0..2 {
            let granted = tokio::time::timeout(Duration::from_secs(600), consumer.granted()).await;
            again.push(granted.unwrap().unwrap().entry.unwrap().key);
        }
        assert_eq!(
            again.last(),
            Some(&request.key),
            "it is tried again, later, and keeps nobody waiting meanwhile"
        );
    });
}
