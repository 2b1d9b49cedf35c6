//! Kinds of others that are not here: a real API server takes objects of them by a schema with their spelling of what we say.

use std::time::Duration;

use e2e_harness::eventually;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};
use serde_json::{Value, json};

pub const NAMESPACE: &str = "karmada-system";
const SOON: Duration = Duration::from_secs(60);

fn plural(kind: &str) -> String {
    format!("{}s", kind.to_lowercase())
}

/// A kind in version v1 of its group with this schema of its spec.
pub fn stand_in(group: &str, kind: &str, spec: &Value) -> CustomResourceDefinition {
    let schema = json!({
        "type": "object", "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": spec,
        },
    });
    let plural = plural(kind);
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    serde_json::from_value(crd).unwrap()
}

/// Makes the server take these kinds, in the namespace in which they are rendered.
pub async fn serve(client: &Client, kinds: impl IntoIterator<Item = CustomResourceDefinition>) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let namespace: Namespace = serde_json::from_value(namespace).unwrap();
    let made = Api::all(client.clone()).create(&Default::default(), &namespace).await;
    made.unwrap();
    for kind in kinds {
        let made = Api::all(client.clone()).create(&Default::default(), &kind).await;
        made.unwrap();
    }
}

/// What an API server says to an object of these kinds in which nothing may be unknown to it.
pub async fn offer(client: &Client, object: &Value) -> Result<(), String> {
    let plural = plural(object["kind"].as_str().unwrap());
    let version = object["apiVersion"].as_str().unwrap();
    let path = format!("/apis/{version}/namespaces/{NAMESPACE}/{plural}?fieldValidation=Strict&dryRun=All");
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes())
        .unwrap();
    let answered = client.request_text(request).await;
    answered.map(drop).map_err(|error| error.to_string())
}

/// All of these objects are taken, a moment after their kinds were made.
pub async fn assert_taken(client: &Client, objects: &[Value]) {
    for object in objects {
        eventually("the server to take it", SOON, async || offer(client, object).await)
            .await
            .unwrap_or_else(|error| panic!("{error}: {object:#}"));
    }
}
