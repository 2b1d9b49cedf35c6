//! `ClusterLocality`: what runs somewhere stays there.

use api_types::cluster::Cluster;

use crate::plugin::{MAX_SCORE, Score};
use crate::request::Request;

/// Full score for clusters in the result, none for others.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterLocality;

impl Score for ClusterLocality {
    fn name(&self) -> &'static str {
        "ClusterLocality"
    }

    fn score(&self, request: &Request<'_>, cluster: &Cluster) -> i64 {
        if request.is_present(cluster) { MAX_SCORE } else { 0 }
    }
}
