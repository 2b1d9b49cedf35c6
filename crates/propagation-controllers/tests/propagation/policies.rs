//! What else a policy says, and how it is told that it says something that cannot be done.

use serde_json::json;

use crate::world::{World, limited};

#[tokio::test(start_paused = true)]
async fn the_priority_class_of_a_policy_orders_its_bindings() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        let class = |name: &str| json!({"priorityClassSource": "KubePriorityClass", "priorityClassName": name});
        world.propagate("apps/v1", "Deployment", json!({"schedulePriority": class("shop")}));
        world.deployment("web", 1);
        world.settle().await;
        let told = world.events_from("resource-detector");
        let words = "there is no PriorityClass shop, which the policy's schedulePriority names; create it, or name another";
        assert!(told.iter().any(|said| said == &format!("Deployment web ApplyPolicyFailed: {words}")), "{told:?}");
        world.put(json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "shop"}, "value": 700}));
        world.pass(300_000).await;
        assert_eq!(world.binding("web-deployment").unwrap()["spec"]["schedulePriority"], json!({"priority": 700}));
        world.propagate("apps/v1", "Deployment", json!({}));
        world.settle().await;
        assert!(world.binding("web-deployment").unwrap()["spec"].get("schedulePriority").is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_is_told_of_which_kinds_it_selects_nothing() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        world.propagate("example.io/v1", "Widget", json!({}));
        world.propagate("coordination.k8s.io/v1", "Lease", json!({}));
        world.pass(20_000).await;
        let mut told = world.events_from("resource-detector");
        told.sort();
        assert_eq!(
            told,
            [
                "PropagationPolicy lease ApplyPolicyFailed: Nothing is selected: objects of kind Lease are not propagated: every API server makes its own",
                "PropagationPolicy widget ApplyPolicyFailed: Nothing is selected: the API server does not serve Widget (example.io/v1)",
            ]
        );
    })
    .await;
}
