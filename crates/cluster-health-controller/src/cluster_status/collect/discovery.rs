//! Which APIs a member serves: the aggregated documents where it has them, else one request per group version.

use api_types::cluster::{ApiEnablement, ApiResource};
use controller_kit::api_errors;
use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;
use kube::core::discovery::v2::APIGroupDiscoveryList;
use tracing::warn;

/// The APIs, and whether all could be listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Apis {
    /// Sorted by group version, resources by name, without subresources.
    pub enablements: Vec<ApiEnablement>,
    complete: bool,
}

impl Apis {
    /// Whether all could be listed, and there are any.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    fn lacks(&mut self, what: &str, error: &kube::Error) {
        warn!(
            what,
            error = api_errors::one_line(error),
            "the member does not list this API"
        );
        self.complete = false;
    }

    /// Status, reason and message as stock writes them.
    pub fn completeness(&self) -> (&'static str, &'static str, String) {
        match (self.enablements.len(), self.complete) {
            (0, _) => (
                "False",
                "Empty",
                "collected empty APIEnablements from the cluster".to_owned(),
            ),
            (count, false) => (
                "False",
                "Partial",
                format!("might collect partial APIEnablements({count}) from the cluster"),
            ),
            (_, true) => (
                "True",
                "Complete",
                "collected complete APIEnablements from the cluster".to_owned(),
            ),
        }
    }
}

/// Asks the member. A list that is not complete keeps what was known before: an API that cannot be listed for a moment
/// must not look as if it were gone. No API server is without any API: an empty list is not complete either.
pub(super) async fn ask(client: &Client, before: Option<Apis>) -> Apis {
    let mut apis = match aggregated(client).await {
        Some(apis) => apis,
        None => one_by_one(client).await,
    };
    apis.complete &= !apis.enablements.is_empty();
    if let Some(before) = before.filter(|_| !apis.complete) {
        for known in before.enablements {
            if !apis.enablements.iter().any(|e| e.group_version == known.group_version) {
                apis.enablements.push(known);
            }
        }
    }
    apis.enablements.sort_by(|a, b| a.group_version.cmp(&b.group_version));
    apis
}

/// `None` where the member has no aggregated documents, or not all of them are fresh.
async fn aggregated(client: &Client) -> Option<Apis> {
    let core = client.list_core_api_versions_aggregated().await.ok()?;
    let groups = client.list_api_groups_aggregated().await.ok()?;
    if core.items.is_empty() {
        return None;
    }
    let mut apis = Apis {
        enablements: Vec::new(),
        complete: true,
    };
    for list in [core, groups] {
        apis.complete &= add_groups(&mut apis.enablements, list);
    }
    Some(apis)
}

fn add_groups(enablements: &mut Vec<ApiEnablement>, list: APIGroupDiscoveryList) -> bool {
    let mut complete = true;
    for group in list.items {
        let name = group.metadata.and_then(|m| m.name).unwrap_or_default();
        for version in group.versions {
            complete &= version.freshness.as_deref() != Some("Stale");
            let Some(version_name) = version.version else { continue };
            let group_version = if name.is_empty() {
                version_name
            } else {
                format!("{name}/{version_name}")
            };
            let resources = version.resources.into_iter().filter_map(|resource| {
                Some(ApiResource {
                    name: resource.resource?,
                    kind: resource.response_kind?.kind?,
                })
            });
            push(enablements, group_version, resources.collect());
        }
    }
    complete
}

/// How many group versions are asked for at the same time: a member far away has dozens of them.
const AT_ONCE: usize = 8;

async fn one_by_one(client: &Client) -> Apis {
    let mut apis = Apis {
        enablements: Vec::new(),
        complete: true,
    };
    let mut group_versions = Vec::new();
    match client.list_core_api_versions().await {
        Ok(core) => group_versions.extend(core.versions),
        Err(error) => apis.lacks("the core group", &error),
    }
    match client.list_api_groups().await {
        Ok(groups) => group_versions.extend(
            groups
                .groups
                .into_iter()
                .flat_map(|group| group.versions)
                .map(|version| version.group_version),
        ),
        Err(error) => apis.lacks("the groups", &error),
    }
    let mut lists = futures::stream::iter(group_versions)
        .map(|group_version| async move {
            let list = if group_version.contains('/') {
                client.list_api_group_resources(&group_version).await
            } else {
                client.list_core_api_resources(&group_version).await
            };
            (group_version, list)
        })
        .buffered(AT_ONCE);
    while let Some((group_version, list)) = lists.next().await {
        match list {
            Ok(list) => push(&mut apis.enablements, group_version, named(list)),
            Err(error) => apis.lacks(&group_version, &error),
        }
    }
    apis
}

