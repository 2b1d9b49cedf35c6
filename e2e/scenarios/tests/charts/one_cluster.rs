//! Everything on one cluster, which is its own control plane: the commands of the README and of docs/install.md, typed on a
//! fresh one, in a namespace that takes restricted Pods only, until all is taken away again.

use std::ffi::OsString;
use std::time::Duration;

use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::Mode;
use e2e_harness::{ControlPlane, Identity, Tool, available_with, eventually};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::component_names::hosted;
use crate::typed::{Terminal, blocks, line, lines};

const README: &str = include_str!("../../../../README.md");
const NAMESPACE: &str = "karmada-system";
const SECTION: &str = "Standalone, on one cluster";
const LATER: &str = "Upgrade, roll back, take away";

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
    let written = lines(SECTION, "helm").unwrap();
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
    let client = cluster.client().await.unwrap();
    take_restricted_pods_only(&client).await;
    let [install, let_act] = blocks(SECTION).unwrap().try_into().unwrap();
    type_in(&terminal, install);
    everything_runs_as_an_account_of_this_cluster(&client).await;

    let policies: Api<ClusterTaintPolicy> = Api::all(client.clone());
    assert!(policies.get_opt("not-ready-no-execute").await.unwrap().is_none());
    type_in(&terminal, let_act);
    policies.get("not-ready-no-execute").await.unwrap();
    all_may_act(&client).await;

    let upgrade = blocks(LATER).unwrap()[0];
    assert!(!upgrade.contains("KARMADA"), "{upgrade} is for two clusters");
    type_in(&terminal, upgrade);
    all_may_act(&client).await;
    policies.get("not-ready-no-execute").await.unwrap();

    let webhook = blocks("The webhook").unwrap()[0];
    tokio::task::block_in_place(|| terminal.type_in(webhook)).unwrap();
    let known_by = authorities_of_the_webhook(&client).await;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    let secret = secrets.get("webhook-tls").await.unwrap();
    let authority = secret.data.unwrap().remove("ca.crt");
    assert!(!known_by.is_empty() && known_by.iter().all(|known| *known == authority));

    type_in(&terminal, line(LATER, "helm rollback ").unwrap());
    let names: Vec<String> = deployments(&client).await.iter().map(ResourceExt::name_any).collect();
    assert!(authorities_of_the_webhook(&client).await.is_empty(), "one step back");
    assert!(names.contains(&"webhook".to_owned()), "and no more: {names:?}");

    type_in(&terminal, line(LATER, "helm uninstall karmada-failover ").unwrap());
    assert_eq!(deployments(&client).await.len(), 0);
    let kinds: Api<CustomResourceDefinition> = Api::all(client);
    let kinds = kinds.list(&Default::default()).await.unwrap();
    let names: Vec<String> = kinds.iter().map(ResourceExt::name_any).collect();
    for kind in api_types::crds() {
        assert!(names.contains(&kind.name_any()), "{} went", kind.name_any());
    }
}

/// Line by line. Who asks is told that nothing runs, as Pods are only said to be ready here; that is an answer.
fn type_in(terminal: &Terminal, block: &str) {
    for line in block.lines() {
        let typed = tokio::task::block_in_place(|| match line.starts_with("failoverctl ") {
            true => terminal.ask(line).map(drop),
            false => terminal.type_in(line),
        });
        typed.unwrap();
    }
}

/// Before anything is installed: helm waits for Pods that are not admitted until it gives up.
async fn take_restricted_pods_only(client: &Client) {
    let namespace: Namespace = serde_json::from_value(json!({
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }))
    .unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
}

async fn all_may_act(client: &Client) {
    let gate = "--feature-gates=Failover=true".to_owned();
    for deployment in deployments(client).await {
        assert!(arguments(&deployment).contains(&gate), "{}", deployment.name_any());
    }
}

/// By which the API server knows the webhook.
async fn authorities_of_the_webhook(client: &Client) -> Vec<Option<ByteString>> {
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let found = configurations.list(&Default::default()).await.unwrap();
    let webhooks = found.items.into_iter().flat_map(|one| one.webhooks.unwrap_or_default());
    webhooks.map(|webhook| webhook.client_config.ca_bundle).collect()
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
