//! The server over loopback HTTP: raw requests, tokens, a stop that refuses connections, kube's own client.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::needless_pass_by_value
)] // Helpers of tests count as tests.

mod common;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use common::{simulated_now, widget, widget_crd};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kube::api::{Api, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube_sandbox::{Access, Anonymous, Reachability, Sandbox, SandboxOptions, Served};
use rstest::rstest;
use serde_json::{Value, json};

async fn served(access: Access) -> (Sandbox, Served) {
    let sandbox = Sandbox::new(SandboxOptions {
        access,
        ..SandboxOptions::new(simulated_now())
    });
    sandbox.apply_crd(widget_crd()).unwrap();
    let served = sandbox
        .serve_http(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
        .await
        .unwrap();
    (sandbox, served)
}

struct Answer {
    code: u16,
    content_type: String,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }
}

async fn ask(served: &Served, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut request = http::Request::builder()
        .method(method)
        .uri(format!("{}{path}", served.url()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(bytes::Bytes::from(body.to_owned()))).unwrap();
    let answer = client.request(request).await.unwrap();
    let content_type = answer
        .headers()
        .get("content-type")
        .map(|v| v.to_str().unwrap().to_owned());
    Answer {
        code: answer.status().as_u16(),
        content_type: content_type.unwrap_or_default(),
        text: String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap(),
    }
}

#[tokio::test]
async fn raw_requests_get_kubernetes_answers() {
    let (_sandbox, served) = served(Access::default()).await;
    assert_eq!(ask(&served, "GET", "/readyz", &[], "").await.text, "ok");
    assert_eq!(ask(&served, "GET", "/version", &[], "").await.json()["major"], "1");
    let nowhere = ask(&served, "GET", "/nowhere", &[], "").await;
    assert_eq!((nowhere.code, nowhere.text.as_str()), (404, "404 page not found\n"));
    let made = ask(
        &served,
        "POST",
        "/apis/example.com/v1/namespaces/default/widgets",
        &[("content-type", "application/json")],
        &widget("w").to_string(),
    )
    .await;
    assert_eq!(made.code, 201);
    // YAML is taken too.
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yam\ndata:\n  a: b\n";
    let made = ask(
        &served,
        "POST",
        "/api/v1/namespaces/default/configmaps",
        &[("content-type", "application/yaml")],
        yaml,
    )
    .await;
    assert_eq!((made.code, &made.json()["data"]["a"]), (201, &json!("b")));
    let gone = ask(&served, "DELETE", "/api/v1/namespaces/default/configmaps/yam", &[], "")
        .await
        .json();
    assert_eq!((&gone["kind"], &gone["status"]), (&json!("Status"), &json!("Success")));
    let missing = ask(&served, "GET", "/api/v1/namespaces/default/configmaps/yam", &[], "").await;
    assert_eq!(
        missing.json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404,
            "message": "configmaps \"yam\" not found", "details": {"name": "yam", "kind": "configmaps"},
        })
    );
}

#[rstest]
#[case("PUT", "/api/v1/namespaces/default/configmaps", "{}", 405)]
#[case("GET", "/api/v1/nothing", "", 404)]
#[case("GET", "/api/v1/namespaces/default/nodes", "", 404)]
#[case(
    "POST",
    "/api/v1/namespaces/default/configmaps",
    "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\"}}",
    400
)]
#[case(
    "POST",
    "/api/v1/namespaces/default/configmaps",
    "{\"metadata\":{\"name\":\"x\",\"namespace\":\"other\"}}",
    400
)]
#[case("POST", "/api/v1/namespaces/default/configmaps", "{", 400)]
#[case(
    "POST",
    "/api/v1/namespaces/default/configmaps",
    "{\"metadata\":{\"name\":\"X_\"}}",
    422
)]
#[case("POST", "/api/v1/namespaces/default/configmaps", "{\"metadata\":{}}", 422)]
#[case(
    "POST",
    "/api/v1/namespaces/default/configmaps",
    "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"5\"}}",
    500
)]
#[case(
    "POST",
    "/api/v1/namespaces/nowhere/configmaps",
    "{\"metadata\":{\"name\":\"x\"}}",
    404
)]
#[case(
    "POST",
    "/api/v1/namespaces/default/configmaps?fieldValidation=Strict",
    "{\"metadata\":{\"name\":\"x\"},\"dta\":{}}",
    400
)]
#[case("DELETE", "/api/v1/namespaces/default", "", 403)]
#[case("GET", "/api/v1/namespaces/default/configmaps?labelSelector=%3D", "", 400)]
#[case("GET", "/api/v1/namespaces/default/configmaps?resourceVersion=99999", "", 504)]
#[case("PATCH", "/api/v1/namespaces/default/configmaps/x", "{}", 415)]
#[tokio::test]
async fn refusals(#[case] method: &str, #[case] path: &str, #[case] body: &str, #[case] code: u16) {
    let (sandbox, served) = served(Access::default()).await;
    let before = sandbox.resource_version();
    let answer = ask(&served, method, path, &[("content-type", "application/json")], body).await;
    assert_eq!(answer.code, code, "{}", answer.text);
    assert_eq!(
        (&answer.json()["kind"], &answer.json()["code"]),
        (&json!("Status"), &json!(code))
    );
    assert_eq!(sandbox.resource_version(), before);
}

