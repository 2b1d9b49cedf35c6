//! Templates, policies and bindings that change or go.

use kube_sandbox::{Match, Verb};
use serde_json::json;

use crate::world::{World, edit, limited};

#[tokio::test(start_paused = true)]
async fn a_deleted_template_takes_everything_along() {
    limited(async {
        let world = World::running_web().await;
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        assert!(world.binding("web-deployment").is_none());
        assert!(world.deployment_on("m1", "web").is_none() && world.deployment_on("m2", "web").is_none());
        assert!(world.work("m1", "Deployment", "web").is_none() && world.work("m2", "Deployment", "web").is_none());
    })
    .await;
}

/// What the member says is gone is not looked for once more: of a fleet that moves that is a request a workload.
#[tokio::test(start_paused = true)]
async fn an_object_is_read_once_for_its_deletion_and_again_only_if_it_waits_for_something() {
    limited(async {
        let world = World::running_web().await;
        let on_m2 = world.member("m2");
        edit(
            on_m2.sandbox(),
            "apps/v1",
            "Deployment",
            Some("shop"),
            "web",
            |deployment| {
                deployment["metadata"]["finalizers"] = json!(["example.com/wait"]);
            },
        );
        world.settle().await;
        world.forget_writes();
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        let reads = |member: &str| {
            let reads = Match::any().verb(Verb::Get).resource("deployments");
            world.member(member).faults().count(&reads)
        };
        assert!(world.deployment_on("m1", "web").is_none() && world.work("m1", "Deployment", "web").is_none());
        assert_eq!(reads("m1"), 1);
        assert!(world.deployment_on("m2", "web").is_some() && world.work("m2", "Deployment", "web").is_some());
        assert!(reads("m2") > 1, "it is waited for");
    })
    .await;
}

// C109, karmada#708; C121, argo-cd#11939: a list that was read and does not have it is an answer, not an error.
#[tokio::test(start_paused = true)]
async fn a_template_deleted_while_nobody_looked_takes_everything_along() {
    limited(async {
        let mut world = World::running_web().await;
        world.stop().await;
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.pass(60_000).await;
        assert!(world.binding("web-deployment").is_some());
        world.start().await;
        assert!(world.binding("web-deployment").is_none());
        assert!(world.deployment_on("m1", "web").is_none() && world.deployment_on("m2", "web").is_none());
    })
    .await;
}

