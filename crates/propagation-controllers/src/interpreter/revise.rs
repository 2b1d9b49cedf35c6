//! Makes a template ask for the replicas of one cluster.

use api_types::work::TargetCluster;
use serde_json::Value;

use super::gvk;
use crate::json::set;

pub(super) fn revise(template: &mut Value, replicas: i32) {
    match gvk(template) {
        ("apps/v1", "Deployment" | "ReplicaSet" | "StatefulSet") => {
            set(template, &["spec", "replicas"], replicas.into());
        }
        ("batch/v1", "Job") => set(template, &["spec", "parallelism"], replicas.into()),
        _ => {}
    }
}

/// Divides `total` over the clusters in proportion to their replicas: a Job's completions follow its parallelism.
///
/// The sum is exact. Each unit in turn goes to the cluster with the greatest claim (its replicas over twice what it has
/// plus one), as the scheduler divides replicas; of equal claims the first by name.
#[must_use]
pub fn divide_by_replicas(total: i64, clusters: &[TargetCluster]) -> Vec<(String, i64)> {
    let weight = |cluster: &TargetCluster| i128::from(cluster.replicas.max(0));
    let weights: i128 = clusters.iter().map(weight).sum();
    let mut shares: Vec<(String, i128, i64)> = clusters
        .iter()
        .map(|cluster| (cluster.name.clone(), weight(cluster), 0))
        .collect();
    shares.sort();
    if weights > 0 {
        // All but a few units are certain beforehand: a share never falls short of its exact part by more than one seat.
        let mut left = total.max(0);
        for (_, weight, share) in &mut shares {
            let sure = i64::try_from(i128::from(total.max(0)) * *weight / weights).unwrap_or(i64::MAX);
            *share = (sure - 1).max(0);
            left -= *share;
        }
        for _ in 0..left {
            let claims = |a: &(String, i128, i64), b: &(String, i128, i64)| {
                (a.1 * i128::from(2 * b.2 + 1)).cmp(&(b.1 * i128::from(2 * a.2 + 1)))
            };
            // `max_by` takes the last of equals, so the search runs backwards.
            if let Some(next) = shares.iter_mut().rev().max_by(|a, b| claims(a, b)) {
                next.2 += 1;
            }
        }
    }
    shares.into_iter().map(|(name, _, share)| (name, share)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn target(name: &str, replicas: i32) -> TargetCluster {
        TargetCluster {
            name: name.into(),
            replicas,
            ..TargetCluster::default()
        }
    }

    #[rstest]
    #[case("apps/v1", "Deployment", "replicas")]
    #[case("apps/v1", "StatefulSet", "replicas")]
    #[case("batch/v1", "Job", "parallelism")]
    fn the_count_is_set(#[case] version: &str, #[case] kind: &str, #[case] field: &str) {
        let mut template = json!({"apiVersion": version, "kind": kind, "spec": {"keep": 1}});
        revise(&mut template, 2);
        assert_eq!(template["spec"], json!({"keep": 1, field: 2}));
    }

    #[test]
    fn kinds_without_replicas_stay_as_they_are() {
        let mut template = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {}});
        revise(&mut template, 2);
        assert_eq!(template, json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {}}));
    }

    #[rstest]
    #[case(3, vec![("a", 1), ("b", 2)], vec![("a", 1), ("b", 2)])]
    #[case(9, vec![("a", 1), ("b", 2)], vec![("a", 3), ("b", 6)])]
    #[case(1, vec![("b", 1), ("a", 1)], vec![("a", 1), ("b", 0)])]
    #[case(5, vec![("a", 0), ("b", 0)], vec![("a", 0), ("b", 0)])]
    fn completions_follow_replicas(
        #[case] total: i64,
        #[case] clusters: Vec<(&str, i32)>,
        #[case] wanted: Vec<(&str, i64)>,
    ) {
        let clusters: Vec<_> = clusters
            .into_iter()
            .map(|(name, replicas)| target(name, replicas))
            .collect();
        let wanted: Vec<_> = wanted
            .into_iter()
            .map(|(name, share)| (name.to_owned(), share))
            .collect();
        assert_eq!(divide_by_replicas(total, &clusters), wanted);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_invented(total in 0_i64..10_000, replicas in prop::collection::vec(0_i32..50, 1..8)) {
            let clusters: Vec<_> = replicas.iter().enumerate().map(|(i, r)| target(&format!("m{i}"), *r)).collect();
            let sum: i64 = divide_by_replicas(total, &clusters).iter().map(|(_, share)| share).sum();
            let all = if replicas.iter().any(|r| *r > 0) { total } else { 0 };
            prop_assert_eq!(sum, all);
        }
    }
}
