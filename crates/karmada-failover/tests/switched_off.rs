//! Any component can be off: the others go on, and what is not done because of it is said.

mod common;

use std::time::Duration;

use common::{World, simulate};
use karmada_failover::story::example::Pace;
use karmada_failover::story::expect::{BINDING, placement};

const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 0.5,
};

/// What must still have happened to the worked example, ten minutes after member1 stopped.
struct Expected {
    off: &'static str,
    is_tainted: bool,
    has_left: bool,
    is_replaced: bool,
}

#[test]
fn the_others_go_on() {
    let expected = [
        Expected { off: "evictor", is_tainted: true, has_left: false, is_replaced: false },
        Expected { off: "evictionQueue", is_tainted: true, has_left: false, is_replaced: false },
        Expected { off: "taintManager", is_tainted: true, has_left: false, is_replaced: false },
        Expected { off: "clusterTaintPolicy", is_tainted: false, has_left: false, is_replaced: false },
        Expected { off: "clusterStatus", is_tainted: false, has_left: false, is_replaced: false },
        Expected { off: "scheduler", is_tainted: true, has_left: true, is_replaced: false },
        Expected { off: "gracefulEviction", is_tainted: true, has_left: true, is_replaced: true },
        Expected { off: "detector", is_tainted: true, has_left: true, is_replaced: true },
        Expected { off: "execution", is_tainted: true, has_left: true, is_replaced: true },
    ];
    for Expected { off, is_tainted, has_left, is_replaced } in expected {
        simulate(|| async {
            let world = World::new(&["member1", "member2"]);
            let everything = world.run("everything", &[]).await;
            world.create_example(&PACE);
            world
                .wait_for("nginx placed", Duration::from_secs(300), || async {
                    let binding = world.binding(BINDING).await?;
                    let status = binding.status?;
                    (status.aggregated_status.iter().filter(|item| item.health.is_some()).count() == 2).then_some(())
                })
                .await;
            everything.stop().await;

            let rest = world.run("rest", &[&format!("--controllers=*,-{off}")]).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            world.fleet.member("member1").unwrap().stop();
            tokio::time::sleep(Duration::from_secs(600)).await;

            assert_eq!(rest.has_ended(), None, "{off} off: the others go on");
            let tainted = !world.cluster("member1").await.spec.taints.is_empty();
            assert_eq!(tainted, is_tainted, "{off} off: member1 tainted");
            let binding = world.binding(BINDING).await.unwrap();
            assert_eq!(binding.spec.target(&"member1".into()).is_none(), has_left, "{off} off: nginx left member1");
            let replaced = placement(&binding).get("member2") == Some(&3);
            assert_eq!(replaced, is_replaced, "{off} off: three replicas on member2");
            world.finish(vec![rest]).await;
        });
    }
}
