//! What is bounded: streams of each kind, and what waits in a stream that nobody reads.

use eviction_queue::streams::MAX_WATCH_STREAMS;
use eviction_queue_api::QueueClient;
use eviction_queue_api::v1::{self, lease_request};
use test_bench::paused;
use tonic::Code;

use crate::world::{Consumer, Producer, World};

async fn watch(client: &QueueClient) -> Result<tonic::Streaming<v1::WatchEntriesResponse>, tonic::Status> {
    let mut service = client.inspection().await.unwrap();
    Ok(service
        .watch_entries(v1::WatchEntriesRequest::default())
        .await?
        .into_inner())
}

#[test]
fn one_stream_too_many_is_told_so_and_served_when_another_ends() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        // A connection takes some; several are needed for all.
        let mut open = Vec::new();
        for n in 0..MAX_WATCH_STREAMS {
            let client = world.client();
            open.push((
                watch(&client).await.unwrap_or_else(|status| panic!("{n}: {status}")),
                client,
            ));
        }
        let client = world.client();
        let status = watch(&client).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(
            status
                .message()
                .starts_with(&format!("{MAX_WATCH_STREAMS} streams of WatchEntries are open")),
            "{}",
            status.message()
        );
        let labels = [("method", "WatchEntries"), ("code", "RESOURCE_EXHAUSTED")];
        assert_eq!(
            queue.metrics().value("failover_queue_refused_total", &labels),
            Some(1.0)
        );
        let streams = |kind| queue.metrics().value("failover_queue_streams", &[("kind", kind)]);
        let all_but = |by: u32| Some(f64::from(u32::try_from(MAX_WATCH_STREAMS).unwrap() - by));
        assert_eq!((streams("WatchEntries"), streams("Lease")), (all_but(0), Some(0.0)));
        open.truncate(MAX_WATCH_STREAMS - 1);
        world.settle().await;
        assert_eq!(streams("WatchEntries"), all_but(1));
        assert!(watch(&client).await.is_ok());
        let consumer = Consumer::connect(&client, 1).await;
        assert!(consumer.is_ok(), "another kind has its own");
        assert_eq!(streams("Lease"), Some(1.0));
    });
}

/// A consumer asks and asks and does not read: it is cut off, and its lease goes the way of every lease.
#[test]
fn who_does_not_read_is_cut_off() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(1.0)).await;
        let _producer = Producer::publish(&world, vec![world.entry("m1", "a", 0)]).await;
        let client = world.client();
        let mut deaf = Consumer::connect(&client, 1).await.unwrap();
        let lease = deaf.granted().await.unwrap();
        // HTTP/2 holds some megabytes as well.
        for _ in 0..30_000 {
            deaf.say(lease_request::Message::Renewal(v1::LeaseRenewal {
                lease_ids: vec![lease.lease_id; 100],
                queue_epoch: String::new(),
            }));
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(world.status().await.consumers, 0);
        let labels = [("method", "Lease"), ("code", "RESOURCE_EXHAUSTED")];
        assert_eq!(
            queue.metrics().value("failover_queue_refused_total", &labels),
            Some(1.0)
        );
        let mut consumer = Consumer::connect(&client, 1).await.unwrap();
        let again = consumer.granted().await.unwrap();
        assert_eq!(again.entry, lease.entry, "nothing is lost");
        let status = loop {
            match deaf.next().await {
                Ok(_) => {}
                Err(status) => break status,
            }
        };
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
        assert!(status.message().contains("is not read"), "{}", status.message());
    });
}
