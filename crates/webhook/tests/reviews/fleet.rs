//! What the webhook knows of the control plane beside the object.

use std::collections::BTreeMap;

use controller_kit::{Clock, Ended};
use serde_json::json;
use test_bench::Of;

use crate::scene::{CLIENT, PAUSES, Scene, pause, warnings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_mean_nothing_are_told_once_the_clusters_are_known() {
    let scene = Scene::new();
    scene
        .plane
        .put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "member1"},
            "spec": {"syncMode": "Push"},
        }))
        .unwrap();
    scene
        .plane
        .put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "cluster-taint-policy", "namespace": "karmada-system",
                "annotations": BTreeMap::from([(controller_kit::leader::GATES_ANNOTATION, "Failover=false")])},
            "spec": {"holderIdentity": "somebody"},
        }))
        .unwrap();
    let server = scene.start().await;
    server.ready().await;
    let some = pause(&json!({"scope": "Clusters", "clusters": ["membr1"]}));
    let response = server.review(&scene, PAUSES, &some).await;
    assert_eq!(
        warnings(&response),
        [
            "no-such-cluster: spec.clusters[0]: there is no cluster membr1: nothing is held back by this name until a cluster \
          has joined by it; did you mean member1?"
        ]
    );
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "p"},
        "spec": {
            "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
            "taintsToAdd": [{"key": "k", "effect": "NoExecute"}],
        },
    });
    let response = server
        .review(&scene, "/validate/clustertaintpolicies.policy.karmada.io", &policy)
        .await;
    let told: Vec<&str> = warnings(&response)
        .iter()
        .filter_map(|warning| warning.split(':').next())
        .collect();
    assert_eq!(told, ["no-such-condition", "gate-off"]);
    assert_eq!(server.running.stop().await, Ended::Stopped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_our_kinds_it_says_so_and_ends() {
    let scene = Scene::new();
    let plane = Scene::empty_plane(&Clock::system());
    let flags = scene.flags(&scene.authority.issue("webhook", Of::Server));
    let running = scene.process(plane.client_named(CLIENT), flags).await;
    let Ended::Failed(failure) = running.ended().await else {
        panic!("it goes on");
    };
    let failure = failure.to_string();
    assert!(
        failure.contains("the API server does not serve Cluster (cluster.karmada.io/v1alpha1)"),
        "{failure}"
    );
}
