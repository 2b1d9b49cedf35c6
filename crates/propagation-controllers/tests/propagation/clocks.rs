//! Waits are elapsed time: a clock that is set moves none of them.

use jiff::SignedDuration;
use rstest::rstest;
use serde_json::json;

use crate::world::{World, limited};

#[rstest]
#[case::forward(SignedDuration::from_secs(45))]
#[case::back(SignedDuration::from_mins(-20))]
#[tokio::test(start_paused = true)]
async fn a_silent_cluster_is_waited_for_by_elapsed_time(#[case] jump: SignedDuration) {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.start().await;
        world.propagate("apps/v1", "Deployment", json!({}));
        world.deployment("web", 3);
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 3)]);
        world.settle().await;
        world.lose("m1");
        world.evict("web-deployment", "m1", "Directly", &[("m2", 3)]);
        world.pass(10_000).await;
        world.step_clock(jump);
        // Something that leads to another look.
        world.edit_binding("web-deployment", |binding| {
            binding["metadata"]["labels"]["looked-at"] = json!("again");
        });
        world.pass(18_000).await;
        assert!(world.deployment_on("m2", "web").is_none(), "28 s have passed, not 30");
        world.pass(3_000).await;
        assert!(world.deployment_on("m2", "web").is_some());
    })
    .await;
}
