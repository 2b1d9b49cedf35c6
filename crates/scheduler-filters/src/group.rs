//! The affinity group in use, where the status does not say it yet.
//!
//! The result is written before the status, and a process may die between the two, or the status may be lost. Then the
//! result says which group was used: whoever believed the status would go back to the group before, past the rule that
//! nothing goes back by itself.

use api_types::placement::{ClusterAffinityTerm, Placement};
use api_types::work::Binding;
use failover_core::affinity;

use crate::fleet::Fleet;
use crate::last_copy::keeps_a_copy;
use crate::trigger::applied_placement;

/// The group that the result of a binding was made of, where the status was not written since and names one of which no
/// cluster is in the result. None where the status is right, or where nothing can be told: of other groups than those of
/// now, of a result that is empty or holds a copy of an earlier group.
#[must_use]
pub fn of_result(binding: &Binding, placement: &Placement, fleet: &Fleet) -> Option<String> {
    let groups = &placement.cluster_affinities;
    let status = binding.status.as_ref();
    let is_told = status.is_some_and(|status| {
        status.scheduler_observed_generation.is_some()
            && status.scheduler_observed_generation == binding.metadata.generation
    });
    if groups.is_empty() || is_told || keeps_a_copy(binding) {
        return None;
    }
    let targets = binding.spec.clusters.iter();
    let clusters: Vec<_> = targets.filter_map(|target| fleet.get(&target.name)).collect();
    let names = |group: &&ClusterAffinityTerm| {
        let mut each = clusters.iter();
        each.any(|cluster| affinity::matches(&group.cluster_affinity, cluster))
    };
    let observed = status.and_then(|status| status.scheduler_observed_affinity_name.as_deref());
    let in_use = groups
        .iter()
        .find(|group| Some(group.affinity_name.as_str()) == observed);
    if in_use.as_ref().is_some_and(names) || applied_placement(binding)?.cluster_affinities != *groups {
        return None;
    }
    groups.iter().find(names).map(|group| group.affinity_name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use api_types::cluster::Cluster;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn groups(first: &str) -> Value {
        json!({"clusterAffinities": [
            {"affinityName": "near", "clusterNames": [first]}, {"affinityName": "far", "clusterNames": ["m2"]},
        ]})
    }

    #[rstest]
    #[case::the_status_was_not_written("m2", "near", 1, "m1", Some("far"))]
    #[case::it_was_never_written("m2", "", 0, "m1", Some("far"))]
    #[case::it_was_written("m2", "near", 2, "m1", None)]
    #[case::it_is_right_already("m2", "far", 1, "m1", None)]
    #[case::the_result_was_emptied("", "near", 1, "m1", None)]
    #[case::the_result_is_of_other_groups("m2", "near", 1, "m3", None)]
    #[case::no_group_names_it("m4", "near", 1, "m1", None)]
    fn the_result_tells_the_group(
        #[case] on: &str,
        #[case] observed: &str,
        #[case] observed_generation: i64,
        #[case] applied: &str,
        #[case] expected: Option<&str>,
    ) {
        let clusters: Vec<Value> = [on]
            .iter()
            .filter(|on| !on.is_empty())
            .map(|on| json!({"name": on}))
            .collect();
        let binding: Binding = serde_json::from_value(json!({
            "metadata": {
                "name": "b", "generation": 2,
                "annotations": {"policy.karmada.io/applied-placement": groups(applied).to_string()},
            },
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"},
                "clusters": clusters, "placement": groups("m1"),
            },
            "status": {"schedulerObservingAffinityName": observed, "schedulerObservedGeneration": observed_generation},
        }))
        .unwrap();
        let fleet: Fleet = ["m1", "m2", "m3", "m4"]
            .map(|name| {
                let cluster = json!({"metadata": {"name": name}, "spec": {"syncMode": "Push"}});
                serde_json::from_value::<Cluster>(cluster).unwrap()
            })
            .into_iter()
            .collect();
        let placement = binding.spec.placement.clone().unwrap();
        assert_eq!(of_result(&binding, &placement, &fleet).as_deref(), expected);
    }
}
