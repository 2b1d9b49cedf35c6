//! What else a policy says, and how it is told that it says something that cannot be done.

use kube_sandbox::{Effect, Match, Verb};
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
async fn what_of_a_policy_is_ignored_is_told_on_it() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        world.propagate("apps/v1", "Deployment", json!({"preemption": "Never"}));
        let named = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "c"}]);
        world.policy("all", json!({"resourceSelectors": named, "activationPreference": "Lazy", "preemption": "Always"}));
        world.settle().await;
        let told = world.events_from("resource-detector");
        let words = "PropagationPolicy all PolicyFieldIgnored: activationPreference Lazy is ignored: a change of the policy \
            is carried at once; preemption Always is ignored: what another policy has claimed stays with it";
        assert_eq!(told, [words]);
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

// Whether objects of a kind that cannot be read go by it is not known, so it stays; whoever deleted it is told why.
#[tokio::test(start_paused = true)]
async fn a_deleted_policy_says_why_it_cannot_go() {
    limited(async {
        let mut world = World::new(&["m1"]);
        let refusal = Effect::Error {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "configmaps is forbidden".to_owned(),
        };
        let faults = world.control_plane().faults();
        let lists = || Match::any().verb(Verb::List).resource("configmaps").client("propagation");
        let fault = faults.inject(lists(), refusal);
        world.start().await;
        let policy = ("policy.karmada.io/v1alpha1", "PropagationPolicy", Some("shop"), "maps");
        world.put(json!({"apiVersion": policy.0, "kind": policy.1,
            "metadata": {"namespace": "shop", "name": policy.3, "finalizers": ["karmada.io/propagation-policy-controller"]},
            "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}], "placement": {}}}));
        world.pass(60_000).await;
        world.delete(policy.0, policy.1, policy.2, policy.3).await;
        world.pass(120_000).await;
        assert!(world.control_plane().get(policy.0, policy.1, policy.2, policy.3).is_some());
        let told = world.events_from("resource-detector");
        let words = "PropagationPolicy maps ApplyPolicyFailed: Cannot be let go while objects may go by it: objects of kind ConfigMap cannot be read";
        assert!(told.iter().any(|said| said.starts_with(words)), "{told:?}");
        faults.remove(fault);
        world.pass(600_000).await;
        assert_eq!(world.control_plane().get(policy.0, policy.1, policy.2, policy.3), None);
    })
    .await;
}
