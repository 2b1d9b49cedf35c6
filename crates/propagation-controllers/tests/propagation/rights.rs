//! Propagation asks the control plane for what its chart allows, and for nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use kube_sandbox::{Match, Verb};
use serde_json::json;

use crate::world::{World, limited};

/// A verb and a resource with its subresource.
type Right = (String, String);

/// The rights of the chart: those of the process itself, and those on templates.
fn granted() -> [BTreeSet<Right>; 2] {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/control-plane/rbac/propagation-controllers.yaml");
    let text = std::fs::read_to_string(file).unwrap();
    let mut all: [BTreeSet<Right>; 2] = Default::default();
    for document in text.split("\n---\n") {
        let on_templates = usize::from(document.contains("name: karmada-failover:templates"));
        let mut resources = Vec::new();
        for line in document.lines() {
            let list = |field: &str| -> Option<Vec<String>> {
                let inside = line
                    .trim()
                    .strip_prefix(field)?
                    .trim()
                    .strip_prefix('[')?
                    .strip_suffix(']')?;
                Some(inside.split(',').map(|word| word.trim().to_owned()).collect())
            };
            if let Some(named) = list("resources:") {
                resources = named;
            }
            for verb in list("verbs:").into_iter().flatten() {
                let rights = resources.iter().map(|resource| (verb.clone(), resource.clone()));
                all[on_templates].extend(rights);
            }
        }
    }
    all
}

/// What propagation has asked for.
fn asked(world: &World) -> BTreeSet<Right> {
    let faults = world.control_plane().faults();
    let of_propagation = |verb: Verb, resource: &str| {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let when = Match::any().verb(verb).resource(resource).subresource(subresource);
        faults.count(&when.client("propagation")) > 0
    };
    let counts = faults.counts();
    let asked = counts
        .keys()
        .filter(|(verb, resource)| *verb != Verb::Other && of_propagation(*verb, resource));
    asked
        .map(|(verb, resource)| (format!("{verb:?}").to_lowercase(), resource.clone()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_whole_life_needs_these_rights_and_no_others() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.start().await;
        world.put(json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "shop"}, "value": 7}));
        let class = json!({"priorityClassSource": "KubePriorityClass", "priorityClassName": "shop"});
        world.propagate("apps/v1", "Deployment", json!({"propagateDeps": true, "schedulePriority": class}));
        world.propagate("v1", "Service", json!({}));
        world.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "settings"}}));
        for name in ["web", "api"] {
            world.deployment(name, 2);
            world.edit("apps/v1", "Deployment", Some("shop"), name, |web| {
                web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = json!([{"configMapRef": {"name": "settings"}}]);
            });
        }
        let class = |name: &str| {
            json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1})
        };
        world.put(json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": "classes"},
            "spec": {"resourceSelectors": [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "name": "bank"}]}}));
        world.put(class("bank"));
        world.settle().await;
        let of_cluster = ("work.karmada.io/v1alpha2", "ClusterResourceBinding", "bank-priorityclass");
        world.edit(of_cluster.0, of_cluster.1, None, of_cluster.2, |binding| {
            binding["spec"]["clusters"] = json!([{"name": "m1"}]);
        });
        world.settle().await;
        world.delete("scheduling.k8s.io/v1", "PriorityClass", None, "bank").await;
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 2)]);
        world.schedule("api-deployment", &[("m2", 2)]);
        world.settle().await;
        world.evict("web-deployment", "m1", "Gracefully", &[("m2", 2)]);
        world.settle().await;
        world.drop_tasks("web-deployment");
        world.lose("m2");
        world.settle().await;
        world.delete("apps/v1", "Deployment", Some("shop"), "api").await;
        world.settle().await;
        world.regain("m2");
        world.pass(60_000).await;
        world.stop().await;
        // What is gone when it starts again is asked for once more before it is believed to be gone.
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.delete("v1", "Namespace", None, "shop").await;
        world.start().await;
        world.pass(60_000).await;

        let [own, on_templates] = granted();
        let asked = asked(&world);
        // Of this kind a person would give the right, as docs/propagation.md says.
        let is_given = |right: &Right| right.1 == "priorityclasses" && ["get", "list", "watch", "patch"].contains(&right.0.as_str());
        let refused: Vec<&Right> = asked
            .iter()
            .filter(|right| !own.contains(*right) && !on_templates.contains(*right) && !is_given(right))
            .collect();
        assert!(refused.is_empty(), "it asked for {refused:?}");
        // Whether what a list does not have is gone is asked once more before anything is removed, which is seldom.
        let is_asked_again = |right: &Right| {
            right.0 == "get" && ["namespaces", "resourcebindings", "clusterresourcebindings"].contains(&right.1.as_str())
        };
        let unneeded: Vec<&Right> = own.difference(&asked).filter(|right| !is_asked_again(right)).collect();
        assert!(unneeded.is_empty(), "nobody needs {unneeded:?}");
        let kinds_of = |verb: &str| asked.iter().filter(|(asked, _)| asked == verb).count();
        assert!(kinds_of("deletecollection") == 0, "nothing is deleted without a look at each");
    })
    .await;
}
