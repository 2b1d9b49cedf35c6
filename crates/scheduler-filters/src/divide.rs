//! How many replicas each chosen cluster gets.
//!
//! Fixed weights are divided by the method of Webster (Sainte-Laguë), as stock does: the next replica goes to the
//! cluster with the largest `weight / (2·replicas + 1)`. Ties go to fewer replicas, then by name, in an order that the
//! parity of a hash of the template's UID chooses, so that odd replicas of many workloads spread over the fleet.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

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

/// Whether there are rules, and none of them gives one of these clusters a weight: then they share alike, as with stock, which is
/// hardly what the rules were written for.
#[must_use]
pub fn weighs_nothing(clusters: &[&Cluster], rules: &[StaticClusterWeight]) -> bool {
    !rules.is_empty() && clusters.iter().all(|cluster| weight_of(cluster, rules) <= 0)
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
///
/// The seats of a division are the first ones in one order of all (party, seat) pairs, so that counting may begin at the
/// shares of any smaller division: here at quotas of half a seat less for each party, rounded, after which no more seats
/// are left than there are parties. That keeps the work independent of the number of seats.
#[must_use]
pub fn webster(votes: &BTreeMap<String, i64>, seats: i32, tie: TieOrder) -> BTreeMap<String, i32> {
    let total: i128 = votes.values().map(|votes| i128::from(*votes)).sum();
    let seats = seats.max(0);
    if total <= 0 {
        return votes.keys().map(|name| (name.clone(), 0)).collect();
    }
    let parties = i128::try_from(votes.len()).unwrap_or(i128::MAX);
    let at_first = (2 * i128::from(seats)).saturating_sub(parties).max(0);
    let mut order: BinaryHeap<Party<'_>> = votes
        .iter()
        .map(|(name, votes)| Party {
            name,
            votes: *votes,
            share: match at_first {
                0 => 0,
                halves => i32::try_from((i128::from(*votes) * halves + total) / (2 * total)).unwrap_or(0),
            },
            tie,
        })
        .collect();
    let given: i32 = order.iter().map(|party| party.share).sum();
    for _ in given..seats {
        if let Some(mut next) = order.peek_mut() {
            next.share += 1;
        }
    }
    let shares = order.into_iter().map(|party| (party.name.clone(), party.share));
    shares.collect()
}

/// One that gets seats; the greatest is the one that gets the next.
#[derive(PartialEq, Eq)]
struct Party<'a> {
    name: &'a String,
    votes: i64,
    share: i32,
    tie: TieOrder,
}

impl Ord for Party<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        priority(self.votes, self.share, other.votes, other.share)
            .then_with(|| other.share.cmp(&self.share))
            .then_with(|| match self.tie {
                TieOrder::Ascending => other.name.cmp(self.name),
                TieOrder::Descending => self.name.cmp(other.name),
            })
    }
}

