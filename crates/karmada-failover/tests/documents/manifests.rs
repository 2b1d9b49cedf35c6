//! Objects of our kinds that the pages show are taken by an API server that refuses unknown fields, and read by us.

use api_types::cluster::Cluster;
use api_types::config::ResourceInterpreterCustomization;
use api_types::failover::{FailoverPause, FailoverRecord};
use api_types::policy::Policy;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, Work};
use kube_sandbox::{Sandbox, SandboxOptions};
use serde_json::Value;

use crate::walk::{At, Page, pages};

/// An object of ours on a page, with the line of its block.
fn objects(page: &Page) -> Vec<At<Result<Value, String>>> {
    let groups: Vec<String> = api_types::crds().into_iter().map(|crd| crd.spec.group).collect();
    let mut found = Vec::new();
    for At { line, it: block } in page.blocks.iter().filter(|block| block.it.language == "yaml") {
        for (document, at) in documents(&block.text) {
            let read: Result<Value, String> =
                serde_saphyr::from_str(&document).map_err(|error| format!("is no YAML: {error}"));
            let is_ours = match &read {
                Ok(object) => {
                    let version = object["apiVersion"].as_str().unwrap_or_default();
                    groups.iter().any(|group| version.split('/').next() == Some(group))
                }
                // It may be.
                Err(_) => true,
            };
            if is_ours {
                found.push(At {
                    line: line + at,
                    it: read,
                });
            }
        }
    }
    found
}

/// The documents of a stream, each with its first line, from 0.
fn documents(text: &str) -> Vec<(String, usize)> {
    let mut all = vec![(String::new(), 0)];
    for (number, line) in text.lines().enumerate() {
        if line == "---" {
            all.push((String::new(), number + 1));
        } else {
            let (document, _) = all.last_mut().unwrap();
            document.push_str(line);
            document.push('\n');
        }
    }
    all
}

/// Whether our own types read it.
fn read(object: &Value) -> Result<(), String> {
    fn as_type<T: serde::de::DeserializeOwned>(object: &Value) -> Result<(), String> {
        serde_json::from_value::<T>(object.clone())
            .map(drop)
            .map_err(|error| error.to_string())
    }
    match object["kind"].as_str().unwrap_or_default() {
        "Cluster" => as_type::<Cluster>(object),
        "ClusterTaintPolicy" => as_type::<ClusterTaintPolicy>(object),
        "PropagationPolicy" | "ClusterPropagationPolicy" => as_type::<Policy>(object),
        "ResourceBinding" | "ClusterResourceBinding" => as_type::<Binding>(object),
        "Work" => as_type::<Work>(object),
        "FailoverPause" => as_type::<FailoverPause>(object),
        "FailoverRecord" => as_type::<FailoverRecord>(object),
        "ResourceInterpreterCustomization" => as_type::<ResourceInterpreterCustomization>(object),
        other => Err(format!("there is no kind {other}")),
    }
}

/// An API server with our kinds.
fn server() -> Sandbox {
    let now = jiff::Timestamp::UNIX_EPOCH;
    let sandbox = Sandbox::new(SandboxOptions::new(std::sync::Arc::new(move || now)));
    for crd in api_types::crds() {
        sandbox.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
    }
    sandbox
}

/// Whether the server takes it.
async fn taken(server: &Sandbox, object: &Value) -> Result<(), String> {
    let crd = api_types::crds()
        .into_iter()
        .find(|crd| crd.spec.names.kind == object["kind"])
        .ok_or("there is no such kind")?;
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let namespace = match crd.spec.scope.as_str() {
        "Namespaced" => format!(
            "/namespaces/{}",
            object["metadata"]["namespace"].as_str().unwrap_or("default")
        ),
        _ => String::new(),
    };
    let uri = format!(
        "/apis/{version}{namespace}/{}?dryRun=All&fieldValidation=Strict",
        crd.spec.names.plural
    );
    let request = http::Request::post(uri)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(serde_json::to_vec(object).unwrap())
        .unwrap();
    let answer: Result<Value, kube::Error> = server.client().request(request).await;
    answer.map(drop).map_err(|error| error.to_string())
}

fn complaints(pages: &[Page]) -> (usize, Vec<String>) {
    let (mut count, mut wrong) = (0, Vec::new());
    test_bench::paused(async {
        let server = server();
        for page in pages {
            for At { line, it } in objects(page) {
                count += 1;
                let judged = match it {
                    Ok(object) => taken(&server, &object).await.and_then(|()| read(&object)),
                    Err(error) => Err(error),
                };
                wrong.extend(judged.err().map(|error| format!("{}:{line}: {error}", page.path)));
            }
        }
    });
    (count, wrong)
}

#[test]
fn every_manifest_is_taken() {
    let (count, wrong) = complaints(&pages());
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(count >= 4, "only {count} manifests were found");
}

#[test]
fn manifests_that_are_refused_are_found() {
    let policy = "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterTaintPolicy\nmetadata: {name: a}\n";
    let page = format!(
        "```yaml\n{policy}spec:\n  taintz: []\n---\n{policy}spec:\n  taints: no\n---\nother: true\n```\n\n\
         ```yaml\napiVersion: policy.karmada.io/v1alpha1\nkind: Nothing\n```\n"
    );
    let (count, wrong) = complaints(&[Page::read("page.md", &page)]);
    assert_eq!((count, wrong.len()), (3, 3), "{wrong:?}");
    for (complaint, wanted) in wrong.iter().zip(["page.md:2: ", "page.md:8: ", "page.md:18: "]) {
        assert!(complaint.starts_with(wanted), "{complaint}");
    }
    assert!(wrong[0].contains("unknown field \"spec.taintz\""), "{}", wrong[0]);
}
