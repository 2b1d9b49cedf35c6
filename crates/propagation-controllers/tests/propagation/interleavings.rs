//! The stores of a process are at different versions for a moment: nobody is warned of it, and the end is the same.

use std::time::Duration;

use kube_sandbox::{EventEffect, Match, Verb};
use rstest::rstest;
use serde_json::json;

use crate::world::{World, limited};

/// Events of these kinds reach us later than they happen.
fn late(world: &World, resources: &[&str], milliseconds: u64) {
    for resource in resources {
        let watch = Match::any().verb(Verb::Watch).resource(resource).client("propagation");
        let delay = EventEffect::Delay(Duration::from_millis(milliseconds));
        world.control_plane().faults().disturb_events(watch, 0, u64::MAX, delay);
    }
}

fn warnings(world: &World) -> Vec<String> {
    let events = world.control_plane().list("v1", "Event");
    let warnings = events.iter().filter(|event| event["type"] == "Warning");
    warnings
        .map(|event| format!("{}: {}", event["reason"], event["message"]))
        .collect()
}

/// A Deployment and its policy applied together, in either order, whatever is seen last.
#[rstest]
#[tokio::test(start_paused = true)]
async fn a_fresh_apply_warns_of_nothing(
    #[values(&["resourcebindings"], &["deployments"], &["propagationpolicies"], &["deployments", "resourcebindings"])]
    kinds: &[&str],
    #[values(1, 190, 700, 3_000)] milliseconds: u64,
    #[values("policy first", "template first")] order: &str,
) {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        late(&world, kinds, milliseconds);
        if order == "policy first" {
            world.propagate("apps/v1", "Deployment", json!({}));
        }
        world.deployment("web", 3);
        if order == "template first" {
            world.propagate("apps/v1", "Deployment", json!({}));
        }
        world.pass(20_000).await;
        assert_eq!(world.binding("web-deployment").unwrap()["spec"]["replicas"], 3);
        assert_eq!(warnings(&world), Vec::<String>::new());
    })
    .await;
}

/// What is to be taken away from an object is gone already: the server answers 422 before it looks at the version.
#[tokio::test(start_paused = true)]
async fn a_patch_for_an_old_version_is_worked_out_anew() {
    limited(async {
        let world = World::running_web().await;
        late(&world, &["deployments"], 3_000);
        world.forget_writes();
        world
            .delete(
                "policy.karmada.io/v1alpha1",
                "PropagationPolicy",
                Some("shop"),
                "deployment",
            )
            .await;
        // The change of the binding is seen first, and leads to a look at a template that still has its claim.
        world.pass(20_000).await;
        let codes: Vec<u16> = world.writes().iter().map(|write| write.code).collect();
        assert!(codes.contains(&422), "the case came up: {codes:?}");
        let template = world
            .control_plane()
            .get("apps/v1", "Deployment", Some("shop"), "web")
            .unwrap();
        for object in [&world.binding("web-deployment").unwrap(), &template] {
            assert!(object["metadata"]["labels"]["propagationpolicy.karmada.io/permanent-id"].is_null());
        }
        assert_eq!(warnings(&world), Vec::<String>::new());
    })
    .await;
}
