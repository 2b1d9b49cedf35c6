//! What makes a cluster another place for workloads: one definition for everybody who looks again when it changes.
//!
//! Rules: labels, provider, region, zones and API enablements; beside them taints, readiness and deletion, of which each
//! asks in its own way. Not resources: they change with every node that comes or goes, and no plugin of the scheduler
//! reads them.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;

/// What plugins of the scheduler read of a cluster, whether or not it is well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Traits<'a> {
    labels: Option<&'a BTreeMap<String, String>>,
    provider: Option<&'a str>,
    region: Option<&'a str>,
    zones: Vec<&'a str>,
    /// Group version with the names and kinds that it serves.
    apis: Vec<(&'a str, Vec<(&'a str, &'a str)>)>,
}

impl<'a> Traits<'a> {
    /// Of a Cluster.
    #[must_use]
    pub fn of(cluster: &'a Cluster) -> Self {
        let enabled = cluster.status.iter().flat_map(|status| &status.api_enablements);
        Self {
            labels: cluster.metadata.labels.as_ref(),
            provider: cluster.spec.provider.as_deref(),
            region: cluster.spec.region.as_deref(),
            zones: cluster.zones(),
            apis: enabled
                .map(|api| {
                    let resources = api.resources.iter();
                    let served = resources.map(|resource| (resource.name.as_str(), resource.kind.as_str()));
                    (api.group_version.as_str(), served.collect())
                })
                .collect(),
        }
    }
}
