//! `ClusterAffinity`: the placement selects the cluster.

use api_types::cluster::Cluster;
use failover_core::affinity;

use crate::plugin::Filter;
use crate::request::{Refusal, Request};

/// Its name for `--plugins`.
pub(crate) const NAME: &str = "ClusterAffinity";

/// Refuses clusters that the placement's affinity (or its group in use) does not select, also those in the result:
/// a person changed the placement.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterAffinity;

impl Filter for ClusterAffinity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn filter(&self, request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal> {
        if request.affinity.is_none_or(|wanted| affinity::matches(wanted, cluster)) {
            Ok(())
        } else {
            Err(Refusal::new(
                self.name(),
                "cluster(s) did not match the placement cluster affinity constraint",
            ))
        }
    }
}
