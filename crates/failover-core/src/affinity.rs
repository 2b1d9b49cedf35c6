//! Whether a Cluster matches a ClusterAffinity or a label selector. The same for placements and taint policies.
//!
//! Rule (Karmada): excluded names lose first; then label selector, field selector and names must each match where they
//! are given; nothing given matches every cluster.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::placement::{ClusterAffinity, ClusterField, FieldSelectorRequirement, SetOperator};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Whether `affinity` selects `cluster`.
#[must_use]
pub fn matches(affinity: &ClusterAffinity, cluster: &Cluster) -> bool {
    let name = cluster.metadata.name.as_deref().unwrap_or_default();
    if affinity.exclude_clusters.iter().any(|excluded| excluded == name) {
        return false;
    }
    let labels = cluster.metadata.labels.as_ref();
    affinity
        .label_selector
        .as_ref()
        .is_none_or(|selector| selects(selector, labels))
        && affinity
            .field_selector
            .as_ref()
            .is_none_or(|selector| selector.match_expressions.iter().all(|r| field_matches(r, cluster)))
        && (affinity.cluster_names.is_empty() || affinity.cluster_names.iter().any(|wanted| wanted == name))
}

/// Whether a label selector selects `labels`. An unknown operator selects nothing.
#[must_use]
pub fn selects(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    let value = |key: &str| labels.and_then(|labels| labels.get(key));
    selector
        .match_labels
        .iter()
        .flatten()
        .all(|(key, wanted)| value(key) == Some(wanted))
        && selector.match_expressions.iter().flatten().all(|requirement| {
            let LabelSelectorRequirement { key, operator, values } = requirement;
            let listed = |v: &String| values.iter().flatten().any(|candidate| candidate == v);
            match operator.as_str() {
                "In" => value(key).is_some_and(listed),
                "NotIn" => !value(key).is_some_and(listed),
                "Exists" => value(key).is_some(),
                "DoesNotExist" => value(key).is_none(),
                _ => false,
            }
        })
}

/// Zones match In when all of the cluster's zones are listed, and NotIn when none is: a cluster that spans more zones
/// than a workload may use is no place for it.
fn field_matches(requirement: &FieldSelectorRequirement, cluster: &Cluster) -> bool {
    let own: Vec<&str> = match &requirement.key {
        ClusterField::Provider => cluster.spec.provider.iter().map(String::as_str).collect(),
        ClusterField::Region => cluster.spec.region.iter().map(String::as_str).collect(),
        ClusterField::Zone => cluster.zones(),
        ClusterField::Other(_) => return false,
    };
    let listed = |v: &&str| requirement.values.iter().any(|candidate| candidate == v);
    match &requirement.operator {
        SetOperator::In => !own.is_empty() && own.iter().all(listed),
        SetOperator::NotIn => !own.iter().any(listed),
        SetOperator::Other(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn cluster() -> Cluster {
        serde_json::from_value(json!({
            "metadata": { "name": "m1", "labels": { "tier": "prod" } },
            "spec": { "syncMode": "Push", "region": "r1", "zones": ["a", "b"] }
        }))
        .unwrap()
    }

    #[rstest]
    #[case::nothing_given(json!({}), true)]
    #[case::named(json!({"clusterNames": ["m1", "m2"]}), true)]
    #[case::not_named(json!({"clusterNames": ["m2"]}), false)]
    #[case::excluded_wins(json!({"clusterNames": ["m1"], "exclude": ["m1"]}), false)]
    #[case::labels(json!({"labelSelector": {"matchLabels": {"tier": "prod"}}}), true)]
    #[case::labels_and_name(json!({"labelSelector": {"matchLabels": {"tier": "dev"}}, "clusterNames": ["m1"]}), false)]
    #[case::absent_label_not_in(json!({"labelSelector": {"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["1"]}]}}), true)]
    #[case::unknown_operator(json!({"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "Gt", "values": ["1"]}]}}), false)]
    #[case::region(json!({"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["r1"]}]}}), true)]
    #[case::provider_missing(json!({"fieldSelector": {"matchExpressions": [{"key": "provider", "operator": "In", "values": ["p"]}]}}), false)]
    #[case::zones_all_listed(json!({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b", "c"]}]}}), true)]
    #[case::zones_partly_listed(json!({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}}), false)]
    #[case::zones_not_in(json!({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["b"]}]}}), false)]
    fn affinities(#[case] affinity: Value, #[case] expected: bool) {
        let affinity: ClusterAffinity = serde_json::from_value(affinity).unwrap();
        assert_eq!(matches(&affinity, &cluster()), expected);
    }
}
