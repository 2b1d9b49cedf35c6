//! Bad input: each kind has a status that says what to do, is counted, and loses no entry.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::Running;
use eviction_queue_api::convert::{to_key, to_published};
use eviction_queue_api::v1::{self, publish_request};
use failover_core::eviction::Cause;
use failover_core::eviction::queue::Published;
use rstest::rstest;
use test_bench::paused;
use tonic::{Code, Status};

use crate::world::{Consumer, Producer, World};

async fn ended(producer: &mut Producer) -> Status {
    loop {
        if let Err(status) = producer.next().await {
            return status;
        }
    }
}

fn refused(queue: &Running, method: &str, code: &str) -> f64 {
    let labels = [("method", method), ("code", code)];
    queue
        .metrics()
        .value("failover_queue_refused_total", &labels)
        .unwrap_or_default()
}

async fn ready(world: &World) -> u64 {
    world.settle().await;
    world.status().await.totals.unwrap().ready
}

type Change = fn(&mut v1::PublishedEntry);

#[rstest]
#[case::no_key(|entry: &mut v1::PublishedEntry| entry.key = None, "field key is missing")]
#[case::empty_name(|entry: &mut v1::PublishedEntry| entry.key.as_mut().unwrap().name.clear(), "field key.name is missing")]
#[case::endless_name(|entry: &mut v1::PublishedEntry| entry.key.as_mut().unwrap().name = "x".repeat(513), "field key.name: 513 bytes are too many")]
#[case::no_cause(|entry: &mut v1::PublishedEntry| entry.key.as_mut().unwrap().cause = "because".into(), "field key.cause: ")]
#[case::no_time(|entry: &mut v1::PublishedEntry| entry.due_at = None, "field due_at is missing")]
#[case::no_such_time(|entry: &mut v1::PublishedEntry| entry.due_at.as_mut().unwrap().seconds = i64::MIN, "field due_at: ")]
#[case::nanos(|entry: &mut v1::PublishedEntry| entry.due_at.as_mut().unwrap().nanos = i32::MIN, "field due_at: ")]
#[case::not_a_producer_s_hold(|entry: &mut v1::PublishedEntry| entry.hold = Some(v1::Hold { reason: v1::HoldReason::NoTarget.into(), ..v1::Hold::default() }), "field hold.reason: a producer cannot hold for")]
#[case::negative_replicas(|entry: &mut v1::PublishedEntry| entry.replicas = -1, "field replicas: -1 is negative")]
#[case::negative_grace(|entry: &mut v1::PublishedEntry| entry.grace_period_seconds = Some(-5), "field grace_period_seconds: -5 is negative")]
fn an_entry_that_makes_no_sense(#[case] change: Change, #[case] why: &'static str) {
    paused(async move {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        let mut producer = Producer::publish(&world, world.entries_of("m1", 3)).await;
        let mut entries: Vec<_> = world.entries_of("m2", 2).iter().map(to_published).collect();
        change(&mut entries[1]);
        producer.say(publish_request::Message::Upserts(v1::Upserts { entries }));
        let status = ended(&mut producer).await;
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().starts_with(why), "{}", status.message());
        assert_eq!(refused(&queue, "Publish", "INVALID_ARGUMENT"), 1.0);
        assert_eq!(
            ready(&world).await,
            3,
            "nothing of the message was taken, and nothing is lost"
        );
        let all: Vec<Published> = [world.entries_of("m1", 3), world.entries_of("m2", 2)].concat();
        let _again = Producer::publish(&world, all).await;
        assert_eq!(ready(&world).await, 5, "who comes back with sense is served");
    });
}

#[test]
fn what_is_too_much_or_twice_in_a_message() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        let one = world.entry("m1", "a", 0);
        let published = |count| {
            publish_request::Message::Upserts(v1::Upserts {
                entries: vec![to_published(&one); count],
            })
        };
        let withdrawn = |count| {
            publish_request::Message::Withdrawals(v1::Withdrawals {
                withdrawals: vec![
                    v1::Withdrawal {
                        key: Some(to_key(&one.key)),
                        reason: 99,
                    };
                    count
                ],
            })
        };
        for (message, code, why) in [
            (
                published(1_001),
                Code::ResourceExhausted,
                "upserts.entries: 1001 are too many in one message, at most 1000",
            ),
            (published(2), Code::InvalidArgument, "upserts.entries: default/a on m1"),
            (
                withdrawn(1_001),
                Code::ResourceExhausted,
                "withdrawals.withdrawals: 1001 are too many",
            ),
            (
                withdrawn(2),
                Code::InvalidArgument,
                "withdrawals.withdrawals: default/a on m1",
            ),
        ] {
            let mut producer = Producer::publish(&world, vec![one.clone()]).await;
            producer.say(message);
            let status = ended(&mut producer).await;
            assert_eq!(status.code(), code, "{status}");
            assert!(status.message().starts_with(why), "{}", status.message());
            assert_eq!(ready(&world).await, 1);
        }
        assert_eq!(refused(&queue, "Publish", "RESOURCE_EXHAUSTED"), 2.0);
        // A reason of a newer version takes an entry back like any other.
        let producer = Producer::publish(&world, vec![one.clone()]).await;
        producer.say(withdrawn(1));
        assert_eq!(ready(&world).await, 0);
    });
}

