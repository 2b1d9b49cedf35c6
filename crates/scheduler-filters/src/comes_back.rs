//! The dry run of a scheduler before a copy comes back to the cluster that it left: would the scheduler leave it there?
//!
//! Our scheduler never takes a copy that runs out of a result without another one; stock's empties the result when it finds
//! no place. So before the state of before a failure is restored for such a scheduler, it is asked with its own plugins:
//! the cluster must be among those that it would choose, with the copy as one that is there.

use api_types::ClusterName;
use api_types::work::{Binding, TargetCluster};
use jiff::Timestamp;

use crate::fleet::Fleet;
use crate::plugin::Plugins;
use crate::request::{Refusals, Rules};
use crate::schedule::{Failure, Scheduling, StartFrom, passes, schedule};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct ComesBack<'a> {
    /// The binding, as it is stored now.
    pub binding: &'a Binding,
    /// The cluster of the task that would be undone.
    pub cluster: &'a ClusterName,
    /// All clusters.
    pub fleet: &'a Fleet,
    /// The plugins of the scheduler that the binding names.
    pub plugins: &'a Plugins,
    /// The time of the decision.
    pub now: Timestamp,
}

/// Whether the scheduler would leave the copy where it comes back to.
///
/// # Errors
/// Why it would not, in words.
pub fn stays_when_back(question: &ComesBack<'_>) -> Result<(), String> {
    let restored = restored(question.binding, question.cluster);
    let scheduling = Scheduling {
        binding: &restored,
        fleet: question.fleet,
        plugins: question.plugins,
        rules: Rules::default(),
        start: StartFrom::GroupInUse,
        now: question.now,
    };
    let decision = match schedule(&scheduling) {
        Ok(decision) => decision,
        // How that scheduler divides or groups is not known here; whether it may use the cluster is. And where there is too
        // little room, any scheduler leaves the result as it is.
        Err(failure) if matches!(failure, Failure::Unsupported(_)) || failure.wants_room() => {
            let answer = passes(&scheduling, question.cluster);
            return answer.map_err(|refusal| format!("{}: {}", question.cluster, refusal.reason));
        }
        Err(failure) => {
            let own = failure
                .refusals()
                .and_then(|refusals| refused(refusals, question.cluster));
            return Err(own.unwrap_or_else(|| failure.to_string()));
        }
    };
    // Only a scheduler of ours keeps a copy that it did not choose.
    let kept = decision.kept.iter().flat_map(|kept| &kept.targets);
    let is_kept = kept.into_iter().any(|target| target.name == question.cluster.as_str());
    let is_there = decision
        .clusters
        .iter()
        .any(|target| target.name == question.cluster.as_str());
    if is_there && !is_kept {
        Ok(())
    } else {
        let own = refused(&decision.refusals, question.cluster);
        Err(own.unwrap_or_else(|| format!("it would choose other clusters than {}", question.cluster)))
    }
}

fn refused(refusals: &Refusals, cluster: &ClusterName) -> Option<String> {
    let refusal = refusals.0.get(cluster)?;
    Some(format!("{cluster}: {}", refusal.reason))
}

/// The binding as it would be with the state of before the failure.
fn restored(binding: &Binding, cluster: &ClusterName) -> Binding {
    let mut restored = binding.clone();
    let spec = &mut restored.spec;
    let replicas = spec.task(cluster).map_or(0, |task| spec.replicas_of(task));
    spec.graceful_eviction_tasks
        .retain(|task| task.from_cluster != cluster.as_str());
    spec.active_eviction_history
        .retain(|item| item.cluster_name != cluster.as_str());
    if spec.target(cluster).is_none() {
        spec.clusters.push(TargetCluster {
            name: cluster.to_string(),
            replicas,
            ..TargetCluster::default()
        });
    }
    restored
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cluster, deployment};
    use rstest::rstest;
    use serde_json::{Value, json};

    fn aggregated(mut placement: Value) -> Value {
        placement["replicaScheduling"] =
            json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"});
        placement
    }

    fn asked(placement: &Value, taints: &Value) -> Result<(), String> {
        let binding = deployment(json!({
            "placement": placement, "clusters": [],
            "gracefulEvictionTasks": [{"fromCluster": "m1", "replicas": 3, "reason": "TaintUntolerated", "producer": "TaintManager"}],
            "activeEvictionHistory": [{"clusterName": "m1", "creationTimestamp": "2026-01-01T00:00:00Z"}],
        }));
        let m1 = cluster("m1", json!({"spec": {"taints": taints}}));
        let fleet: Fleet = [m1].into_iter().collect();
        stays_when_back(&ComesBack {
            binding: &binding,
            cluster: &"m1".into(),
            fleet: &fleet,
            plugins: &Plugins::default(),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
        })
    }

    #[rstest]
    #[case::as_before(json!({}), json!([]), true)]
    // TaintToleration passes a present target, as stock's does.
    #[case::a_taint_that_keeps_new_ones_off(json!({}), json!([{"key": "k", "effect": "NoSchedule"}]), true)]
    #[case::the_placement_names_it_no_more(json!({"clusterAffinity": {"clusterNames": ["m2"]}}), json!([]), false)]
    #[case::a_spread_that_cannot_be(json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]}), json!([]), false)]
    #[case::divided_by_room(aggregated(json!({})), json!([]), true)]
    #[case::divided_by_room_on_another_cluster(aggregated(json!({"clusterAffinity": {"clusterNames": ["m2"]}})), json!([]), false)]
    #[case::what_is_not_known_here(json!({"workloadAffinity": {}}), json!([]), true)]
    #[case::that_and_another_cluster(json!({"workloadAffinity": {}, "clusterAffinity": {"clusterNames": ["m2"]}}), json!([]), false)]
    fn would_it_stay(#[case] placement: Value, #[case] taints: Value, #[case] expected: bool) {
        let answer = asked(&placement, &taints);
        assert_eq!(answer.is_ok(), expected, "{answer:?}");
    }

    /// The result is left as it is by every scheduler when there is too little room for more.
    #[test]
    fn too_little_room_for_more_takes_nothing_away() {
        let mut binding = deployment(json!({
            "placement": aggregated(json!({})), "replicas": 5, "clusters": [],
            "gracefulEvictionTasks": [{"fromCluster": "m1", "replicas": 3, "reason": "TaintUntolerated", "producer": "TaintManager"}],
        }));
        let fleet: Fleet = [cluster("m1", json!({}))].into_iter().collect();
        let asked = |binding: &Binding| {
            stays_when_back(&ComesBack {
                binding,
                cluster: &"m1".into(),
                fleet: &fleet,
                plugins: &Plugins::default(),
                now: "2026-01-01T00:00:00Z".parse().unwrap(),
            })
        };
        assert_eq!(asked(&binding), Ok(()));
        binding.spec.placement.as_mut().unwrap().cluster_affinity =
            serde_json::from_value(json!({"clusterNames": ["m2"]})).unwrap();
        assert!(asked(&binding).is_err());
    }

    #[test]
    fn a_refusal_names_the_cluster() {
        let why = asked(&json!({"clusterAffinity": {"clusterNames": ["m2"]}}), &json!([])).unwrap_err();
        assert!(why.starts_with("m1: "), "{why}");
    }
}
