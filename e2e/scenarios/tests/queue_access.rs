//! Tokens of the eviction queue's callers, judged by a real API server: its TokenReviews and SubjectAccessReviews, and
//! the roles of the chart. And docs/queue-access.md, typed as it stands there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

#[path = "../src/installed/typed.rs"]
mod typed;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use controller_kit::{Clock, KitFlags, Process};
use e2e_harness::{Binaries, ControlPlane, Identity, Tool, available, available_with, eventually};
use eviction_queue::access::AccessFlags;
use eviction_queue_api::{ConnectionFlags, QueueClient, v1};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tonic::{Code, Status};
use typed::{Terminal, blocks_of};

const PAGE: &str = include_str!("../../../docs/queue-access.md");
const QUEUE: Identity = Identity::Component("eviction-queue");
const MANAGER: Identity = Identity::Component("taint-manager");
const READER: &str = "karmada-failover:eviction-queue-reader";

async fn install(client: &Client) {
    let create = PostParams::default();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in api_types::crds() {
        crds.create(&create, &crd).await.unwrap();
    }
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "karmada-system"}})).unwrap();
    Api::all(client.clone()).create(&create, &namespace).await.unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/control-plane/rbac/eviction-queue.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(file).unwrap()).unwrap();
    for object in objects {
        if object["kind"] == "ClusterRole" {
            let role: ClusterRole = serde_json::from_value(object).unwrap();
            Api::all(client.clone()).create(&create, &role).await.unwrap();
        } else if object["kind"] == "ClusterRoleBinding" {
            let binding: ClusterRoleBinding = serde_json::from_value(object).unwrap();
            Api::all(client.clone()).create(&create, &binding).await.unwrap();
        }
    }
}

async fn bind(client: &Client, name: &str, subject: Value) {
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER},
        "subjects": [subject],
    }))
    .unwrap();
    Api::all(client.clone())
        .create(&PostParams::default(), &binding)
        .await
        .unwrap();
}

/// What the queue needs beside the right to ask.
fn rights_of_a_queue() -> Vec<PolicyRule> {
    let rule = |group: &str, resources: &[&str]| PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(resources.iter().map(ToString::to_string).collect()),
        verbs: ["get", "list", "watch", "create", "update", "patch"]
            .map(str::to_owned)
            .to_vec(),
        ..PolicyRule::default()
    };
    vec![
        rule("coordination.k8s.io", &["leases"]),
        rule("cluster.karmada.io", &["clusters"]),
        rule("failover.karmada.io", &["failoverpauses", "failoverpauses/status"]),
        rule("", &["events"]),
    ]
}

struct Callers {
    folder: tempfile::TempDir,
    plane: Client,
}

impl Callers {
    fn with(&self, token: &str) -> QueueClient {
        let file = self.folder.path().join(token.len().to_string());
        std::fs::write(&file, token).unwrap();
        let flags = ConnectionFlags {
            queue_token_file: Some(file),
            ..ConnectionFlags::default()
        };
        QueueClient::by_lease(self.plane.clone(), "karmada-system", "test").secured(flags.security(&Clock::system()))
    }
}

async fn status(client: &QueueClient) -> Result<v1::GetStatusResponse, Status> {
    let service = client.inspection().await;
    let mut service = service.map_err(|error| Status::unavailable(error.to_string()))?;
    Ok(service.get_status(v1::GetStatusRequest {}).await?.into_inner())
}

async fn is_in(client: &QueueClient) -> Result<(), String> {
    status(client).await.map(|_| ()).map_err(|refused| refused.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_api_server_judges_the_callers_of_the_queue() {
    if available("tokens of the queue's callers on a real API server").is_none() {
        return;
    }
    let control_plane = ControlPlane::start().await.unwrap();
    let admin = control_plane.client().await.unwrap();
    install(&admin).await;
    control_plane.grant(QUEUE, "queue", rights_of_a_queue()).await.unwrap();
    let flags = eviction_queue::Flags {
        access: AccessFlags {
            queue_token_auth: true,
            ..AccessFlags::default()
        },
        ..eviction_queue::Flags::default()
    };
    let queue = Process::builder("eviction-queue", control_plane.api().client(QUEUE).await.unwrap())
        .identity("q")
        .flags(KitFlags::default())
        .controllers(eviction_queue::controllers(flags))
        .start()
        .await
        .unwrap();
    let callers = Callers {
        folder: tempfile::tempdir().unwrap(),
        plane: admin.clone(),
    };

    let manager = callers.with(control_plane.api().token(MANAGER));
    eventually(
        "the taint manager is let in by the chart's roles",
        Duration::from_secs(60),
        async || is_in(&manager).await,
    )
    .await
    .unwrap();
    let mut service = manager.admin().await.unwrap();
    let refused = service.drop(v1::DropRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
    assert!(
        refused.message().starts_with(
            "user \"system:serviceaccount:karmada-system:taint-manager\" may not update evictionqueues.failover.karmada.io"
        ),
        "{}",
        refused.message()
    );

    let operator = callers.with(control_plane.api().token(Identity::Operator));
    assert_eq!(status(&operator).await.unwrap_err().code(), Code::PermissionDenied);
    let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "operator"});
    bind(&admin, "operator-looks", user).await;
    eventually(
        "the operator is let in once bound",
        Duration::from_secs(60),
        async || is_in(&operator).await,
    )
    .await
    .unwrap();

    // A token that the server issues itself, for a service account of another namespace.
    let account: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": "dashboard"}})).unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), "default");
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let subject = json!({"kind": "ServiceAccount", "namespace": "default", "name": "dashboard"});
    bind(&admin, "dashboard-looks", subject).await;
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
    let issued = accounts
        .create_token_request("dashboard", &PostParams::default(), &request)
        .await
        .unwrap();
    let dashboard = callers.with(&issued.status.unwrap().token.unwrap());
    eventually("the service account is let in", Duration::from_secs(60), async || {
        is_in(&dashboard).await
    })
    .await
    .unwrap();

    let wrong = status(&callers.with("wrong")).await.unwrap_err();
    assert_eq!(wrong.code(), Code::Unauthenticated, "{wrong:?}");
    assert!(
        wrong.message().contains("does not accept the bearer token"),
        "{}",
        wrong.message()
    );
    queue.stop().await;
}

/// What is said under the commands that make certificates: who has which role.
fn roles() -> Vec<&'static str> {
    let said = PAGE.split('`').skip(1).step_by(2);
    said.filter(|code| code.starts_with("--queue-") && code.contains('='))
        .collect()
}

