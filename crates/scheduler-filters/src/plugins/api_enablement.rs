//! `APIEnablement`: the member serves the kind of the template.

use api_types::cluster::Cluster;

use crate::plugin::Filter;
use crate::request::{Refusal, Request};

/// Refuses clusters whose list of APIs lacks the template's kind. What runs on a cluster already proves that it does.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApiEnablement;

impl Filter for ApiEnablement {
    fn name(&self) -> &'static str {
        "APIEnablement"
    }

    fn filter(&self, request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal> {
        let resource = &request.binding.spec.resource;
        let serves = cluster.status.as_ref().is_some_and(|status| {
            status.api_enablements.iter().any(|group| {
                group.group_version == resource.api_version && group.resources.iter().any(|r| r.kind == resource.kind)
            })
        });
        if serves || request.is_present(cluster) {
            Ok(())
        } else {
            Err(Refusal::new(self.name(), "cluster(s) did not have the API resource"))
        }
    }
}
