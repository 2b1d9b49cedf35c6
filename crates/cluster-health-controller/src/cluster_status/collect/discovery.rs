//! Which APIs a member serves: the aggregated documents where it has them, else one request per group version.

use api_types::cluster::{ApiEnablement, ApiResource};
use controller_kit::api_errors;
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
        self.complete && !self.enablements.is_empty()
    }

    /// Status, reason and message as stock writes them.
    pub fn completeness(&self) -> (&'static str, &'static str, &'static str) {
        match (self.enablements.is_empty(), self.complete) {
            (true, _) => ("False", "Empty", "collected empty APIEnablements from the cluster"),
            (false, false) => (
                "False",
                "Partial",
                "might collect partial APIEnablements(fetching failed for some APIs)",
            ),
            (false, true) => ("True", "Complete", "collected complete APIEnablements"),
        }
    }
}

/// Asks the member. A list that is not complete keeps what was known before: an API that cannot be listed for a moment
/// must not look as if it were gone.
pub(super) async fn ask(client: &Client, before: Option<Apis>) -> Apis {
    let mut apis = match aggregated(client).await {
        Some(apis) => apis,
        None => one_by_one(client).await,
    };
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

async fn one_by_one(client: &Client) -> Apis {
    let mut apis = Apis {
        enablements: Vec::new(),
        complete: true,
    };
    let mut lists: Vec<(String, Result<APIResourceList, kube::Error>)> = Vec::new();
    match client.list_core_api_versions().await {
        Ok(core) => {
            for version in core.versions {
                let list = client.list_core_api_resources(&version).await;
                lists.push((version, list));
            }
        }
        Err(error) => lists.push(("core".to_owned(), Err(error))),
    }
    match client.list_api_groups().await {
        Ok(groups) => {
            for version in groups.groups.into_iter().flat_map(|group| group.versions) {
                let list = client.list_api_group_resources(&version.group_version).await;
                lists.push((version.group_version, list));
            }
        }
        Err(error) => lists.push(("groups".to_owned(), Err(error))),
    }
    for (group_version, list) in lists {
        match list {
            Ok(list) => {
                let named = list.resources.into_iter().filter(|r| !r.name.contains('/'));
                let resources = named
                    .map(|r| ApiResource {
                        name: r.name,
                        kind: r.kind,
                    })
                    .collect();
                push(&mut apis.enablements, group_version, resources);
            }
            Err(error) => {
                warn!(
                    group_version,
                    error = api_errors::one_line(&error),
                    "the member does not list this API"
                );
                apis.complete = false;
            }
        }
    }
    apis
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
        assert_eq!(
            Apis {
                enablements,
                complete: false
            }
            .completeness()
            .1,
            "Partial"
        );
        assert_eq!(Apis::default().completeness().1, "Empty");
    }
}