impl PartialOrd for Party<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares `votes / (2·seats + 1)` of two parties without rounding.
fn priority(a_votes: i64, a_seats: i32, b_votes: i64, b_seats: i32) -> Ordering {
    let divisor = |seats: i32| 2 * i128::from(seats) + 1;
    (i128::from(a_votes) * divisor(b_seats)).cmp(&(i128::from(b_votes) * divisor(a_seats)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cluster, shown};
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn rules(weights: &[(&str, i64)]) -> Vec<StaticClusterWeight> {
        let rules: Vec<Value> = weights
            .iter()
            .map(|(name, weight)| json!({"targetCluster": {"clusterNames": [name]}, "weight": weight}))
            .collect();
        serde_json::from_value(Value::Array(rules)).unwrap()
    }

    // Computed by hand: each line takes the largest weight / (2·replicas + 1), replica by replica.
    #[rstest]
    // 2, 1, 2/3 → m2 m1 m2
    #[case::worked_example(3, &[("m1", 1), ("m2", 2)], "m1:1 m2:2")]
    #[case::one_is_left(3, &[("m2", 2)], "m2:3")]
    // C84: 4:1 over 15 and over what is left of it.
    #[case::four_to_one(15, &[("m1", 4), ("m2", 1)], "m1:12 m2:3")]
    #[case::four_to_one_after(15, &[("m1", 4)], "m1:15")]
    // 3/1, 3/3 = 1 against 1/1: fewer replicas win the tie, so m2 comes second.
    #[case::fewer_replicas_win_a_tie(2, &[("m1", 3), ("m2", 1)], "m1:1 m2:1")]
    // 5, 3, 1; 5/3, 1, 1 …: m1 m2 m1, then 1 (m1 at 2 replicas), 1 (m2 at 1), 1 (m3 at 0): m3.
    #[case::three_way_tie(4, &[("m1", 5), ("m2", 3), ("m3", 1)], "m1:2 m2:1 m3:1")]
    #[case::more_clusters_than_replicas(1, &[("m1", 1), ("m2", 2)], "m2:1")]
    #[case::of_several_rules_the_largest(3, &[("m1", 1), ("m1", 2), ("m2", 1)], "m1:2 m2:1")]
    fn fixed_weights(#[case] replicas: i32, #[case] weights: &[(&str, i64)], #[case] expected: &str) {
        let mut names: Vec<&str> = weights.iter().map(|(name, _)| *name).collect();
        names.dedup();
        let clusters: Vec<Cluster> = names.iter().map(|name| cluster(name, json!({}))).collect();
        let clusters: Vec<&Cluster> = clusters.iter().collect();
        assert_eq!(
            shown(&static_weight(
                &clusters,
                &rules(weights),
                replicas,
                TieOrder::Ascending
            )),
            expected
        );
    }

    #[test]
    fn clusters_without_weight_get_nothing_unless_none_has_any() {
        let clusters = ["m1", "m2", "m3"].map(|name| cluster(name, json!({})));
        let all: Vec<&Cluster> = clusters.iter().collect();
        let divided = |rules: &[StaticClusterWeight]| shown(&static_weight(&all, rules, 4, TieOrder::Ascending));
        assert_eq!(divided(&rules(&[("m2", 7)])), "m2:4");
        assert_eq!(divided(&rules(&[("m9", 7)])), "m1:2 m2:1 m3:1");
        assert_eq!(divided(&[]), "m1:2 m2:1 m3:1");
    }

    #[test]
    fn the_templates_uid_chooses_who_wins_a_tie_of_names() {
        // FNV-1a of "a" is 0xe40c292c, of "b" 0xe70c2de5.
        assert_eq!(
            (TieOrder::of_template("a"), TieOrder::of_template("b")),
            (TieOrder::Ascending, TieOrder::Descending)
        );
        let votes: BTreeMap<String, i64> = [("m1".to_owned(), 1), ("m2".to_owned(), 1)].into();
        assert_eq!(webster(&votes, 1, TieOrder::Ascending)["m1"], 1);
        assert_eq!(webster(&votes, 1, TieOrder::Descending)["m2"], 1);
    }

    proptest! {
        #[test]
        fn all_seats_are_given_and_shares_differ_from_the_quota_by_little(
            votes in prop::collection::btree_map("[a-h]", 1_i64..50, 1..9), seats in 0_i32..200, tie in any::<bool>(),
        ) {
            let tie = if tie { TieOrder::Ascending } else { TieOrder::Descending };
            let shares = webster(&votes, seats, tie);
            prop_assert_eq!(shares.values().sum::<i32>(), seats);
            // Seat by seat, as the method is written down.
            let mut slow: BTreeMap<String, i32> = votes.keys().map(|name| (name.clone(), 0)).collect();
            for _ in 0..seats {
                let next = slow.keys().cloned().max_by(|a, b| {
                    let weighed = |one: &String, other: &String| i64::from(2 * slow[other] + 1) * votes[one];
                    weighed(a, b).cmp(&weighed(b, a))
                        .then(slow[b].cmp(&slow[a]))
                        .then(if tie == TieOrder::Ascending { b.cmp(a) } else { a.cmp(b) })
                });
                *slow.get_mut(&next.unwrap()).unwrap() += 1;
            }
            prop_assert_eq!(&shares, &slow);
            // Monotone: one more replica takes none away from anybody.
            let more = webster(&votes, seats + 1, tie);
            prop_assert!(shares.iter().all(|(name, share)| more[name] >= *share));
            // Nobody with more weight gets less, ties of names apart.
            for (a, a_votes) in &votes {
                for (b, b_votes) in &votes {
                    prop_assert!(a_votes <= b_votes || shares[a] >= shares[b]);
                }
            }
        }
    }
}
