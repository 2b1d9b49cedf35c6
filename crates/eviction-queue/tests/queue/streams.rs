use std::time::Duration;

use controller_kit::leader::lease_name;
use eviction_queue_api::v1::{lease_response, publish_response};
use eviction_queue_api::{QUEUE_CONTROLLER, v1};
use failover_core::eviction::queue::WithdrawReason;
use serde_json::json;
use tonic::Code;

use crate::world::{Consumer, Producer, World};
use test_bench::paused;

async fn totals(world: &World) -> v1::Totals {
    world.settle().await;
    world.status().await.totals.unwrap()
}

#[test]
fn a_snapshot_replaces_the_set_of_the_producer_before_it() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let mut first = Producer::publish(&world, vec![world.entry("m1", "a", 0), world.entry("m1", "b", 600)]).await;
        assert_eq!(
            totals(&world).await,
            v1::Totals {
                waiting: 1,
                ready: 1,
                leased: 0,
                held: 0
            }
        );
        let second = Producer::publish(&world, vec![world.entry("m1", "b", 600)]).await;
        let ended = loop {
            if let Err(status) = first.next().await {
                break status;
            }
        };
        assert_eq!(
            (ended.code(), ended.message()),
            (
                Code::Aborted,
                "producer taintManager opened another stream, from p; only the newest one publishes"
            )
        );
        assert_eq!(
            totals(&world).await,
            v1::Totals {
                waiting: 1,
                ..v1::Totals::default()
            }
        );
        drop(second);
        tokio::time::sleep(Duration::from_secs(31)).await;
        let status = world.status().await;
        assert_eq!(status.totals.unwrap().held, 1, "ProducerGone");
        assert!(status.producers[0].gone_since.is_some());
    });
}

#[test]
fn terms_of_a_producer_are_ordered_and_other_leases_confirmed_live() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let lease = world.put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "taint-manager", "namespace": "karmada-system"}, "spec": {"holderIdentity": "p"},
        }));
        let uid = lease["metadata"]["uid"].as_str().unwrap();
        let mut current = Producer::connect(&world, (uid, 5)).await;
        assert!(matches!(
            current.next().await,
            Ok(publish_response::Message::Accepted(_))
        ));
        let mut stale = Producer::connect(&world, (uid, 4)).await;
        let refused = stale.next().await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert!(
            refused.message().contains("term 4") && refused.message().contains("term 5"),
            "{}",
            refused.message()
        );
        let mut forged = Producer::connect(&world, ("forged", 9)).await;
        assert_eq!(forged.next().await.unwrap_err().code(), Code::FailedPrecondition);

        // The Lease was deleted and made anew: another UID, its count from 0.
        let leases: kube::Api<k8s_openapi::api::coordination::v1::Lease> =
            kube::Api::namespaced(world.plane.observer(), "karmada-system");
        leases
            .delete("taint-manager", &kube::api::DeleteParams::default())
            .await
            .unwrap();
        let lease = world.put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "taint-manager", "namespace": "karmada-system"}, "spec": {"holderIdentity": "p"},
        }));
        let mut renewed = Producer::connect(&world, (lease["metadata"]["uid"].as_str().unwrap(), 0)).await;
        assert!(matches!(
            renewed.next().await,
            Ok(publish_response::Message::Accepted(_))
        ));
    });
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let mut producer = Producer::connect(&world, ("lease", 0)).await;
        producer.next().await.unwrap();
        producer.say(v1::publish_request::Message::Upserts(v1::Upserts {
            entries: vec![v1::PublishedEntry::default()],
        }));
        let refused = producer.next().await.unwrap_err();
        assert_eq!(
            (refused.code(), refused.message()),
            (Code::InvalidArgument, "field resource is missing")
        );

        let client = world.client();
        let mut service = client.queue().await.unwrap();
        let mut request = v1::CompleteRequest {
            queue_epoch: "other/0".into(),
            ..v1::CompleteRequest::default()
        };
        let answer = service.complete(request.clone()).await.unwrap().into_inner();
        assert_eq!(answer.result(), v1::CompleteResult::OtherEpoch);
        request.queue_epoch = world.status().await.queue_epoch;
        assert_eq!(
            service.complete(request).await.unwrap_err().message(),
            "field outcome is missing"
        );
    });
}

#[test]
fn a_full_queue_says_so_and_takes_what_fits() {
    paused(async {
        let world = World::new();
        let flags = eviction_queue::Flags {
            max_entries: 10,
            ..world.flags(0.0)
        };
        let _queue = world.queue("q", flags).await;
        let mut producer = Producer::publish(&world, world.entries_of("m1", 8)).await;
        producer.upsert(&world.entries_of("m2", 5));
        let refused = producer.next().await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(refused.message().contains("--max-entries=10"), "{}", refused.message());
        assert_eq!(totals(&world).await.ready, 8, "nothing is lost");
        let _again = Producer::publish(&world, world.entries_of("m2", 10)).await;
        assert_eq!(
            totals(&world).await.ready,
            10,
            "a set that is replaced needs no room beside the new one"
        );
    });
}

