//! A real API server takes every CRD, and refuses what their rules refuse.
#![allow(
    clippy::unwrap_used,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use std::time::Duration;

use e2e_harness::{ControlPlane, available, eventually};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

async fn create(client: &Client, object: Value) -> Result<DynamicObject, String> {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let types = object.types.clone().unwrap();
    let (group, version) = types.api_version.split_once('/').unwrap();
    let plural = api_types::crds()
        .into_iter()
        .find(|crd| crd.spec.names.kind == types.kind)
        .unwrap()
        .spec
        .names
        .plural;
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: types.api_version.clone(),
        kind: types.kind.clone(),
        plural,
    };
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let result = api
        .create(
            &PostParams {
                dry_run: true,
                ..PostParams::default()
            },
            &object,
        )
        .await;
    result.map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_api_server_takes_every_crd() {
    if available("the CRDs on a real API server").is_none() {
        return;
    }
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().await.unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in api_types::crds() {
        crds.create(&PostParams::default(), &crd).await.unwrap();
    }
    eventually("every CRD established", Duration::from_secs(30), async || {
        for crd in crds
            .list(&Default::default())
            .await
            .map_err(|error| error.to_string())?
        {
            let conditions = crd.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let mut established = false;
            for condition in conditions {
                if condition.type_ == "NonStructuralSchema" && condition.status == "True" {
                    return Err(format!("{}: {:?}", crd.name_any(), condition.message));
                }
                established |= condition.type_ == "Established" && condition.status == "True";
            }
            if !established {
                return Err(format!("{} is not established", crd.name_any()));
            }
        }
        Ok(())
    })
    .await
    .unwrap();

    let policy = |spec: Value| json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "p"}, "spec": spec});
    let taint = json!({"key": "k", "effect": "PreferNoExecute"});
    let created = create(&client, policy(json!({"matchConditions": [], "taintsToAdd": [taint]})))
        .await
        .unwrap();
    assert_eq!(
        created.data["spec"]["taintsToAdd"][0]["addOnMatchSeconds"], 300,
        "the documented default"
    );
    assert_eq!(
        created.data["spec"]["taintsToAdd"][0]["removeOnMismatchSeconds"], 180,
        "the documented default"
    );
    let refused = create(
        &client,
        policy(json!({"matchConditions": [], "taintsToAdd": [taint], "taints": [taint]})),
    )
    .await
    .unwrap_err();
    assert!(refused.contains("two forms of a policy"), "{refused}");
    let refused = create(&client, policy(json!({"taintsToAdd": [taint, taint]})))
        .await
        .unwrap_err();
    assert!(refused.contains("Duplicate value"), "{refused}");

    // Upstream tests write conditions with an empty reason; ours take them.
    let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m.1"}, "spec": {"syncMode": "Push"}});
    assert!(create(&client, cluster).await.unwrap_err().contains("DNS label"));
    let pause = json!({"apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "p"}, "spec": {"scope": "Clusters", "reason": "r"}});
    assert!(create(&client, pause).await.unwrap_err().contains("needs clusters"));
}