#[test]
fn a_message_of_too_many_bytes() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        let mut producer = Producer::publish(&world, world.entries_of("m1", 2)).await;
        let mut entry = to_published(&world.entry("m1", "b", 0));
        entry.reason = "x".repeat(17 * 1024 * 1024);
        producer.say(publish_request::Message::Upserts(v1::Upserts { entries: vec![entry] }));
        let status = ended(&mut producer).await;
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
        assert!(
            status
                .message()
                .starts_with("a message is too large, nothing of it was taken"),
            "{status}"
        );
        assert_eq!(refused(&queue, "Publish", "RESOURCE_EXHAUSTED"), 1.0);
        assert_eq!(ready(&world).await, 2);
    });
}

#[test]
fn a_text_that_is_too_long_is_cut() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let mut entry = world.entry("m1", "a", 0);
        entry.reason = "ä".repeat(2_000).into();
        let _producer = Producer::publish(&world, vec![entry]).await;
        let entries = world.entries(v1::EntryFilter::default()).await;
        let reason = &entries[0].published.as_ref().unwrap().reason;
        assert!(
            reason.len() <= 1_024 && reason.ends_with("ä…"),
            "{} bytes",
            reason.len()
        );
    });
}

#[test]
fn a_stream_that_says_nothing_first() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        let mut service = world.client().queue().await.unwrap();
        let mut silent = service
            .publish(tokio_stream::pending::<v1::PublishRequest>())
            .await
            .unwrap()
            .into_inner();
        let status = silent.message().await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(refused(&queue, "Publish", "DEADLINE_EXCEEDED"), 1.0);
    });
}

#[test]
fn a_consumer_that_names_the_wrong_entry_or_no_outcome() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(10.0)).await;
        let _producer = Producer::publish(&world, vec![world.entry("m1", "a", 0), world.entry("m2", "b", 0)]).await;
        let client = world.client();
        let mut consumer = Consumer::connect(&client, 2).await.unwrap();
        let first = consumer.granted().await.unwrap();
        let second = consumer.granted().await.unwrap();
        let mixed = v1::LeaseGranted {
            entry: second.entry.clone(),
            ..first.clone()
        };
        let status = consumer
            .complete(&client, &mixed, v1::Outcome::Evicted)
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(
            status
                .message()
                .starts_with(&format!("lease {} is not of entry default/b on m2", first.lease_id)),
            "{}",
            status.message()
        );
        assert_eq!(world.status().await.totals.unwrap().leased, 2, "nothing was changed");
        let mut service = client.queue().await.unwrap();
        let request = v1::CompleteRequest {
            queue_epoch: first.queue_epoch.clone(),
            lease_id: first.lease_id,
            key: first.entry.clone().unwrap().key,
            ..v1::CompleteRequest::default()
        };
        let status = service.complete(request.clone()).await.unwrap_err();
        assert_eq!(status.message(), "field outcome is missing");
        let endless = v1::CompleteRequest {
            outcome: v1::Outcome::Wait.into(),
            wait_until: Some(eviction_queue_api::Timestamp {
                seconds: i64::MAX,
                nanos: 0,
            }),
            ..request.clone()
        };
        let status = service.complete(endless).await.unwrap_err();
        assert!(
            status.message().starts_with("field wait_until: "),
            "{}",
            status.message()
        );
        assert_eq!(refused(&queue, "Complete", "INVALID_ARGUMENT"), 3.0);
        // A lease that does not exist is over, whoever asks.
        let unknown = v1::CompleteRequest {
            lease_id: 4_711,
            outcome: v1::Outcome::Evicted.into(),
            ..request
        };
        assert_eq!(
            service.complete(unknown).await.unwrap().into_inner().result(),
            v1::CompleteResult::Late
        );
        assert_eq!(world.status().await.totals.unwrap().leased, 2);
    });
}

