//! Many at once, and nothing at rest.

use controller_kit::Mode;
use rstest::rstest;
use serde_json::json;

use super::scene::{CLIENT, Scene, after};
use test_bench::paused;

/// The nodes of a cluster die while its API lives: a thousand workloads fail at one moment. One write each, and none while
/// they wait for their turn or their place.
#[rstest]
fn a_thousand_are_written_once_each(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        const MANY: usize = 1_000;
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        for number in 0..MANY {
            scene.binding(&format!("web-{number:04}"), &["m1"], json!({"failover": after(60)}));
        }
        for number in 0..50 {
            scene.binding(&format!("calm-{number:04}"), &["m1"], json!({}));
        }
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = scene.controller("controller-0").await;
        scene.until(20).await;
        for number in 0..MANY {
            scene
                .health(&format!("default/web-{number:04}"), &[("m1", "Unhealthy")])
                .await;
        }
        for number in 0..50 {
            scene
                .health(&format!("default/calm-{number:04}"), &[("m1", "Unhealthy")])
                .await;
        }
        scene.until(25).await;
        assert_eq!(scene.entries().await.len(), MANY);
        let labels = [("cluster_name", "m1")];
        let published = controller
            .metrics()
            .value("application_failover_published_entries", &labels);
        assert_eq!(published, Some(1_000.0));
        // Heartbeats of the cluster and reports of the copies that say the same go on all the time.
        for second in 1..60 {
            scene.until(25 + second * 60).await;
            scene.health("default/web-0000", &[("m1", "Unhealthy")]).await;
        }
        let writes = scene.own_writes();
        assert_eq!(writes.len(), MANY, "{:?}", writes.last());
        let asked = scene.plane.faults().writes().into_iter();
        let tried = asked
            .filter(|write| write.client == CLIENT && write.resource == "resourcebindings")
            .count();
        assert_eq!(tried, MANY, "nothing was tried in vain");
    });
}
