//! `TaintPreference`: rather not where a taint asks for others.

use api_types::cluster::{Cluster, effect};
use failover_core::eviction::tolerations::{Tolerance, tolerance};

use crate::plugin::{MAX_SCORE, Score};
use crate::request::Request;

/// Full score for clusters without a PreferNoSchedule taint that the placement does not tolerate and without a
/// PreferNoExecute taint. Clusters in the result are not judged: a soft taint moves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaintPreference;

impl Score for TaintPreference {
    fn name(&self) -> &'static str {
        "TaintPreference"
    }

    fn score(&self, request: &Request<'_>, cluster: &Cluster) -> i64 {
        let tolerations = &request.placement.cluster_tolerations;
        let disliked = cluster.spec.taints.iter().any(|taint| match taint.effect.as_str() {
            effect::PREFER_NO_SCHEDULE => tolerance(tolerations, taint) == Tolerance::None,
            effect::PREFER_NO_EXECUTE => true,
            _ => false,
        });
        if disliked && !request.is_present(cluster) {
            0
        } else {
            MAX_SCORE
        }
    }
}
