//! Callers of whom it is not known, or no longer, whether they may: how long they keep what they have. Inside a process,
//! under paused time.

use std::time::Duration;

use kube_sandbox::{Effect, Match};
use test_bench::paused;
use tokio::time::Instant;
use tonic::Code;

use crate::calls::{count, entries, publish, status};
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
        let crowd: Vec<_> = (0..100)
            .map(|n| {
                let client = world.client(&format!("made-up-{n}"));
                tokio::spawn(async move {
                    loop {
                        let _ = status(&client).await;
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_secs(20)).await;
        world.take("manager-token");
        let before = Instant::now();
        let ended = publishing.ended().await.unwrap();
        assert_eq!(ended.code(), Code::Unauthenticated, "{ended:?}");
        assert!(before.elapsed() <= Duration::from_secs(70), "{:?}", before.elapsed());
        for caller in crowd {
            caller.abort();
        }
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
