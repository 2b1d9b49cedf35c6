//! The worked example in one process under simulated time: three replicas 1:2, member1 fails and returns.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod common;

use std::time::Duration;

use api_types::names::taint;
use common::{World, simulate};
use karmada_failover::story::example::Pace;
use karmada_failover::story::expect::{BINDING, placement};

const SOON: Duration = Duration::from_secs(30);
const LATER: Duration = Duration::from_secs(900);

/// The windows of a real fleet: minutes pass in milliseconds here.
const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 300,
    remove_on_mismatch_seconds: 180,
    evictions_per_second: 0.5,
};

async fn placed(world: &World, wanted: &[(&str, i32)]) -> Option<()> {
    let binding = world.binding(BINDING).await?;
    let wanted = wanted
        .iter()
        .map(|(cluster, replicas)| ((*cluster).to_owned(), *replicas))
        .collect();
    (placement(&binding) == wanted && binding.spec.graceful_eviction_tasks.is_empty()).then_some(())
}

async fn available(world: &World, member: &str) -> i64 {
    let deployment =
        world
            .fleet
            .member(member)
            .unwrap()
            .sandbox()
            .get("apps/v1", "Deployment", Some("default"), "nginx");
    deployment.map_or(0, |deployment| {
        deployment["status"]["availableReplicas"].as_i64().unwrap_or(0)
    })
}

// C106, karmada#4455: the copy on the member that was away goes when it is back.
#[test]
fn a_member_fails_and_returns() {
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let process = world.run("all-in-one", &[]).await;
        world.create_example(&PACE);
        world
            .wait_for("nginx everywhere", SOON + LATER, || async {
                (available(&world, "member1").await == 1 && available(&world, "member2").await == 2).then_some(())
            })
            .await;
        assert!(placed(&world, &[("member1", 1), ("member2", 2)]).await.is_some());

        world.fleet.member("member1").unwrap().stop();
        let stopped_at = world.clock.now();
        world
            .wait_for("the NoExecute taint", LATER, || async {
                let cluster = world.cluster("member1").await;
                cluster
                    .spec
                    .taints
                    .iter()
                    .any(|t| t.key == taint::NOT_READY && t.effect == "NoExecute")
                    .then_some(())
            })
            .await;
        let waited = world.clock.now().duration_since(stopped_at).as_secs();
        assert!(
            (330..=351).contains(&waited),
            "threshold 30 s, window 300 s, probes every 10 s: {waited} s"
        );

        world
            .wait_for("three replicas on member2", SOON, || placed(&world, &[("member2", 3)]))
            .await;
        assert_eq!(
            available(&world, "member2").await,
            3,
            "the task went only when the replacement was there"
        );
        let waiting = world.works("member1").await;
        assert!(
            waiting.iter().any(|work| work.metadata.deletion_timestamp.is_some()),
            "the old Work waits for member1"
        );

        tokio::time::sleep(LATER).await;
        assert!(
            !world.works("member1").await.is_empty(),
            "and waits as long as it takes"
        );

        world.fleet.member("member1").unwrap().resume();
        world
            .wait_for("member1 Ready", LATER, || async {
                world.cluster("member1").await.is_ready().then_some(())
            })
            .await;
        world
            .wait_for("the old copy to go within seconds", SOON, || async {
                let has_copy = world
                    .fleet
                    .member("member1")
                    .unwrap()
                    .sandbox()
                    .get("apps/v1", "Deployment", Some("default"), "nginx")
                    .is_some();
                let has_work = world
                    .works("member1")
                    .await
                    .iter()
                    .any(|work| work.metadata.deletion_timestamp.is_some());
                (!has_copy && !has_work).then_some(())
            })
            .await;
        world
            .wait_for("no taint on member1", LATER, || async {
                world.cluster("member1").await.spec.taints.is_empty().then_some(())
            })
            .await;

        tokio::time::sleep(LATER).await;
        assert!(
            placed(&world, &[("member2", 3)]).await.is_some(),
            "nothing moves back by itself"
        );
        assert_eq!(world.rules.evictions().len(), 1);
        world.finish(vec![process]).await;
    });
}

/// A blip: member1 is away for less than its window. Nothing moves, nothing is left behind.
#[test]
fn a_blip_moves_nothing() {
    simulate(|| async {
        let world = World::new(&["member1", "member2"]);
        let process = world.run("all-in-one", &[]).await;
        world.create_example(&PACE);
        world
            .wait_for("nginx placed", LATER, || {
                placed(&world, &[("member1", 1), ("member2", 2)])
            })
            .await;
        tokio::time::sleep(LATER).await;
        for _ in 0..3 {
            world.fleet.member("member1").unwrap().stop();
            tokio::time::sleep(Duration::from_secs(200)).await;
            world.fleet.member("member1").unwrap().resume();
            tokio::time::sleep(LATER).await;
        }
        assert!(placed(&world, &[("member1", 1), ("member2", 2)]).await.is_some());
        assert!(world.cluster("member1").await.spec.taints.is_empty());
        assert!(world.rules.evictions().is_empty());
        world.finish(vec![process]).await;
    });
}