#[tokio::test]
async fn discovery_in_both_forms() {
    let (_sandbox, served) = served(Access::default()).await;
    let groups = ask(&served, "GET", "/apis", &[], "").await.json();
    assert!(
        groups["groups"]
            .as_array()
            .unwrap()
            .iter()
            .any(|g| g["name"] == "example.com")
    );
    let resources = ask(&served, "GET", "/apis/example.com/v1", &[], "").await.json();
    let names: Vec<&str> = resources["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let all = ask(&served, "GET", "/apis", &[("accept", accept)], "").await;
    assert_eq!(
        all.content_type,
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    assert_eq!(all.json()["kind"], "APIGroupDiscoveryList");
}

#[tokio::test]
async fn tokens_open_the_door() {
    let access = Access {
        tokens: [("secret".to_owned(), "alice".to_owned())].into(),
        anonymous: Anonymous::Refused,
        ..Access::default()
    };
    let (_sandbox, served) = served(access).await;
    let path = "/api/v1/namespaces";
    assert_eq!(ask(&served, "GET", path, &[], "").await.code, 401);
    assert_eq!(
        ask(&served, "GET", path, &[("authorization", "Bearer wrong")], "")
            .await
            .code,
        401
    );
    assert_eq!(
        ask(&served, "GET", path, &[("authorization", "Bearer secret")], "")
            .await
            .code,
        200
    );
    assert_eq!(ask(&served, "GET", "/healthz", &[], "").await.code, 200);

    let config = Kubeconfig::from_yaml(&served.kubeconfig_with_token("secret")).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
        .await
        .unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client);
    assert_eq!(namespaces.list(&ListParams::default()).await.unwrap().items.len(), 4);
}

#[tokio::test]
async fn a_stopped_server_refuses_connections_and_comes_back_on_its_port() {
    let (sandbox, served) = served(Access::default()).await;
    sandbox.create(widget("w")).unwrap();
    let reach = async || tokio::net::TcpStream::connect(served.address()).await.is_ok();
    assert!(reach().await);
    sandbox.set_reachability(Reachability::Stopped);
    eventually(async || !reach().await).await;
    sandbox.set_reachability(Reachability::Up);
    eventually(reach).await;
    let answer = ask(
        &served,
        "GET",
        "/apis/example.com/v1/namespaces/default/widgets/w",
        &[],
        "",
    )
    .await;
    assert_eq!(answer.code, 200);
}

/// The listener moves in a task of its own: give it turns until it has, or fail.
async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let look = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), look)
        .await
        .expect("never happened");
}

#[tokio::test]
async fn tables_hold_the_columns() {
    let (sandbox, served) = served(Access::default()).await;
    let mut object = widget("w");
    object["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    sandbox.put(object).unwrap();
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let path = "/apis/example.com/v1/namespaces/default/widgets";
    let table = ask(&served, "GET", path, &[("accept", accept)], "").await.json();
    assert_eq!(table["kind"], "Table");
    let names: Vec<&Value> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["name"])
        .collect();
    assert_eq!(json!(names), json!(["Name", "Color", "Replicas", "Ready", "Age"]));
    assert_eq!(table["rows"][0]["cells"], json!(["w", "red", 1, "True", "0s"]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}