/// The resources of a group version, without subresources.
fn named(list: APIResourceList) -> Vec<ApiResource> {
    let whole = list.resources.into_iter().filter(|r| !r.name.contains('/'));
    whole
        .map(|r| ApiResource {
            name: r.name,
            kind: r.kind,
        })
        .collect()
}

fn push(enablements: &mut Vec<ApiEnablement>, group_version: String, mut resources: Vec<ApiResource>) {
    if resources.is_empty() {
        return;
    }
    resources.sort();
    resources.dedup();
    enablements.push(ApiEnablement {
        group_version,
        resources,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn groups_are_named_and_sorted() {
        let list: APIGroupDiscoveryList = serde_json::from_value(json!({"items": [
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
                {"resource": "statefulsets", "responseKind": {"group": "apps", "version": "v1", "kind": "StatefulSet"}},
                {"resource": "deployments", "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
                 "subresources": [{"subresource": "scale"}]}]}]},
            {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1", "freshness": "Stale"}]}
        ]}))
        .unwrap();
        let mut enablements = Vec::new();
        assert!(!add_groups(&mut enablements, list), "a stale group makes it partial");
        let names: Vec<&str> = enablements[0].resources.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(
            (enablements[0].group_version.as_str(), names),
            ("apps/v1", vec!["deployments", "statefulsets"])
        );
        let partial = Apis {
            enablements,
            complete: false,
        };
        assert_eq!(
            partial.completeness(),
            (
                "False",
                "Partial",
                "might collect partial APIEnablements(1) from the cluster".to_owned()
            )
        );
        let complete = Apis {
            complete: true,
            ..partial
        };
        assert_eq!(
            complete.completeness(),
            (
                "True",
                "Complete",
                "collected complete APIEnablements from the cluster".to_owned()
            )
        );
        assert_eq!(Apis::default().completeness().1, "Empty");
    }

    /// A member without aggregated documents that answers these paths, and 503 to all others.
    fn member(answers: &'static [(&'static str, &'static str)]) -> Client {
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let found = answers.iter().find(|(path, _)| *path == request.uri().path());
            let (code, body) = found.map_or((503, "{}"), |(_, body)| (200, *body));
            let answer = http::Response::builder()
                .status(code)
                .body(kube::client::Body::from(body.as_bytes().to_vec()));
            async move { answer }
        });
        Client::new(service, "default")
    }

    const CORE: (&str, &str) = ("/api", r#"{"kind": "APIVersions", "versions": ["v1"]}"#);
    const GROUPS: (&str, &str) = (
        "/apis",
        r#"{"kind": "APIGroupList", "groups": [{"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]}]}"#,
    );
    const V1: (&str, &str) = (
        "/api/v1",
        r#"{"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod", "namespaced": true, "singularName": "", "verbs": []},
            {"name": "pods/log", "kind": "Pod", "namespaced": true, "singularName": "", "verbs": []}]}"#,
    );
    const APPS: (&str, &str) = (
        "/apis/apps/v1",
        r#"{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment", "namespaced": true, "singularName": "", "verbs": []}]}"#,
    );

    // C65; karmada#5216, karmada#6462, karmada#5400: what a member serves does not vanish because it could not be listed.
    #[tokio::test]
    async fn what_cannot_be_listed_is_not_gone() {
        let all = ask(&member(&[CORE, GROUPS, V1, APPS]), None).await;
        let of = |apis: &Apis| -> Vec<String> {
            let named = apis.enablements.iter().map(|e| {
                let names: Vec<&str> = e.resources.iter().map(|r| r.name.as_str()).collect();
                format!("{}: {}", e.group_version, names.join(","))
            });
            named.collect()
        };
        assert_eq!(of(&all), ["apps/v1: deployments", "v1: pods"]);
        assert!(all.is_complete());
        let nothing: &[(&str, &str)] = &[
            ("/api", r#"{"kind": "APIVersions", "versions": []}"#),
            ("/apis", r#"{"kind": "APIGroupList", "groups": []}"#),
        ];
        for (answers, reason) in [
            (&[][..], "Empty"),
            (nothing, "Empty"),
            (&[CORE, GROUPS, V1], "Partial"),
            (&[CORE, V1], "Partial"),
        ] {
            let now = ask(&member(answers), Some(all.clone())).await;
            assert_eq!(of(&now), of(&all), "{answers:?}");
            assert_eq!(now.completeness().1, "Partial", "{answers:?}");
            assert!(!now.is_complete());
            assert_eq!(
                ask(&member(answers), None).await.completeness().1,
                reason,
                "{answers:?}"
            );
        }
    }
}
