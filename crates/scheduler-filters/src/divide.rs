//! How many replicas each chosen cluster gets.
//!
//! Fixed weights are divided by the method of Webster (Sainte-Laguë), as stock does: the next replica goes to the
//! cluster with the largest `weight / (2·replicas + 1)`. Ties go to fewer replicas, then by name, in an order that the
//! parity of a hash of the template's UID chooses, so that odd replicas of many workloads spread over the fleet.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::names::fnv1a_32;
use api_types::placement::StaticClusterWeight;
use api_types::work::TargetCluster;
use failover_core::affinity;

/// In which order names break a tie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieOrder {
    /// The smaller name wins.
    Ascending,
    /// The larger name wins.
    Descending,
}

impl TieOrder {
    /// The order for a template: ascending for an even hash of its UID.
    #[must_use]
    pub fn of_template(uid: &str) -> Self {
        if fnv1a_32(uid).is_multiple_of(2) {
            Self::Ascending
        } else {
            Self::Descending
        }
    }
}

/// Every cluster gets `replicas`.
#[must_use]
pub fn duplicated(clusters: &[&Cluster], replicas: i32) -> Vec<TargetCluster> {
    let mut targets: Vec<TargetCluster> = clusters
        .iter()
        .map(|cluster| TargetCluster {
            name: cluster.cluster_name().to_string(),
            replicas,
            ..TargetCluster::default()
        })
        .collect();
    targets.sort_by(|a, b| a.name.cmp(&b.name));
    targets
}

/// The clusters share `replicas` by fixed weights. Of several rules that match a cluster the largest weight counts;
/// clusters without weight get nothing; no weight at all means equal shares. Clusters that get no replica are left out.
#[must_use]
pub fn static_weight(
    clusters: &[&Cluster],
    rules: &[StaticClusterWeight],
    replicas: i32,
    tie: TieOrder,
) -> Vec<TargetCluster> {
    let mut weights: BTreeMap<String, i64> = clusters
        .iter()
        .map(|cluster| (cluster.cluster_name().to_string(), weight_of(cluster, rules)))
        .filter(|(_, weight)| *weight > 0)
        .collect();
    if weights.is_empty() {
        weights = clusters
            .iter()
            .map(|cluster| (cluster.cluster_name().to_string(), 1))
            .collect();
    }
    webster(&weights, replicas, tie)
        .into_iter()
        .filter(|(_, replicas)| *replicas > 0)
        .map(|(name, replicas)| TargetCluster {
            name,
            replicas,
            ..TargetCluster::default()
        })
        .collect()
}

fn weight_of(cluster: &Cluster, rules: &[StaticClusterWeight]) -> i64 {
    rules
        .iter()
        .filter(|rule| affinity::matches(&rule.target_cluster, cluster))
        .map(|rule| rule.weight)
        .max()
        .unwrap_or(0)
}

/// Shares of `seats` by `votes`, by name. Without votes nobody gets a seat.
#[must_use]
pub fn webster(votes: &BTreeMap<String, i64>, seats: i32, tie: TieOrder) -> BTreeMap<String, i32> {
    let mut shares: BTreeMap<String, i32> = votes.keys().map(|name| (name.clone(), 0)).collect();
    for _ in 0..seats.max(0) {
        let next = shares
            .iter()
            .max_by(|(a_name, a_seats), (b_name, b_seats)| {
                priority(votes[*a_name], **a_seats, votes[*b_name], **b_seats)
                    .then_with(|| b_seats.cmp(a_seats))
                    .then_with(|| match tie {
                        TieOrder::Ascending => b_name.cmp(a_name),
                        TieOrder::Descending => a_name.cmp(b_name),
                    })
            })
            .map(|(name, _)| name.clone());
        if let Some(share) = next.and_then(|name| shares.get_mut(&name)) {
            *share += 1;
        }
    }
    shares
}

/// Compares `votes / (2·seats + 1)` of two parties without rounding.
fn priority(a_votes: i64, a_seats: i32, b_votes: i64, b_seats: i32) -> Ordering {
    let divisor = |seats: i32| 2 * i128::from(seats) + 1;
    (i128::from(a_votes) * divisor(b_seats)).cmp(&(i128::from(b_votes) * divisor(a_seats)))
}