#[test]
fn a_consumer_that_completes_the_lease_of_another() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(10.0)).await;
        let _producer = Producer::publish(&world, vec![world.entry("m1", "a", 0)]).await;
        let client = world.client();
        let mut first = Consumer::connect(&client, 1).await.unwrap();
        let lease = first.granted().await.unwrap();
        let mut second = Consumer::connect_as(&client, "another", 1).await.unwrap();
        let status = second
            .complete(&client, &lease, v1::Outcome::Evicted)
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert_eq!(
            status.message(),
            format!(
                "lease {} was granted to another consumer: nothing was changed",
                lease.lease_id
            )
        );
        assert_eq!(refused(&queue, "Complete", "FAILED_PRECONDITION"), 1.0);
        assert_eq!(world.status().await.totals.unwrap().leased, 1, "nothing was changed");
        let accepted = first.complete(&client, &lease, v1::Outcome::Evicted).await.unwrap();
        assert_eq!(accepted, v1::CompleteResult::Accepted);
        assert_eq!(world.entries(v1::EntryFilter::default()).await, []);
    });
}

#[test]
fn questions_that_make_no_sense() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        let _producer = Producer::publish(&world, world.entries_of("m1", 3)).await;
        let client = world.client();
        let mut service = client.inspection().await.unwrap();
        for (token, code) in [
            ("garbage", Code::InvalidArgument),
            ("0-0-0-0", Code::InvalidArgument),
            ("\u{fffd}", Code::InvalidArgument),
        ] {
            let request = v1::ListEntriesRequest {
                page_token: token.into(),
                ..v1::ListEntriesRequest::default()
            };
            assert_eq!(service.list_entries(request).await.unwrap_err().code(), code, "{token}");
        }
        let filter = v1::EntryFilter {
            state: 77,
            ..v1::EntryFilter::default()
        };
        let request = v1::ListEntriesRequest {
            filter: Some(filter),
            ..v1::ListEntriesRequest::default()
        };
        let status = service.list_entries(request).await.unwrap_err();
        assert_eq!(
            status.message(),
            "field filter.state: 77 is none of the values that this version knows"
        );
        let status = service.get_entry(v1::GetEntryRequest::default()).await.unwrap_err();
        assert_eq!(status.message(), "field name is missing: the name of a binding");
        for (after_revision, queue_epoch) in [
            (7, "another/1".to_owned()),
            (u64::MAX, world.status().await.queue_epoch),
        ] {
            let request = v1::WatchEntriesRequest {
                after_revision,
                queue_epoch,
            };
            let mut watch = service.watch_entries(request).await.unwrap().into_inner();
            let status = loop {
                match watch.message().await {
                    Ok(step) => assert!(step.is_some(), "the watch is refused"),
                    Err(status) => break status,
                }
            };
            assert_eq!(status.code(), Code::OutOfRange, "{status}");
            assert!(
                status.message().ends_with("watch from the start"),
                "{}",
                status.message()
            );
        }
        assert_eq!(refused(&queue, "ListEntries", "INVALID_ARGUMENT"), 4.0);
        assert_eq!(refused(&queue, "GetEntry", "INVALID_ARGUMENT"), 1.0);
        assert_eq!(refused(&queue, "WatchEntries", "OUT_OF_RANGE"), 2.0);
    });
}

/// What the queue does not see on the cluster, or not with this UID, is held until it does or its producer takes it back.
#[test]
fn entries_for_what_is_gone_are_held() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(100.0)).await;
        let mut other_uid = world.entry("m1", "other-uid", 0);
        Arc::make_mut(&mut other_uid.key).cluster_uid = "another".into();
        let mut never_there = world.entry("m1", "never-there", 0);
        Arc::make_mut(&mut never_there.key).cluster = "m9".into();
        let mut healthy = world.entry("h1", "healthy", 0);
        Arc::make_mut(&mut healthy.key).cause = "k:NoExecute@2026-01-01T00:00:00Z".parse::<Cause>().unwrap().into();
        let _producer = Producer::publish(&world, vec![other_uid, never_there, healthy]).await;
        let client = world.client();
        let mut consumer = Consumer::connect(&client, 9).await.unwrap();
        let nothing = tokio::time::timeout(Duration::from_secs(60), consumer.granted()).await;
        assert!(nothing.is_err());
        let entries = world.entries(v1::EntryFilter::default()).await;
        assert_eq!(entries.len(), 3);
        for entry in entries {
            assert_eq!(entry.hold.unwrap().reason(), v1::HoldReason::CauseNotSeen);
        }
    });
}

