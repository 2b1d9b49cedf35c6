//! `EvictionHistory`: an application does not go back at once to a cluster on which it failed.

use api_types::cluster::Cluster;
use failover_core::graceful::cause::{Block, block};

use crate::plugin::Filter;
use crate::request::{Refusal, Request};

/// Refuses clusters in `spec.activeEvictionHistory` for `failover.application.blockPredecessorSeconds` (0: until a
/// person removes the item).
#[derive(Clone, Copy, Debug, Default)]
pub struct EvictionHistory;

impl Filter for EvictionHistory {
    fn name(&self) -> &'static str {
        "EvictionHistory"
    }

    fn filter(&self, request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal> {
        if request.is_present(cluster) {
            return Ok(());
        }
        let refusal = Refusal::new(
            self.name(),
            "cluster(s) is blocked because the application failed there",
        );
        match block(request.binding, cluster.cluster_name().as_str(), request.now) {
            Block::None => Ok(()),
            Block::Until(until) => Err(refusal.until(until)),
            Block::UntilCleared => Err(refusal),
        }
    }
}