#[test]
fn a_lease_is_renewed_revoked_and_completed() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(1.0)).await;
        let entry = world.entry("m1", "a", 0);
        let producer = Producer::publish(&world, vec![entry.clone()]).await;
        let client = world.client();
        let mut consumer = Consumer::connect(&client, 1).await.unwrap();
        let lease = consumer.granted().await.unwrap();
        assert_eq!(lease.producer, "taintManager");
        assert_eq!(lease.duration.unwrap().seconds, 30);
        consumer.say(v1::lease_request::Message::Renewal(v1::LeaseRenewal {
            lease_ids: vec![lease.lease_id, 77],
            ..v1::LeaseRenewal::default()
        }));
        let lease_response::Message::Renewed(renewed) = consumer.next().await.unwrap() else {
            panic!("renewed")
        };
        assert_eq!(
            renewed.lease_ids,
            [lease.lease_id],
            "of what was asked for, what lives on"
        );
        assert_eq!(renewed.queue_epoch, lease.queue_epoch);
        consumer.say(v1::lease_request::Message::Renewal(v1::LeaseRenewal {
            lease_ids: vec![lease.lease_id],
            queue_epoch: "another/0".into(),
        }));
        let lease_response::Message::Renewed(renewed) = consumer.next().await.unwrap() else {
            panic!("renewed")
        };
        assert!(renewed.lease_ids.is_empty(), "ids of another term say nothing");

        world.heal("m1");
        let lease_response::Message::Revoked(revoked) = consumer.next().await.unwrap() else {
            panic!("revoked")
        };
        assert_eq!(revoked.lease_id, lease.lease_id);
        producer.withdraw([&*entry.key], WithdrawReason::ClusterRecovered);
        assert_eq!(
            totals(&world).await.leased,
            1,
            "until the consumer has said what it did"
        );
        let done = consumer
            .complete(&client, &lease, v1::Outcome::NotNeeded)
            .await
            .unwrap();
        assert_eq!(done, v1::CompleteResult::Accepted);
        assert_eq!(totals(&world).await, v1::Totals::default());
        let again = consumer
            .complete(&client, &lease, v1::Outcome::NotNeeded)
            .await
            .unwrap();
        assert_eq!(again, v1::CompleteResult::Late, "repeating the call is harmless");
    });
}

#[test]
fn a_doubt_goes_to_the_producer_and_back() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(1.0)).await;
        let mut entry = world.entry("m1", "a", 0);
        let mut producer = Producer::publish(&world, vec![entry.clone()]).await;
        let client = world.client();
        let mut consumer = Consumer::connect(&client, 5).await.unwrap();
        let lease = consumer.granted().await.unwrap();
        consumer
            .complete(&client, &lease, v1::Outcome::NotNeeded)
            .await
            .unwrap();
        let publish_response::Message::Confirm(confirm) = producer.next().await.unwrap() else {
            panic!("confirm")
        };
        assert_eq!(
            (confirm.binding_resource_version.as_str(), confirm.message.as_str()),
            ("12", "m")
        );
        assert_eq!(totals(&world).await.held, 1);
        entry.versions.binding = "12".into();
        producer.upsert(&[entry]);
        assert!(
            consumer.granted().await.is_ok(),
            "confirmed, and leased again after its back-off"
        );
    });
}

// A consumer that crashes: the lease lapses two seconds after its duration, and the entry is leased again.
#[test]
fn a_crashed_consumer_s_lease_lapses() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(1.0)).await;
        let _producer = Producer::publish(&world, vec![world.entry("m1", "a", 0)]).await;
        let client = world.client();
        let mut crashed = Consumer::connect(&client, 1).await.unwrap();
        let first = crashed.granted().await.unwrap();
        crashed.say(v1::lease_request::Message::Renewal(v1::LeaseRenewal {
            lease_ids: vec![first.lease_id],
            ..v1::LeaseRenewal::default()
        }));
        assert!(matches!(crashed.next().await, Ok(lease_response::Message::Renewed(_))));
        drop(crashed);
        let mut consumer = Consumer::connect(&client, 1).await.unwrap();
        let before = world.clock.now();
        let second = consumer.granted().await.unwrap();
        assert!(second.lease_id > first.lease_id);
        let waited = world.clock.now().duration_since(before).as_secs_f64();
        assert!((31.9..32.1).contains(&waited), "{waited}");
        let recent = client
            .inspection()
            .await
            .unwrap()
            .list_recent(v1::ListRecentRequest::default())
            .await
            .unwrap();
        assert_eq!(recent.into_inner().outcomes[0].reason, "Lapsed");
    });
}

// Nothing is evicted on a stale word, and what is dropped for it is told, or a fleet would stand still unseen.
#[test]
fn entries_of_a_producer_that_stays_away_are_dropped_and_somebody_hears_of_it() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(0.0)).await;
        let producer = Producer::publish(&world, world.entries_of("m1", 3)).await;
        let since = world.clock.now();
        drop(producer);
        let forgotten = || {
            let labels = [("producer", "taintManager")];
            queue.metrics().value("failover_queue_forgotten_entries_total", &labels)
        };
        tokio::time::sleep(Duration::from_secs(3_598)).await;
        assert_eq!((totals(&world).await.held, forgotten()), (3, None));
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!((totals(&world).await.held, forgotten()), (0, Some(3.0)));
        let said = world.events("Lease", &lease_name(QUEUE_CONTROLLER));
        let (reason, note) = said.first().unwrap();
        assert_eq!((said.len(), reason.as_str()), (1, "ProducerForgotten"));
        let expected = format!("3 entries of taintManager are dropped: it has not come back since {since}");
        assert!(note.starts_with(&expected[..expected.len() - 10]), "{note}");
    });
}
