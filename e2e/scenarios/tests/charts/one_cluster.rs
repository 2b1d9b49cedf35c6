//! Everything on one cluster, which is its own control plane: the commands of the README and of docs/install.md, typed on a
//! fresh one.

use std::ffi::OsString;
use std::time::Duration;

use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::Mode;
use e2e_harness::{ControlPlane, Identity, Tool, available_with, eventually};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::component_names::hosted;
use crate::typed::{Terminal, lines};

const README: &str = include_str!("../../../../README.md");
const NAMESPACE: &str = "karmada-system";

/// As a terminal shows them.
fn of_the_readme() -> Vec<&'static str> {
    let lines = README.lines().filter_map(|line| line.strip_prefix("$ "));
    lines.filter(|line| line.starts_with("helm ")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_the_readme_install_everything() {
    let Some(binaries) = available_with(Tool::Helm, "the charts on a cluster of their own") else {
        return;
    };
    let written = lines("Standalone, on one cluster", "helm").unwrap();
    let installs = of_the_readme();
    assert_eq!(installs.len(), 2, "{installs:?}");
    assert!(written.starts_with(&installs), "docs/install.md says {written:?}");

    let plane = ControlPlane::start().await.unwrap();
    // It has the controllers of Deployments, and something that lets Pods be ready.
    let cluster = plane.start_member("cluster").await.unwrap();
    let variables = [
        ("KUBECONFIG", cluster.kubeconfig(Identity::Admin).into_os_string()),
        ("REGISTRY", OsString::from("registry.example.com/karmada-failover")),
    ];
    let terminal = Terminal::new(&binaries, plane.folder().path(), variables).unwrap();
    tokio::task::block_in_place(|| terminal.type_in(&installs.join("\n"))).unwrap();
    let client = cluster.client().await.unwrap();
    everything_runs_as_an_account_of_this_cluster(&client).await;

    let policies: Api<ClusterTaintPolicy> = Api::all(client.clone());
    assert!(policies.get_opt("not-ready-no-execute").await.unwrap().is_none());
    let rest = written[installs.len()..].join("\n");
    tokio::task::block_in_place(|| terminal.type_in(&rest)).unwrap();
    policies.get("not-ready-no-execute").await.unwrap();
    let gate = "--feature-gates=Failover=true".to_owned();
    for deployment in deployments(&client).await {
        assert!(arguments(&deployment).contains(&gate), "{}", deployment.name_any());
    }
}

async fn deployments(client: &Client) -> Vec<Deployment> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let found = deployments.list(&Default::default()).await.unwrap();
    found.items
}

fn arguments(deployment: &Deployment) -> Vec<String> {
    let pod = deployment.spec.template.spec.as_ref().unwrap();
    pod.containers[0].args.clone().unwrap_or_default()
}

/// Each component but the webhook, which is off: with the account's token in its Pods, and rights for it.
async fn everything_runs_as_an_account_of_this_cluster(client: &Client) {
    let found = deployments(client).await;
    let names: Vec<String> = found.iter().map(ResourceExt::name_any).collect();
    let wanted: Vec<&str> = hosted(Mode::Standalone)
        .iter()
        .copied()
        .filter(|name| *name != "webhook")
        .collect();
    assert_eq!(names, wanted);
    for deployment in &found {
        let pod = deployment.spec.template.spec.as_ref().unwrap();
        let name = deployment.name_any();
        assert_eq!(pod.service_account_name.as_ref(), Some(&name));
        assert_eq!(pod.automount_service_account_token, Some(true), "{name}");
        let flags = arguments(deployment);
        assert!(
            !flags.iter().any(|flag| flag.starts_with("--kubeconfig")),
            "{name}: {flags:?}"
        );
        let review: SubjectAccessReview = serde_json::from_value(json!({
            "spec": {
                "user": format!("system:serviceaccount:{NAMESPACE}:{name}"),
                "resourceAttributes": {"group": "cluster.karmada.io", "resource": "clusters", "verb": "watch"},
            },
        }))
        .unwrap();
        let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
        // Authorizers learn of new rights by a watch.
        eventually("the account to have its rights", Duration::from_secs(20), async || {
            let answer = reviews.create(&PostParams::default(), &review).await;
            match answer.map_err(|error| error.to_string())?.status {
                Some(status) if status.allowed => Ok(()),
                other => Err(format!("{name}: {other:?}")),
            }
        })
        .await
        .unwrap();
    }
}
