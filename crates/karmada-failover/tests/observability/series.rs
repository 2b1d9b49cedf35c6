//! Series go with their objects, and there are no more of them than objects and words of the code (C70).

use std::time::Duration;

use api_types::cluster::Cluster;
use kube::Api;
use kube::api::DeleteParams;

use crate::common::{World, simulate};
use crate::scene;

// C70, karmada#5839: metrics of a removed cluster stay.
#[test]
fn no_series_outlives_its_cluster() {
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let process = world.run("all-in-one", &[]).await;
        scene::begin(&world).await;
        scene::fail(&world).await;
        let of_member1 = || {
            let text = process.metrics().render();
            let lines = text.lines().filter(|line| line.contains("\"member1\""));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(of_member1().len() > 10, "{:#?}", of_member1());
        let clusters: Api<Cluster> = Api::all(world.client());
        clusters.delete("member1", &DeleteParams::default()).await.unwrap();
        world
            .wait_for("member1 to be gone", Duration::from_secs(7_200), || async {
                let cluster = world
                    .plane()
                    .get("cluster.karmada.io/v1alpha1", "Cluster", None, "member1");
                cluster.is_none().then_some(())
            })
            .await;
        tokio::time::sleep(Duration::from_secs(900)).await;
        assert_eq!(of_member1(), [""; 0]);
        world.finish(vec![process]).await;
    });
}

/// How often member1 comes and goes, and for how long each: enough for windows, moves and clean-up;
/// `KARMADA_FAILOVER_FULL=1` waits for whatever else may follow.
fn rounds() -> (usize, Duration) {
    if std::env::var_os("KARMADA_FAILOVER_FULL").is_some_and(|value| value == "1") {
        (3, Duration::from_secs(1_200))
    } else {
        (3, Duration::from_secs(600))
    }
}

/// What happens again makes no new series.
#[test]
fn a_fleet_at_work_grows_no_series() {
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let process = world.run("all-in-one", &[]).await;
        scene::begin(&world).await;
        scene::fail(&world).await;
        let mut counts = Vec::new();
        let (rounds, each) = rounds();
        for _ in 0..rounds {
            world.fleet.member("member1").unwrap().resume();
            tokio::time::sleep(each).await;
            world.fleet.member("member1").unwrap().stop();
            tokio::time::sleep(each).await;
            counts.push(
                process
                    .metrics()
                    .render()
                    .lines()
                    .filter(|line| !line.starts_with('#'))
                    .count(),
            );
        }
        assert_eq!(counts[rounds - 2], counts[rounds - 1], "{counts:?}");
        assert!(counts[rounds - 1] < 3_000, "{counts:?}");
        world.finish(vec![process]).await;
    });
}
