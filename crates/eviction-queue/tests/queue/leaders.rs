use std::time::Duration;

use eviction_queue_api::status::{Advice, advice};
use eviction_queue_api::v1;
use jiff::SignedDuration;

use crate::world::{Consumer, Evictions, Producer, World, evict};
use test_bench::paused;

// Correctness rules 1 and 5: a new leader has the same entries, the same order and due times, and is not faster.
#[test]
fn a_new_leader_goes_on_where_the_last_one_was() {
    paused(async {
        let world = World::new();
        let entries: Vec<_> = (0..40)
            .map(|n| world.entry("m1", &format!("b{n:02}"), -(n * 7 % 40)))
            .collect();
        let mut order: Vec<_> = entries
            .iter()
            .map(|entry| (entry.due_at, entry.key.binding.name.clone()))
            .collect();
        order.sort();
        let first = world.queue("q1", world.flags(0.5)).await;
        let _second = world.queue("q2", world.flags(0.5)).await;
        let evictions = Evictions::default();
        let consumer = evict(&world, evictions.clone());
        tokio::pin!(consumer);
        let producer = Producer::publish(&world, entries.clone()).await;
        let _ = tokio::time::timeout(Duration::from_millis(20_500), &mut consumer).await;
        let done = evictions.count();
        assert!((9..=11).contains(&done), "{done}");
        drop(producer);
        first.crash();
        // The producer sees the stream break, finds the new leader and publishes what is left.
        let rest = async {
            tokio::time::sleep(Duration::from_secs(25)).await;
            let names = evictions.names();
            let rest = entries
                .iter()
                .filter(|entry| !names.contains(&entry.key.binding.name))
                .cloned()
                .collect();
            let producer = Producer::publish(&world, rest).await;
            tokio::time::sleep(Duration::from_secs(100)).await;
            drop(producer);
        };
        tokio::select! {
            biased;
            () = &mut consumer => {}
            () = rest => {}
        }
        assert_eq!(
            evictions.names(),
            order.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>()
        );
        assert!(evictions.closest().unwrap() >= SignedDuration::from_secs(2));
    });
}

// A follower answers, says that it does not serve, and where the leader is.
#[test]
fn a_follower_leads_to_the_leader() {
    paused(async {
        let world = World::new();
        let flags = |address: &str| eviction_queue::Flags {
            queue_advertise_address: Some(address.to_owned()),
            ..world.flags(0.5)
        };
        let leader = world.queue("q1", flags("first:1")).await;
        let _follower = world.queue("q2", flags("second:1")).await;
        let at_follower = || eviction_queue_api::QueueClient::at("second:1").through(world.network.clone());
        let mut service = at_follower().inspection().await.unwrap();
        let status = service.get_status(v1::GetStatusRequest {}).await.unwrap_err();
        assert_eq!(
            advice(&status),
            Advice::GoTo {
                address: "first:1".into()
            }
        );
        let call = |mut service: v1::queue_inspection_client::QueueInspectionClient<_>| async move {
            service.get_status(v1::GetStatusRequest {}).await
        };
        let answer = at_follower().inspect(Duration::from_secs(5), call).await.unwrap();
        assert_eq!(answer.leader, "q1", "a client that is sent on arrives");

        leader.stop().await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(world.status().await.leader, "q2");
        let mut service = at_follower().inspection().await.unwrap();
        assert_eq!(
            service
                .get_status(v1::GetStatusRequest {})
                .await
                .unwrap()
                .into_inner()
                .leader,
            "q2"
        );
    });
}

// A leader that is suspended does not release when it wakes up after its time.
#[test]
fn a_leader_that_slept_too_long_releases_nothing() {
    paused(async {
        let world = World::new();
        let first = world.queue("q1", world.flags(1.0)).await;
        let _second = world.queue("q2", world.flags(1.0)).await;
        let _producer = Producer::publish(&world, world.entries_of("m1", 50)).await;
        let client = world.client();
        let mut consumer = Consumer::connect(&client, 50).await.unwrap();
        let lease = consumer.granted().await.unwrap();
        first.freeze();
        tokio::time::sleep(Duration::from_secs(60)).await;
        first.thaw();
        let stale = lease.queue_epoch;
        let more = async {
            while let Ok(lease) = consumer.granted().await {
                assert_ne!(lease.queue_epoch, stale, "released by a leader whose time was over");
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(60), more).await;
        assert_eq!(world.status().await.leader, "q2");
    });
}

// A client without anybody to talk to says whom it looks for and how.
#[test]
fn nobody_leads() {
    paused(async {
        let world = World::new();
        let call = |mut service: v1::queue_inspection_client::QueueInspectionClient<_>| async move {
            service.get_status(v1::GetStatusRequest {}).await
        };
        let error = world.client().inspect(Duration::from_secs(3), call).await.unwrap_err();
        let expected = "the eviction queue was not reached within 3s: no eviction queue leads: Lease \
                        karmada-system/eviction-queue does not exist; is the eviction-queue running?";
        assert_eq!(error.to_string(), expected);
    });
}

// What releases nothing says so where those can read it who do not speak gRPC.
#[test]
fn a_standstill_stands_on_the_lease_for_as_long_as_it_lasts() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(1.0)).await;
        let leases = kube::Api::<k8s_openapi::api::coordination::v1::Lease>::namespaced(
            world.plane.observer(),
            "karmada-system",
        );
        let said = || async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let lease = leases.get("eviction-queue").await.unwrap();
            let annotations = lease.metadata.annotations.unwrap_or_default();
            annotations
                .get("failover.karmada.io/standstill")
                .cloned()
                .unwrap_or_default()
        };
        assert_eq!(said().await, "");
        world.fail("h1");
        assert_eq!(
            said().await,
            "nothing is released: regime Halted, 3 of 5 clusters are faulty (60.0 %), more than 55.0 % of a fleet of at most 10"
        );
        world.heal("h1");
        assert_eq!(said().await, "");
    });
}
