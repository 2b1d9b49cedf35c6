//! Callers of whom it is not known, or no longer, whether they may: how long they keep what they have. Inside a process,
//! under paused time.

use std::time::Duration;

use eviction_queue::access::AccessFlags;
use kube_sandbox::{Effect, Match};
use test_bench::paused;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::calls::{count, entries, publish, status, watch};
use crate::tokens::World;

// A crowd of made up tokens, and an API server that is slower than they come: the token that was taken away is seen all
// the same, and the stream ends.
#[test]
fn a_crowd_does_not_keep_the_end_of_a_right_unseen() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q").await;
        let mut publishing = publish(&world.client("manager-token"), entries(3)).await.unwrap();
        let slow = Match::any().resource("tokenreviews");
        let slow = world
            .bench
            .plane()
            .faults()
            .inject(slow, Effect::Latency(Duration::from_secs(2)));
        let mut crowd = JoinSet::new();
        for n in 0..100 {
            let client = world.client(&format!("made-up-{n}"));
            crowd.spawn(async move {
                // Not in step: somebody of them always waits for a turn.
                tokio::time::sleep(Duration::from_millis(61 * n)).await;
                loop {
                    let _ = status(&client).await;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            });
        }
        tokio::time::sleep(Duration::from_secs(20)).await;
        world.take("manager-token");
        let before = Instant::now();
        let ended = publishing.ended().await.unwrap();
        assert_eq!(ended.code(), Code::Unauthenticated, "{ended:?}");
        assert!(before.elapsed() <= Duration::from_secs(70), "{:?}", before.elapsed());
        drop(crowd);
        world.bench.plane().faults().remove(slow);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(count(&world.client("alice-token")).await, 3, "nothing is lost");
    });
}

// Reviews alone that are refused or not answered, while the queue leads on: nobody judges the token any more, so that its
// stream ends some time.
#[test]
fn a_stream_that_nobody_judges_ends() {
    paused(async {
        let forbidden = Effect::Error {
            code: 403,
            reason: "Forbidden".into(),
            message: "no".into(),
        };
        for (effect, why) in [
            (forbidden, "bind ClusterRole karmada-failover:eviction-queue to it"),
            (Effect::Hang, "no answer within 5 seconds"),
        ] {
            let world = World::new();
            let _queue = world.queue("q").await;
            let mut publishing = publish(&world.client("manager-token"), entries(3)).await.unwrap();
            let fault = world.no_reviews(effect);
            world.take("manager-token");
            let before = Instant::now();
            let ended = publishing.ended().await.unwrap();
            assert_eq!(ended.code(), Code::Unavailable, "{ended:?}");
            assert!(
                ended.message().starts_with("not known for 3") && ended.message().contains(why),
                "{}",
                ended.message()
            );
            let lasted = before.elapsed();
            assert!(
                lasted >= Duration::from_secs(300) && lasted <= Duration::from_secs(315),
                "{lasted:?}"
            );
            world.bench.plane().faults().remove(fault);
            assert_eq!(count(&world.client("alice-token")).await, 3, "nothing is lost");
        }
    });
}

// Anybody may have a connection and ask for health on it. Whoever does nothing else does not keep the place.
#[test]
fn a_stranger_does_not_keep_a_place() {
    paused(async {
        let world = World::new();
        let access = AccessFlags {
            queue_max_connections: 2,
            ..AccessFlags::default()
        };
        let queue = world.queue_with("q", access).await;
        let alice = world.client("alice-token");
        let mut watching = watch(&alice).await.unwrap();
        let mut health = HealthClient::new(world.channel().await);
        let mut held = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
        let manager = world.client("manager-token");
        assert_eq!(status(&manager).await.unwrap_err().code(), Code::ResourceExhausted);

        tokio::time::sleep(Duration::from_secs(15)).await;
        // A question that everybody may ask does not count.
        health.check(HealthCheckRequest::default()).await.unwrap();
        let ended = async {
            loop {
                match held.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => return,
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(16), ended).await.unwrap();
        let refused = ("reason", "NoAdmittedCall");
        let counted = queue
            .metrics()
            .value("failover_queue_connections_refused_total", &[refused]);
        assert_eq!(counted, Some(1.0));
        let publishing = publish(&manager, entries(2)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(120)).await;
        publishing.upsert(entries(4));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(count(&alice).await, 4);
        while let Ok(message) = tokio::time::timeout(Duration::from_secs(1), watching.message()).await {
            message.unwrap().unwrap();
        }
        let counted = queue
            .metrics()
            .value("failover_queue_connections_refused_total", &[refused]);
        assert_eq!(counted, Some(1.0), "who may do something keeps the place");
    });
}
