//! Propagation asks the control plane for what its chart allows, and for nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Value, json};

use crate::log::{Asked, Log, covers};
use crate::world::{World, limited};

/// The account of the process.
const ACCOUNT: (&str, &str) = ("karmada-system", "propagation-controllers");

/// A rule of the chart.
struct Right {
    /// Where it counts; everywhere when absent.
    namespace: Option<String>,
    rule: PolicyRule,
    /// It is one of those on templates, of which there may be more kinds than a life here has.
    is_on_templates: bool,
}

impl Right {
    fn allows(&self, asked: &Asked) -> bool {
        let is_there = match (&self.namespace, asked) {
            (None, _) => true,
            (Some(wanted), Asked::Resource { namespace, .. }) => Some(wanted) == namespace.as_ref(),
            (Some(_), Asked::Path { .. }) => false,
        };
        is_there && covers(&self.rule, asked)
    }

    /// It taken apart: one verb on one resource, of one name where it has names.
    fn parts(&self) -> Vec<Self> {
        let rule = &self.rule;
        let names = rule.resource_names.clone().unwrap_or_default();
        let names: Vec<Option<String>> = if names.is_empty() {
            vec![None]
        } else {
            names.into_iter().map(Some).collect()
        };
        let mut parts = Vec::new();
        for verb in &rule.verbs {
            for group in rule.api_groups.iter().flatten() {
                for resource in rule.resources.iter().flatten() {
                    parts.extend(names.iter().map(|name| Self {
                        namespace: self.namespace.clone(),
                        rule: PolicyRule {
                            verbs: vec![verb.clone()],
                            api_groups: Some(vec![group.clone()]),
                            resources: Some(vec![resource.clone()]),
                            resource_names: name.clone().map(|name| vec![name]),
                            non_resource_urls: None,
                        },
                        is_on_templates: self.is_on_templates,
                    }));
                }
            }
        }
        parts
    }
}

/// What the chart gives the account, as an API server works it out that puts no ClusterRoles together.
fn granted() -> Vec<Right> {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/control-plane/rbac/propagation-controllers.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut rights = Vec::new();
    for binding in objects.iter().filter(|object| object["roleRef"].is_object()) {
        let subject = &binding["subjects"][0];
        assert_eq!(
            (subject["namespace"].as_str(), subject["name"].as_str()),
            (Some(ACCOUNT.0), Some(ACCOUNT.1)),
            "{binding}"
        );
        let namespace = binding["metadata"]["namespace"].as_str();
        let is_meant = |role: &&Value| {
            let is_near = role["kind"] == "ClusterRole" || role["metadata"]["namespace"].as_str() == namespace;
            is_near
                && role["kind"] == binding["roleRef"]["kind"]
                && role["metadata"]["name"] == binding["roleRef"]["name"]
        };
        let role = objects.iter().find(is_meant).expect("its role");
        let name = role["metadata"]["name"].as_str().unwrap();
        let rules: Vec<PolicyRule> = serde_json::from_value(role["rules"].clone()).unwrap();
        rights.extend(rules.into_iter().map(|rule| Right {
            namespace: namespace.map(str::to_owned),
            rule,
            is_on_templates: name.starts_with("karmada-failover:templates"),
        }));
    }
    rights
}

/// Of this kind a person would give the right, as docs/propagation.md says.
fn is_given(asked: &Asked) -> bool {
    let on_classes = PolicyRule {
        verbs: ["get", "list", "watch", "patch"].map(str::to_owned).to_vec(),
        api_groups: Some(vec!["scheduling.k8s.io".to_owned()]),
        resources: Some(vec!["priorityclasses".to_owned()]),
        ..PolicyRule::default()
    };
    covers(&on_classes, asked)
}

/// Every account may ask what is served.
fn is_discovery(asked: &Asked) -> bool {
    matches!(asked, Asked::Path { verb, path } if verb == "get" && (path.starts_with("/api") || path == "/version"))
}

/// Whether what a list does not have is gone is asked once more before anything is removed, which is seldom.
fn is_asked_seldom(part: &Right) -> bool {
    let resources = part.rule.resources.iter().flatten();
    part.rule.verbs == ["get"]
        && resources
            .into_iter()
            .all(|resource| ["namespaces", "resourcebindings", "clusterresourcebindings"].contains(&resource.as_str()))
}

#[tokio::test(start_paused = true)]
async fn a_whole_life_needs_these_rights_and_no_others() {
    limited(async {
        let log = Log::default();
        let mut world = World::new(&["m1", "m2"]);
        world.noted = Some(log.clone());
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

        let (rights, all) = (granted(), BTreeSet::from_iter(log.all()));
        let is_allowed = |asked: &Asked| {
            rights.iter().any(|right| right.allows(asked)) || is_given(asked) || is_discovery(asked)
        };
        let refused: Vec<&Asked> = all.iter().filter(|asked| !is_allowed(asked)).collect();
        assert!(refused.is_empty(), "it asked for {refused:#?}");
        let own = rights.iter().filter(|right| !right.is_on_templates);
        for part in own.flat_map(Right::parts) {
            let is_used = all.iter().any(|asked| part.allows(asked));
            assert!(is_used || is_asked_seldom(&part), "nobody needs {:?} in {:?}", part.rule, part.namespace);
        }
        let deletes_many = |asked: &Asked| matches!(asked, Asked::Resource { verb, .. } if verb == "deletecollection");
        assert!(!all.iter().any(deletes_many), "nothing is deleted without a look at each");
    })
    .await;
}
