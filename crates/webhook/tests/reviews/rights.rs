//! The webhook asks the control plane for what the chart `control-plane` grants its ServiceAccount, and for nothing else:
//! every request of a whole life is noted and held against the rights, and each right is needed.

use std::collections::BTreeSet;

use controller_kit::{Ended, Mode};
use kube_sandbox::Match;
use serde_json::{Value, json};
use test_bench::Of;
use webhook::HOOKS;

use crate::granted::granted;
use crate::log::{Asked, Log};
use crate::scene::{CLIENT, Scene, eventually};

/// Every account may ask what is served.
fn is_discovery(asked: &Asked) -> bool {
    matches!(asked, Asked::Path { verb, path } if verb == "get" && (path.starts_with("/api") || path == "/version"))
}

/// An object of the kind that is asked about at this path, with names that are looked up.
fn object(path: &str) -> Value {
    let selectors = json!([{"apiVersion": "apps/v1", "kind": "Deployment"}]);
    let placement = json!({"clusterAffinity": {"clusterNames": ["membr1"]}});
    let failover = json!({"cluster": {"purgeMode": "Gracefully"}});
    let policy = json!({"resourceSelectors": selectors, "placement": placement, "failover": failover});
    let resource = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"});
    let (version, kind, spec) = match path.rsplit('/').next().unwrap() {
        "clustertaintpolicies.policy.karmada.io" => (
            "policy.karmada.io/v1alpha1",
            "ClusterTaintPolicy",
            json!({
                "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
                "taintsToAdd": [{"key": "k", "effect": "NoExecute"}],
            }),
        ),
        "propagationpolicies.policy.karmada.io" => ("policy.karmada.io/v1alpha1", "PropagationPolicy", policy),
        "clusterpropagationpolicies.policy.karmada.io" => {
            ("policy.karmada.io/v1alpha1", "ClusterPropagationPolicy", policy)
        }
        "failoverpauses.failover.karmada.io" => (
            "failover.karmada.io/v1alpha1",
            "FailoverPause",
            json!({"scope": "Clusters", "clusters": ["membr1"], "reason": "maintenance"}),
        ),
        "resourcebindings.work.karmada.io" => (
            "work.karmada.io/v1alpha2",
            "ResourceBinding",
            json!({"resource": resource}),
        ),
        "clusterresourcebindings.work.karmada.io" => (
            "work.karmada.io/v1alpha2",
            "ClusterResourceBinding",
            json!({"resource": resource}),
        ),
        "clusters.cluster.karmada.io" => (
            "cluster.karmada.io/v1alpha1",
            "Cluster",
            json!({"syncMode": "Push", "zone": "zone-a"}),
        ),
        other => panic!("what is {other}?"),
    };
    let mut metadata = json!({"name": "n"});
    if ["PropagationPolicy", "ResourceBinding"].contains(&kind) {
        metadata["namespace"] = json!("shop");
    }
    json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_life_needs_these_rights_and_no_others() {
    let scene = Scene::new();
    let log = Log::default();
    for round in ["first", "next"] {
        let flags = scene.flags(&scene.authority.issue("webhook", Of::Server));
        let server = scene
            .start_as(log.noting(scene.plane.client_named(CLIENT)), flags)
            .await;
        server.ready().await;
        for (path, _) in HOOKS {
            let response = server.review(&scene, path, &object(path)).await;
            assert_eq!(response["allowed"], true, "{round} {path}: {response}");
        }
        // What it follows breaks off, and it asks again.
        let lists = || scene.plane.faults().count(&Match::any().client(CLIENT));
        let before = lists();
        scene.plane.faults().cut_watches(Match::any().client(CLIENT));
        eventually("it asks again", async || lists() > before).await;
        server.ready().await;
        assert_eq!(server.running.stop().await, Ended::Stopped);
    }

    let asked = BTreeSet::from_iter(log.all());
    for mode in [Mode::Standalone, Mode::Beside] {
        let rights = granted("webhook", mode);
        let mut wrong: Vec<String> = asked
            .iter()
            .filter(|asked| !is_discovery(asked) && !rights.iter().any(|right| right.allows(asked)))
            .map(|asked| format!("it asks for what it may not: {asked:?}"))
            .collect();
        let unused = rights
            .iter()
            .filter(|right| !asked.iter().any(|asked| right.allows(asked)));
        wrong.extend(unused.map(|right| format!("it never needs {right}")));
        assert!(wrong.is_empty(), "{mode:?}:\n{}", wrong.join("\n"));
    }
}
