//! `ClusterEviction`: retired, off by default.

use api_types::cluster::Cluster;

use crate::plugin::Filter;
use crate::request::{Refusal, Request};

/// Refuses every cluster with an open task of this binding, whether or not its cause is gone. For those who want
/// stock's old behaviour; by default a cluster that recovered can be chosen again (karmada#5782).
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterEviction;

impl Filter for ClusterEviction {
    fn name(&self) -> &'static str {
        "ClusterEviction"
    }

    fn filter(&self, request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal> {
        if request.binding.spec.task(&cluster.cluster_name()).is_some() {
            Err(Refusal::new(self.name(), "cluster(s) is in the process of eviction"))
        } else {
            Ok(())
        }
    }
}