// C117, kubefed#603: members that are away do not keep the copies on the others.
#[tokio::test(start_paused = true)]
async fn a_deleted_binding_cleans_what_it_can_and_says_what_it_waits_for() {
    limited(async {
        let world = World::running_web().await;
        world.lose("m1");
        world.settle().await;
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        assert!(world.deployment_on("m2", "web").is_none());
        let blocked = world.condition("web-deployment", "DeletionBlocked");
        assert_eq!(
            blocked["message"],
            "waits for the copies on clusters that are not ready: m1"
        );
        world.regain("m1");
        world.settle().await;
        assert!(world.binding("web-deployment").is_none());
        assert!(world.deployment_on("m1", "web").is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_policy_lets_go_and_what_runs_goes_on() {
    limited(async {
        let world = World::running_web().await;
        world.edit(
            "policy.karmada.io/v1alpha1",
            "PropagationPolicy",
            Some("shop"),
            "deployment",
            |policy| {
                policy["metadata"]["finalizers"] = json!(["karmada.io/propagation-policy-controller"]);
            },
        );
        world
            .delete(
                "policy.karmada.io/v1alpha1",
                "PropagationPolicy",
                Some("shop"),
                "deployment",
            )
            .await;
        world.settle().await;
        let policies = world
            .control_plane()
            .list("policy.karmada.io/v1alpha1", "PropagationPolicy");
        assert!(policies.is_empty(), "the finalizer goes when the claims are gone");
        let label = "propagationpolicy.karmada.io/permanent-id";
        let binding = world.binding("web-deployment").unwrap();
        let template = world
            .control_plane()
            .get("apps/v1", "Deployment", Some("shop"), "web")
            .unwrap();
        for object in [&binding, &template] {
            assert!(object["metadata"]["labels"][label].is_null());
            assert!(object["metadata"]["annotations"]["propagationpolicy.karmada.io/name"].is_null());
        }
        assert!(world.deployment_on("m1", "web").is_some());

        world.policy(
            "other",
            json!({"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}]}),
        );
        world.settle().await;
        let binding = world.binding("web-deployment").unwrap();
        assert_eq!(
            binding["metadata"]["annotations"]["propagationpolicy.karmada.io/name"],
            "other"
        );
        assert_eq!(
            binding["spec"]["clusters"].as_array().unwrap().len(),
            2,
            "the scheduler's result stays"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_holds_against_a_later_policy_and_a_namespaced_one_goes_first() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        let selector = json!([{"apiVersion": "apps/v1", "kind": "Deployment"}]);
        world.put(json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
            "metadata": {"name": "all"}, "spec": {"resourceSelectors": selector, "priority": 9}}));
        world.policy("own", json!({"resourceSelectors": selector}));
        world.settle().await;
        world.deployment("web", 1);
        world.settle().await;
        let claim = |world: &World| world.binding("web-deployment").unwrap()["metadata"]["annotations"]["propagationpolicy.karmada.io/name"].clone();
        assert_eq!(claim(&world), "own");
        world.policy("higher", json!({"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}], "priority": 5}));
        world.settle().await;
        assert_eq!(claim(&world), "own");
    })
    .await;
}

// C119, open-cluster-management#632: what a newer version of a Work no longer has is removed from the member.
#[tokio::test(start_paused = true)]
async fn what_a_newer_version_of_a_work_drops_is_removed() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start_only("execution,namespace").await;
        world.settle().await;
        let config = |name: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": name,
                "labels": {"karmada.io/managed": "true"},
                "annotations": {"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": "two"}}, "data": {"k": "v"}})
        };
        let work = |manifests: Vec<serde_json::Value>| {
            json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
                "metadata": {"namespace": "karmada-es-m1", "name": "two", "finalizers": ["karmada.io/execution-controller"]},
                "spec": {"workload": {"manifests": manifests}}})
        };
        world.put(work(vec![config("a"), config("b")]));
        world.pass(20).await;
        world.put(work(vec![config("b")]));
        world.settle().await;
        assert!(world.on("m1", "v1", "ConfigMap", "a").is_none());
        assert!(world.on("m1", "v1", "ConfigMap", "b").is_some());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_owner_wants_to_keep_stays_without_our_marks() {
    limited(async {
        let world = World::running_web().await;
        world.edit(
            "policy.karmada.io/v1alpha1",
            "PropagationPolicy",
            Some("shop"),
            "deployment",
            |policy| {
                policy["spec"]["preserveResourcesOnDeletion"] = json!(true);
            },
        );
        world.settle().await;
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        assert!(world.binding("web-deployment").is_none());
        let kept = world.deployment_on("m1", "web").unwrap();
        assert_eq!(kept["metadata"]["labels"], json!({"app": "web"}));
        let annotations = kept["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        assert!(
            !annotations.keys().any(|key| key.contains("karmada.io/")),
            "{annotations:?}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_suspended_work_holds_changes_back_and_says_so() {
    limited(async {
        let world = World::running_web().await;
        world.edit(
            "policy.karmada.io/v1alpha1",
            "PropagationPolicy",
            Some("shop"),
            "deployment",
            |policy| {
                policy["spec"]["suspension"] = json!({"dispatchingOnClusters": {"clusterNames": ["m1"]}});
            },
        );
        world.settle().await;
        world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
        });
        world.settle().await;
        let image = |member: &str| {
            world.deployment_on(member, "web").unwrap()["spec"]["template"]["spec"]["containers"][0]["image"].clone()
        };
        assert_eq!((image("m1"), image("m2")), (json!("nginx"), json!("nginx:2")));
        let work = world.work("m1", "Deployment", "web").unwrap();
        let conditions = work["status"]["conditions"].as_array().unwrap();
        assert!(
            conditions
                .iter()
                .any(|c| c["type"] == "Dispatching" && c["reason"] == "SuspendDispatching")
        );
    })
    .await;
}

// The price of one move in writes: what others do (evictor, scheduler, graceful eviction) comes on top.
#[tokio::test(start_paused = true)]
async fn a_move_costs_few_writes() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.start().await;
        world.propagate("v1", "ConfigMap", json!({}));
        world.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "c"}, "data": {"k": "v"}}));
        world.settle().await;
        world.schedule("c-configmap", &[("m1", 0)]);
        world.settle().await;
        world.forget_writes();
        world.evict("c-configmap", "m1", "Gracefully", &[("m2", 0)]);
        world.settle().await;
        world.drop_tasks("c-configmap");
        world.settle().await;
        assert!(world.on("m1", "v1", "ConfigMap", "c").is_none() && world.on("m2", "v1", "ConfigMap", "c").is_some());
        let writes: Vec<_> = world.writes().into_iter().map(|w| format!("{:?} {} {:?} {}", w.verb, w.resource, w.subresource, w.code)).collect();
        assert!(writes.len() <= 8, "{writes:#?}");
    })
    .await;
}
