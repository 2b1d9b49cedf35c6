//! The project's own CRDs are accepted and served, and their examples in the documents behave.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::needless_pass_by_value
)] // Helpers of tests count as tests.

mod common;

use common::{paused, sandbox};
use kube_sandbox::Sandbox;
use serde_json::json;

fn with_project_crds() -> Sandbox {
    let sandbox = sandbox();
    for crd in api_types::crds() {
        let name = crd.metadata.name.clone().unwrap_or_default();
        sandbox
            .apply_crd(serde_json::to_value(crd).unwrap())
            .unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    sandbox
}

#[test]
fn every_crd_is_served() {
    paused(async {
        let sandbox = with_project_crds();
        let discovered = kube::discovery::Discovery::new(sandbox.client()).run().await.unwrap();
        for crd in api_types::crds() {
            let group = discovered.get(&crd.spec.group).expect("group is missing");
            let kind = crd.spec.names.kind.as_str();
            assert!(
                group.recommended_kind(kind).is_some()
                    || group.resources_by_stability().iter().any(|(r, _)| r.kind == kind),
                "{kind}"
            );
        }
    });
}

#[test]
fn a_cluster_keeps_its_taints_and_its_status_apart() {
    paused(async {
        let sandbox = with_project_crds();
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "member1"},
            "spec": {"apiEndpoint": "http://member1.sandbox", "syncMode": "Push", "taints": [{"key": "a", "effect": "NoExecute"}]},
            "status": {"kubernetesVersion": "v1.36.3"},
        });
        let stored = sandbox.create(cluster.clone()).unwrap();
        assert_eq!(stored["spec"]["taints"][0]["key"], "a");
        assert_eq!(stored.get("status"), None);
        assert_eq!(sandbox.put(cluster).unwrap()["status"]["kubernetesVersion"], "v1.36.3");
    });
}
