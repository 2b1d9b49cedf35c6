//! The resources that a move takes from those after it.

use api_types::cluster::Cluster;
use api_types::work::Binding;
use failover_core::quantity::{Amount, Grain};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// The cluster with so many more replicas of the binding; nothing where it reports no resources.
///
/// The room that a member counts by grades of nodes ([`crate::estimate`]) is not changed: only its next report would tell.
pub(super) fn occupied(cluster: &Cluster, binding: &Binding, replicas: i32) -> Option<Cluster> {
    let mut cluster = cluster.clone();
    let summary = cluster.status.as_mut()?.resource_summary.as_mut()?;
    let requests = binding.spec.replica_requirements.as_ref();
    let pod = ("pods".to_owned(), Quantity("1".to_owned()));
    let requests = requests
        .into_iter()
        .flat_map(|requirements| requirements.resource_request.clone());
    for (resource, each) in requests.chain([pod]) {
        let Some(each) = Amount::read(&each) else { continue };
        let more = each.grains(Grain::Thousandth).saturating_mul(i128::from(replicas));
        let Some(more) = Amount::read(&Quantity(format!("{more}m"))) else {
            continue;
        };
        let taken = summary
            .allocated
            .get(&resource)
            .and_then(Amount::read)
            .unwrap_or(Amount::ZERO);
        summary.allocated.insert(resource, taken.plus(more).write());
    }
    Some(cluster)
}