async fn completes(client: &QueueClient) -> Result<(), Status> {
    let service = client.queue().await;
    let mut service = service.map_err(|error| Status::unavailable(error.to_string()))?;
    service.complete(v1::CompleteRequest::default()).await.map(drop)
}

/// A control plane on which the page is typed, as who owns it, and the programs for that; nothing where there are none.
async fn to_type_on() -> Option<(Binaries, ControlPlane, Client)> {
    let binaries = available_with(Tool::Kubectl, "docs/queue-access.md, typed")?;
    let plane = ControlPlane::start().await.unwrap();
    let admin = plane.client().await.unwrap();
    install(&admin).await;
    Some((binaries, plane, admin))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_certificates_that_the_page_makes_let_in_whom_it_names() {
    let Some((binaries, plane, admin)) = to_type_on().await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let variables = [
        ("FOLDER", folder.path().as_os_str().to_owned()),
        ("KUBECONFIG", OsString::from(plane.kubeconfig(Identity::Admin))),
    ];
    let terminal = Terminal::new(&binaries, folder.path(), variables).unwrap();
    let made = blocks_of(PAGE, "With certificates").unwrap().concat();
    tokio::task::block_in_place(|| terminal.type_in(&format!("cd \"$FOLDER\"\n{made}"))).unwrap();

    let file = |name: &str| folder.path().join(name);
    let flag = |flag: &str, name: &str| format!("--{flag}={}", file(name).display());
    let typed = [
        "eviction-queue".to_owned(),
        "--queue-bind-address=127.0.0.1:0".to_owned(),
        flag("queue-tls-cert-file", "eviction-queue.crt"),
        flag("queue-tls-key-file", "eviction-queue.key"),
        flag("queue-client-ca-file", "ca.crt"),
    ];
    let roles = roles();
    assert_eq!(roles.len(), 2, "{roles:?}");
    let typed = typed.into_iter().chain(roles.into_iter().map(str::to_owned));
    let flags = eviction_queue::cli::Cli::try_parse_from(typed).unwrap().flags;
    let queue = Process::builder("eviction-queue", admin.clone())
        .identity("q")
        .flags(KitFlags::default())
        .controllers(eviction_queue::controllers(flags))
        .start()
        .await
        .unwrap();
    let client = |name: &str| {
        let flags = ConnectionFlags {
            queue_ca_file: Some(file("ca.crt")),
            queue_client_cert_file: Some(file(&format!("{name}.crt"))),
            queue_client_key_file: Some(file(&format!("{name}.key"))),
            queue_server_name: Some("eviction-queue.karmada-system.svc".to_owned()),
            ..ConnectionFlags::default()
        };
        QueueClient::by_lease(admin.clone(), "karmada-system", "test").secured(flags.security(&Clock::system()))
    };
    let manager = client("taint-manager");
    eventually("the taint manager is let in", Duration::from_secs(60), async || {
        is_in(&manager).await
    })
    .await
    .unwrap();
    let judged = completes(&manager).await.err().map(|refused| refused.code());
    assert_ne!(judged, Some(Code::PermissionDenied), "it is a consumer");
    let producer = client("application-failover-controller");
    is_in(&producer).await.expect("a producer may look");
    let refused = completes(&producer).await.expect_err("and is no consumer");
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
    queue.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_the_page_binds_may_look() {
    let Some((binaries, plane, admin)) = to_type_on().await else {
        return;
    };
    let variables = [("KUBECONFIG", OsString::from(plane.kubeconfig(Identity::Admin)))];
    let terminal = Terminal::new(&binaries, plane.folder().path(), variables).unwrap();
    let bound = blocks_of(PAGE, "With tokens").unwrap().concat();
    tokio::task::block_in_place(|| terminal.type_in(&bound)).unwrap();
    let review: SubjectAccessReview = serde_json::from_value(json!({
        "spec": {
            "user": "alice",
            "resourceAttributes": {"group": "failover.karmada.io", "resource": "evictionqueues", "verb": "watch"},
        },
    }))
    .unwrap();
    let reviews: Api<SubjectAccessReview> = Api::all(admin);
    eventually("alice may look", Duration::from_secs(60), async || {
        let answer = reviews.create(&PostParams::default(), &review).await;
        match answer.map_err(|error| error.to_string())?.status {
            Some(status) if status.allowed => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
    .unwrap();
}
