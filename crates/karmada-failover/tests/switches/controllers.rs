//! Any controller can be off: the others go on, what is not done because of it is said, and switching it on again
//! completes the story.

use std::time::Duration;

use karmada_failover::story::expect::{BINDING, placement};

use crate::common::{World, simulate};
use crate::scene::{LONG, PACE, is_enabled, moved, placed, replaced, status};

/// How far the worked example still comes within four minutes after member1 stopped.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Far {
    /// Not even a taint.
    Untainted,
    /// A taint, and nothing leaves.
    Tainted,
    /// nginx left member1 and found no new place.
    Left,
    /// It has its new place; the old copy is not let go.
    Replaced,
    /// To its end.
    Done,
}

const EXPECTED: [(&str, Far); 16] = [
    ("clusterStatus", Far::Untainted),
    ("cluster", Far::Done),
    ("clusterTaintPolicy", Far::Untainted),
    ("taintManager", Far::Tainted),
    ("evictor", Far::Tainted),
    ("applicationFailover", Far::Done),
    ("evictionQueue", Far::Tainted),
    ("gracefulEviction", Far::Replaced),
    ("scheduler", Far::Left),
    ("detector", Far::Done),
    ("dependencies", Far::Done),
    ("binding", Far::Replaced),
    ("execution", Far::Replaced),
    ("workStatus", Far::Replaced),
    ("bindingStatus", Far::Replaced),
    ("namespace", Far::Done),
];

async fn how_far(world: &World) -> Far {
    if moved(world).await.is_some() {
        return Far::Done;
    }
    let binding = world.binding(BINDING).await.unwrap();
    if placement(&binding).get("member2") == Some(&3) {
        Far::Replaced
    } else if binding.spec.target(&"member1".into()).is_none() {
        Far::Left
    } else if world.cluster("member1").await.spec.taints.is_empty() {
        Far::Untainted
    } else {
        Far::Tainted
    }
}

#[test]
fn any_controller_can_be_off_and_on_again() {
    for (off, expected) in EXPECTED {
        simulate(|| async {
            let world = World::new(&["member1", "member2"]);
            let everything = world.run("everything", &[]).await;
            world.create_example(&PACE);
            placed(&world).await;
            replaced(everything).await;

            let rest = world.run("rest", &[&format!("--controllers=*,-{off}")]).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            world.fleet.member("member1").unwrap().stop();
            tokio::time::sleep(Duration::from_secs(240)).await;

            assert_eq!(rest.has_ended(), None, "{off} off: the others go on");
            assert_eq!(how_far(&world).await, expected, "{off} off");
            let status = status(&world).await;
            let not_done = status
                .lines()
                .skip_while(|line| !line.starts_with("Not done"))
                .take_while(|line| !line.is_empty());
            assert!(not_done.clone().any(|line| line.contains(off)), "{off} off: {status}");
            for (controller, _) in EXPECTED {
                let wanted = if controller == off { 0.0 } else { 1.0 };
                assert_eq!(
                    is_enabled(&rest, controller),
                    Some(wanted),
                    "{off} off: the metric of {controller}"
                );
            }
            replaced(rest).await;

            let everything = world.run("everything again", &[]).await;
            world
                .wait_for(&format!("the end of the story with {off} on again"), LONG, || {
                    moved(&world)
                })
                .await;
            world.fleet.member("member1").unwrap().resume();
            world
                .wait_for(&format!("member1 clean with {off} on again"), LONG, || async {
                    let copy = world.fleet.member("member1").unwrap().sandbox().get(
                        "apps/v1",
                        "Deployment",
                        Some("default"),
                        "nginx",
                    );
                    (copy.is_none() && world.cluster("member1").await.spec.taints.is_empty()).then_some(())
                })
                .await;
            assert_eq!(world.rules.evictions().len(), 1, "{off} was off for a while");
            world.finish(vec![everything]).await;
        });
    }
}

/// A new controller that is on by default is in the table, or this fails.
#[test]
fn the_table_has_every_controller() {
    simulate(|| async {
        let world = World::new(&[]);
        let process = world.run("everything", &[]).await;
        let text = process.metrics().render();
        let shown = text
            .lines()
            .filter(|line| line.starts_with("failover_controller_enabled{") && line.ends_with(" 1"))
            .count();
        assert_eq!(shown, EXPECTED.len(), "{text}");
        world.finish(vec![process]).await;
    });
}
