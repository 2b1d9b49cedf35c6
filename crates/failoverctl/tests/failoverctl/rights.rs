//! The program asks for what its roles allow, and for nothing else: every request of every command is noted and held against the
//! manifest, and every right is needed.

use std::collections::BTreeSet;

use clap::Parser;
use failoverctl::Cli;
use failoverctl::control_plane::ControlPlane;
use failoverctl::run::answer;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Value, json};

use crate::drain::connected;
use crate::live::{LIMIT, World, typed};
use crate::log::{Asked, Log, covers};
use crate::objects::{CONTROLLERS, after, cluster, lease};

/// A right, where it counts, and of which role it is.
type Right = (Option<String>, PolicyRule, String);

/// The rights of these roles, one verb on one resource each.
fn rights(of: &[&str]) -> Vec<Right> {
    let text = include_str!("../../../../charts/control-plane/rbac/failoverctl.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    let mut rights = Vec::new();
    for role in objects.iter().filter(|object| object["rules"].is_array()) {
        let name = role["metadata"]["name"].as_str().unwrap().to_owned();
        if !of.contains(&name.trim_start_matches("karmada-failover:")) {
            continue;
        }
        let namespace = role["metadata"]["namespace"].as_str().map(str::to_owned);
        let rules: Vec<PolicyRule> = serde_json::from_value(role["rules"].clone()).unwrap();
        for rule in rules {
            for verb in &rule.verbs {
                for resource in rule.resources.iter().flatten() {
                    let one = PolicyRule {
                        verbs: vec![verb.clone()],
                        resources: Some(vec![resource.clone()]),
                        ..rule.clone()
                    };
                    rights.push((namespace.clone(), one, name.clone()));
                }
            }
        }
    }
    assert!(!rights.is_empty());
    rights
}

fn allows((namespace, rule, _): &Right, asked: &Asked) -> bool {
    let is_there = match (namespace, asked) {
        (None, _) => true,
        (Some(wanted), Asked::Resource { namespace, .. }) => Some(wanted) == namespace.as_ref(),
        (Some(_), Asked::Path { .. }) => false,
    };
    is_there && covers(rule, asked)
}

/// What every user may: ask what is served, and what they may do.
fn is_everybodys(asked: &Asked) -> bool {
    match asked {
        Asked::Path { verb, path } => {
            verb == "get" && (path.starts_with("/api") || path.starts_with("/openapi/") || path == "/version")
        }
        Asked::Resource { verb, resource, .. } => verb == "create" && resource == "selfsubjectaccessreviews",
    }
}

/// A trial for which nobody is given a right: who has it learns more.
fn is_trial(asked: &Asked) -> bool {
    matches!(asked, Asked::Resource { verb, resource, .. } if verb == "create" && resource == "clustertaintpolicies")
}

/// What these commands ask for.
async fn asked(world: &World, commands: &[&[&str]]) -> BTreeSet<Asked> {
    let log = Log::default();
    for words in commands {
        world.renew();
        let cli = Cli::try_parse_from([&["failoverctl"], *words].concat()).unwrap();
        let client = log.noting(world.sandbox.client_named("failoverctl"));
        let control_plane = ControlPlane::new(client, "karmada-system");
        // Some are refused; what they asked for counts.
        let _ = answer(&cli, &control_plane, &world.around).await;
    }
    BTreeSet::from_iter(log.all())
}

/// Everything that was asked for is allowed by these roles, and everything that the roles of `needed` allow was asked for.
fn compare(all: &BTreeSet<Asked>, roles: &[&str], needed: &str) {
    let rights = rights(roles);
    let mut used = BTreeSet::new();
    for asked in all {
        let allowing: Vec<usize> = (0..rights.len())
            .filter(|index| allows(&rights[*index], asked))
            .collect();
        assert!(
            !allowing.is_empty() || is_everybodys(asked) || is_trial(asked),
            "{roles:?}: it asked for {asked:?}"
        );
        used.extend(allowing);
    }
    for (index, right) in rights.iter().enumerate() {
        let is_of_queue = right
            .1
            .resources
            .iter()
            .flatten()
            .any(|resource| resource == "evictionqueues");
        let is_needed = right.2.trim_start_matches("karmada-failover:") == needed && !is_of_queue;
        assert!(
            !is_needed || used.contains(&index),
            "nobody needs this right: {right:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn each_command_asks_for_what_its_role_allows() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let queue = world.start_queue().await;
        let _published = world.publish(vec![world.entry()]).await;
        let _evictor = connected(&world).await;
        let mut pull = json!(cluster("member4", "True"));
        pull["spec"]["syncMode"] = json!("Pull");
        world.put(typed("cluster.karmada.io/v1alpha1", "Cluster", pull));
        for namespace in ["karmada-cluster", "karmada-es-member3", "default"] {
            world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("dump.jsonl");
        let policy = directory.path().join("policy.json");
        std::fs::write(&policy, json!(crate::taints::policies()[0]).to_string()).unwrap();
        let looking: &[&[&str]] = &[
            &["status"],
            &["queue", "list"],
            &["queue", "show", "default/nginx-deployment"],
            &["queue", "recent"],
            &["explain", "binding", "default/nginx-deployment"],
            &["explain", "binding", "default/nginx"],
            &["explain", "binding", "nobody"],
            &["explain", "cluster", "member1"],
            &["explain", "cluster", "member4"],
            &["explain", "cluster", "nobody"],
            &["explain", "policy", crate::taints::NO_EXECUTE],
            &["plan", "--fail", "member1"],
            &["history"],
            &["pause", "list"],
            &["lint", policy.to_str().unwrap()],
            &["check"],
            &["dump", "-f", file.to_str().unwrap()],
            // So far they only ask.
            &["drain", "member3", "--dry-run"],
            &["drain", "member3", "--yes"],
            &["pause", "--cluster", "member1", "--reason", "r", "--dry-run"],
            &["pause", "--namespace", "default", "--reason", "r", "--dry-run"],
        ];
        let views: BTreeSet<Asked> = asked(&world, looking)
            .await
            .into_iter()
            .filter(|asked| matches!(asked, Asked::Path { .. }) || is_look(asked) || is_everybodys(asked))
            .collect();
        compare(&views, &["failoverctl-view"], "failoverctl-view");

        let changing: &[&[&str]] = &[
            &["drain", "member3", "--yes"],
            &["drain", "member3", "--yes", "--detach", "--reason", "works"],
            &["undrain", "member3", "--yes"],
            &["pause", "--cluster", "member1", "--reason", "r", "--name", "p", "--yes"],
            &[
                "pause",
                "--namespace",
                "default",
                "--reason",
                "r",
                "--name",
                "p",
                "--yes",
            ],
            &["resume", "p", "--yes"],
            &["queue", "drop", "default/nginx-deployment", "--reason", "r", "--yes"],
            &["queue", "undrop", "default/nginx-deployment", "--yes"],
        ];
        let changes = asked(&world, changing).await;
        compare(&changes, &["failoverctl-view", "failoverctl"], "failoverctl");
        queue.stop().await;
    })
    .await
    .unwrap();
}

fn is_look(asked: &Asked) -> bool {
    matches!(asked, Asked::Resource { verb, .. } if ["get", "list", "watch"].contains(&verb.as_str()))
}

#[tokio::test(start_paused = true)]
async fn handing_back_and_setting_up_have_roles_of_their_own() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&CONTROLLERS);
        let version = "work.karmada.io/v1alpha2";
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-es-member1"}}));
        let ours = json!({"failover.karmada.io/preserved-labels": "{}"});
        let mut marked = vec![
            typed("cluster.karmada.io/v1alpha1", "Cluster", json!(cluster("member2", "True"))),
            typed(version, "ResourceBinding", json!(crate::objects::binding())),
            typed("policy.karmada.io/v1alpha1", "ClusterTaintPolicy", json!(crate::taints::policies()[0])),
            json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "w", "namespace": "karmada-es-member1"},
                "spec": {"workload": {"manifests": []}}}),
        ];
        let resource = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "r"});
        marked.push(json!({"apiVersion": version, "kind": "ClusterResourceBinding", "metadata": {"name": "r-clusterrole"},
            "spec": {"resource": resource}}));
        let selector = json!([{"apiVersion": "v1", "kind": "ConfigMap"}]);
        let condition = json!({
            "type": "GracefulEviction", "status": "True", "reason": "Waiting", "message": "", "lastTransitionTime": after(-60),
        });
        for (kind, namespace) in [("PropagationPolicy", Some("default")), ("ClusterPropagationPolicy", None)] {
            let mut policy = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "metadata": {"name": "p"},
                "spec": {"resourceSelectors": selector, "placement": {}}});
            if let Some(namespace) = namespace {
                policy["metadata"]["namespace"] = json!(namespace);
            }
            marked.push(policy);
        }
        for mut object in marked {
            object["metadata"]["annotations"] = ours.clone();
            if object["kind"].as_str().unwrap().ends_with("Binding") {
                object["status"]["conditions"] = json!([condition]);
            }
            world.put(object);
        }
        world.put(typed("coordination.k8s.io/v1", "Lease", json!(lease("eviction-queue", -600, ""))));
        let all = asked(&world, &[&["handback", "--yes"]]).await;
        compare(&all, &["failoverctl-handback"], "failoverctl-handback");
    })
    .await
    .unwrap();
}

/// The role names each Secret and ServiceAccount that `kubeconfig` asks for, and no other.
#[test]
fn the_role_for_kubeconfigs_names_every_component() {
    for (_, rule, _) in rights(&["failoverctl-setup"]) {
        let names: BTreeSet<String> = rule.resource_names.unwrap().into_iter().collect();
        let is_secret = rule.resources.unwrap() == ["secrets"];
        let wanted = failoverctl::kubeconfig::COMPONENTS;
        let wanted: BTreeSet<String> = wanted
            .iter()
            .map(|name| {
                if is_secret {
                    format!("{name}-token")
                } else {
                    (*name).to_owned()
                }
            })
            .collect();
        assert_eq!(names, wanted);
    }
}
