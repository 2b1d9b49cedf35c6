//! A second owner of what a stock Karmada does is refused.

use controller_kit::Mode;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::json;

use crate::component_names::hosted;
use crate::control_plane::Stage;

/// With the stock Karmada that is on, where helm can look: on the Karmada API server, and on its host cluster.
pub async fn is_refused(stage: &Stage) {
    let api_service: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1alpha1.cluster.karmada.io"},
        "spec": {
            "group": "cluster.karmada.io", "version": "v1alpha1", "groupPriorityMinimum": 2000, "versionPriority": 10,
            "insecureSkipTLSVerify": true,
            "service": {"name": "karmada-aggregated-apiserver", "namespace": "karmada-system"},
        },
    }))
    .unwrap();
    let services = kube::api::ApiResource {
        group: "apiregistration.k8s.io".into(),
        version: "v1".into(),
        api_version: "apiregistration.k8s.io/v1".into(),
        kind: "APIService".into(),
        plural: "apiservices".into(),
    };
    // The one that the kinds of the other chart have made stands for none.
    let services: Api<DynamicObject> = Api::all_with(stage.client.clone(), &services);
    let patch = kube::api::Patch::Merge(json!({"metadata": {"labels": null}, "spec": api_service.data["spec"]}));
    services
        .patch("v1alpha1.cluster.karmada.io", &Default::default(), &patch)
        .await
        .unwrap();
    for name in ["karmada-crds", "control-plane", "taint-manager", "eviction-queue"] {
        let said = stage.refused(name, &["--dry-run=server"]);
        assert!(
            said.contains("stock Karmada") && said.contains("mode=beside"),
            "{name}: {said}"
        );
    }

    let deployments: Api<Deployment> = Api::namespaced(stage.client.clone(), "karmada-system");
    let stock = |flags: &[&str]| -> Deployment {
        let command = [&["/bin/x"][..], flags].concat();
        serde_json::from_value(json!({
            "metadata": {"name": "karmada-controller-manager"},
            "spec": {"selector": {"matchLabels": {"app": "stock"}}, "template": {
                "metadata": {"labels": {"app": "stock"}},
                "spec": {"containers": [{"name": "stock", "image": "stock", "command": command}]},
            }},
        }))
        .unwrap()
    };
    let beside = ["--dry-run=server", "--set", "mode=beside,karmada.kubeconfigSecret=k"];
    let create = PostParams::default();
    deployments
        .create(&create, &stock(&["--feature-gates=PropagateDeps=true,Failover=true"]))
        .await
        .unwrap();
    // Nobody has said beside, and the control plane is elsewhere.
    let unsaid = ["--dry-run=server", "--set", "karmada.kubeconfigSecret=k"];
    for name in hosted(Mode::Standalone) {
        let said = stage.refused(name, &unsaid);
        let is_told = said.contains("a stock Karmada runs in karmada-system") && said.contains("mode=beside");
        assert!(is_told, "{name}: {said}");
    }
    let elsewhere = "control-plane.enabled=false,global.karmada.kubeconfigSecretSuffix=-kubeconfig";
    let said = stage.refused("karmada-failover", &["--dry-run=server", "--set", elsewhere]);
    assert!(said.contains("a stock Karmada runs in karmada-system"), "{said}");
    for (name, advice) in [
        (
            "graceful-eviction-controller",
            "add -gracefulEviction to its --controllers",
        ),
        (
            "application-failover-controller",
            "add -applicationFailover to its --controllers",
        ),
        ("taint-manager", "--feature-gates=Failover=false"),
        ("taint-policy-controller", "--feature-gates=Failover=false"),
    ] {
        let said = stage.refused(name, &beside);
        assert!(said.contains(advice), "{name}: {said}");
    }
    let gone = Default::default();
    for on in [
        &["--controllers=*,-gracefulEviction"][..],
        &["--controllers", "*,-gracefulEviction"],
        &["--controllers=cluster,applicationFailover"],
        &["--controllers=applicationFailover,-applicationFailover"],
        &["--controllers=*,-applicationFailoverToo"],
        &["--feature-gates=Failover=false"],
    ] {
        deployments.delete("karmada-controller-manager", &gone).await.unwrap();
        deployments.create(&create, &stock(on)).await.unwrap();
        let said = stage.refused("application-failover-controller", &beside);
        assert!(said.contains("add -applicationFailover"), "{on:?}: {said}");
    }
    // As failoverctl check reads them.
    for off in [
        &[
            "--controllers=-gracefulEviction,-applicationFailover,*",
            "--feature-gates=A=true,Failover=true",
            "--feature-gates=Failover=false,StatefulFailoverInjection=true",
        ][..],
        &[
            "--controllers=*",
            "--controllers",
            "-gracefulEviction,-applicationFailover",
        ],
        &["--controllers=cluster,clusterStatus", "--feature-gates=Failover=false"],
        &[
            "--feature-gates",
            "Failover=false",
            "--controllers",
            "*,-gracefulEviction,-applicationFailover",
        ],
        &[
            "--controllers=*,-gracefulEviction,-applicationFailover",
            "--feature-gates=Failover=false",
        ],
    ] {
        deployments.delete("karmada-controller-manager", &gone).await.unwrap();
        deployments.create(&create, &stock(off)).await.unwrap();
        for name in [
            "graceful-eviction-controller",
            "application-failover-controller",
            "taint-manager",
            "taint-policy-controller",
        ] {
            stage.run("install", name, &beside);
        }
    }
}
