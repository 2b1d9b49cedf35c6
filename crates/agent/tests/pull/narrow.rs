//! The agent asks for what [`agent::rights`] allows, and for nothing else: every request of a full life of an agent is
//! held against that list as RBAC would hold it.

use std::collections::BTreeSet;

use agent::rights::{self, Rights};
use api_types::ClusterName;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{Api, DeleteParams};
use kube_sandbox::{Effect, Match};
use serde_json::json;

use test_bench::paused;

use crate::log::{Asked, covers};
use crate::world::World;

/// What every client that has a name may do on any API server, by the roles that Kubernetes itself binds.
fn discovery() -> PolicyRule {
    let paths = ["/api", "/api/*", "/apis", "/apis/*", "/version", "/readyz", "/healthz"];
    PolicyRule {
        non_resource_urls: Some(paths.map(str::to_owned).to_vec()),
        verbs: vec!["get".to_owned()],
        ..PolicyRule::default()
    }
}

/// The rules, with the namespace of each.
fn scoped(rights: &Rights) -> Vec<(Option<&str>, &PolicyRule)> {
    let of_cluster = rights.cluster_role.rules.iter().flatten().map(|rule| (None, rule));
    let of_namespaces = rights.roles.iter().flat_map(|role| {
        let namespace = role.metadata.namespace.as_deref();
        role.rules.iter().flatten().map(move |rule| (namespace, rule))
    });
    of_cluster.chain(of_namespaces).collect()
}

/// The first rule that allows it.
fn allowed_by(rights: &Rights, asked: &Asked) -> Option<usize> {
    scoped(rights).into_iter().position(|(namespace, rule)| {
        let inside = match (namespace, asked) {
            (None, _) => true,
            (Some(_), Asked::Path { .. }) => false,
            (Some(wanted), Asked::Resource { namespace, .. }) => namespace.as_deref() == Some(wanted),
        };
        inside && covers(rule, asked)
    })
}

fn asked(verb: &str, group: &str, resource: &str, namespace: Option<&str>, name: Option<&str>) -> Asked {
    Asked::Resource {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
    }
}

#[test]
fn a_whole_life_needs_these_rights_and_no_others() {
    paused(async {
        let world = World::new();
        let _plane = world.start_control_plane().await;
        let agent = world.start_agent("agent-0").await;
        world.until(20).await;
        for n in 0..3 {
            world.put_work("Deployment", &format!("web-{n}"));
        }
        for kind in ["StatefulSet", "Job", "Secret", "Service"] {
            let name = kind.to_lowercase();
            let manifest = json!({"apiVersion": match kind { "StatefulSet" => "apps/v1", "Job" => "batch/v1", _ => "v1" },
            "kind": kind, "metadata": {"name": name, "namespace": "default", "labels": {"karmada.io/managed": "true"},
                "annotations": {"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": name}},
            "spec": match kind {
                "StatefulSet" => json!({"replicas": 1, "serviceName": "s", "selector": {"matchLabels": {"app": "s"}},
                    "template": {"metadata": {"labels": {"app": "s"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}),
                "Job" => json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}),
                "Service" => json!({"ports": [{"port": 80}]}),
                _ => serde_json::Value::Null,
            }});
            world.put(json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
                "metadata": {"name": name, "namespace": "karmada-es-m1", "finalizers": ["karmada.io/execution-controller"]},
                "spec": {"workload": {"manifests": [manifest]}}}));
        }
        world.put_work("ConfigMap", "settings");
        // What is not Karmada's is refused, and told.
        let theirs =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "namespace": "default"}});
        world.m1().sandbox().put(theirs).unwrap();
        world.put_work("ConfigMap", "theirs");
        // A namespace of the control plane goes to every member.
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
        world.until(60).await;
        // Conflicts, a changed Work, one that goes, a member that fails and returns, a restart, an old API of the member.
        world
            .plane()
            .faults()
            .inject_times(Match::writes().client("agent-0"), 0, 6, Effect::Conflict);
        world.put_work("Deployment", "web-0");
        let works = Api::<api_types::work::Work>::namespaced(world.plane().observer(), "karmada-es-m1");
        works.delete("web-1", &DeleteParams::default()).await.unwrap();
        let preserve = kube::api::Patch::Merge(json!({"spec": {"preserveResourcesOnDeletion": true}}));
        works.patch("web-2", &Default::default(), &preserve).await.unwrap();
        works.patch("theirs", &Default::default(), &preserve).await.unwrap();
        world.until(100).await;
        works.delete("web-2", &DeleteParams::default()).await.unwrap();
        world.until(150).await;
        for round in 0..3 {
            world.m1().stop();
            world.until(200 + round * 100).await;
            world.m1().resume();
            world.until(250 + round * 100).await;
        }
        agent.stop().await;
        let _next = world.start_agent("agent-1").await;
        world.until(700).await;
        assert_eq!(world.ready().await.0, "True");
        assert!(world.work("web-1").await.is_none() && world.work("web-2").await.is_none());

        let cluster = ClusterName::from("m1");
        for (log, rights, where_) in [
            (
                &world.asked[0],
                rights::control_plane(&cluster, "karmada-system"),
                "control plane",
            ),
            (&world.asked[1], rights::member(), "member"),
        ] {
            let all: BTreeSet<Asked> = log.all().into_iter().collect();
            let mut used = BTreeSet::new();
            for asked in &all {
                match allowed_by(&rights, asked) {
                    Some(rule) => {
                        used.insert(rule);
                    }
                    None => assert!(
                        covers(&discovery(), asked),
                        "the agent asked the {where_} for {asked:?}"
                    ),
                }
            }
            for (index, (namespace, rule)) in scoped(&rights).into_iter().enumerate() {
                assert!(
                    used.contains(&index),
                    "nobody needs this right on the {where_}: {namespace:?} {rule:?}"
                );
            }
        }
    });
}

/// What an agent that is broken into may not do.
#[test]
fn other_members_are_out_of_reach() {
    let rights = rights::control_plane(&ClusterName::from("m1"), "karmada-system");
    let cluster = "cluster.karmada.io";
    let work = "work.karmada.io";
    let lease = "coordination.k8s.io";
    for asked in [
        asked("list", cluster, "clusters", None, None),
        asked("watch", cluster, "clusters", None, None),
        asked("get", cluster, "clusters", None, Some("m2")),
        asked("patch", cluster, "clusters/status", None, Some("m2")),
        asked("patch", cluster, "clusters", None, Some("m1")),
        asked("delete", cluster, "clusters", None, Some("m1")),
        asked("list", work, "works", None, None),
        asked("list", work, "works", Some("karmada-es-m2"), None),
        asked("create", work, "works", Some("karmada-es-m1"), None),
        asked("delete", work, "works", Some("karmada-es-m1"), Some("w")),
        asked("update", lease, "leases", Some("karmada-cluster"), Some("m2")),
        asked(
            "update",
            lease,
            "leases",
            Some("karmada-system"),
            Some("cluster-status"),
        ),
        asked("list", lease, "leases", Some("karmada-cluster"), None),
        asked("list", "", "secrets", Some("karmada-cluster"), None),
        asked("get", "", "secrets", Some("karmada-cluster"), Some("m1")),
        asked("list", "", "namespaces", None, None),
        asked("create", "", "events", Some("shop"), None),
    ] {
        assert_eq!(allowed_by(&rights, &asked), None, "{asked:?}");
    }
}