#[test]
fn a_producer_that_is_asked_to_wait_is_served_when_there_is_room() {
    paused(async {
        let world = World::new();
        let flags = eviction_queue::Flags {
            max_entries: 5,
            ..world.flags(1.0)
        };
        let queue = world.queue("q", flags).await;
        let all = world.entries_of("m1", 8);
        let mut producer = Producer::connect(&world, ("lease", 0)).await;
        producer.upsert(&all);
        let status = ended(&mut producer).await;
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(status.message().contains("--max-entries=5"), "{}", status.message());
        assert_eq!(refused(&queue, "Publish", "RESOURCE_EXHAUSTED"), 1.0);
        let mut producer = Producer::publish(&world, all[..5].to_vec()).await;
        producer.upsert(&all[5..]);
        assert_eq!(ended(&mut producer).await.code(), Code::ResourceExhausted);
        assert_eq!(ready(&world).await, 5, "nothing is lost");
        let evictions = crate::world::Evictions::default();
        let evict = crate::world::evict(&world, evictions.clone());
        let _ = tokio::time::timeout(Duration::from_secs(4), evict).await;
        let gone = evictions.count();
        assert!(gone >= 3, "{gone}");
        let rest: Vec<_> = all
            .into_iter()
            .filter(|entry| !evictions.names().contains(&entry.key.binding.name))
            .collect();
        assert_eq!(rest.len(), 8 - gone);
        let _producer = Producer::publish(&world, rest).await;
        world.settle().await;
        assert_eq!(world.entries(v1::EntryFilter::default()).await.len(), 8 - gone);
    });
}

/// Two live processes of one name take turns: each that is pushed out is told by whom, and the status says so.
#[test]
fn two_processes_of_one_producer_are_seen() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        let entries = world.entries_of("m1", 2);
        let mut before: Option<Producer> = None;
        for identity in ["a", "b", "a", "b"] {
            let producer = Producer::connect_as(&world, ("taintManager", identity), ("lease", 0)).await;
            producer.upsert(&entries);
            producer.complete();
            assert_eq!(ready(&world).await, 2, "whoever speaks, nothing is lost");
            if let Some(mut pushed_out) = before.replace(producer) {
                let status = ended(&mut pushed_out).await;
                assert_eq!(status.code(), Code::Aborted);
                assert!(
                    status.message().contains(&format!("from {identity};")),
                    "{}",
                    status.message()
                );
            }
        }
        let status = world.status().await;
        assert_eq!(status.producers[0].takeovers, 3);
        let note = "taintManager is published by two processes in turns, b and a (3 times so far): end one of them";
        assert!(status.notes.iter().any(|said| said == note), "{:?}", status.notes);
        let labels = [("producer", "taintManager")];
        let counted = queue
            .metrics()
            .value("failover_queue_producer_takeovers_total", &labels);
        assert_eq!(counted, Some(3.0));
    });
}

#[test]
fn the_entry_of_another_producer_is_left_to_it() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        let entry = world.entry("m1", "a", 0);
        let _owner = Producer::publish(&world, vec![entry.clone()]).await;
        let who = ("another", "p");
        // The queue knows no term of it, so it is believed without a look at its Lease.
        let mut other = Producer::connect_as(&world, who, ("lease", 0)).await;
        other.upsert(&[world.entry("m1", "b", 0), entry]);
        let status = ended(&mut other).await;
        assert_eq!(status.code(), Code::AlreadyExists);
        assert!(
            status
                .message()
                .starts_with("producer taintManager publishes default/a on m1"),
            "{status}"
        );
        assert_eq!(ready(&world).await, 1, "nothing of the message was taken");
        assert_eq!(refused(&queue, "Publish", "ALREADY_EXISTS"), 1.0);
    });
}

/// A producer that lags behind what was published before: its word is not taken, and it is asked again.
#[test]
fn an_older_snapshot_changes_nothing() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        let mut entry = world.entry("m1", "a", 0);
        entry.versions.binding = "12".into();
        entry.priority = 7;
        let _before = Producer::publish(&world, vec![entry.clone()]).await;
        entry.versions.binding = "11".into();
        entry.priority = 0;
        let mut behind = Producer::connect(&world, ("lease", 1)).await;
        behind.upsert(&[entry]);
        behind.complete();
        let confirm = loop {
            if let v1::publish_response::Message::Confirm(confirm) = behind.next().await.unwrap() {
                break confirm;
            }
        };
        assert_eq!(confirm.binding_resource_version, "12");
        let entries = world.entries(v1::EntryFilter::default()).await;
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].published.as_ref().unwrap().priority, 7);
        assert_eq!(
            queue.metrics().value("failover_queue_outdated_upserts_total", &[]),
            Some(1.0)
        );
    });
}
