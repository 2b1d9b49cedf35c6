//! Whether a binding is the scheduler's business, and whether it is to be placed now.
//!
//! Rules (Karmada): the placement differs from the applied one; the replicas differ; a person asked for a fresh
//! placement; what has no replicas and Duplicated workloads always; a target is being deleted, if it is the scheduler
//! that empties such a cluster: else a new division would move replicas past the queue, its rate and its pauses. Ours
//! beside them: a target does not exist any more, and a binding that is not scheduled.

use std::collections::BTreeMap;

use api_types::names::annotation;
use api_types::placement::{ClusterAffinityTerm, Placement, ReplicaSchedulingType};
use api_types::work::{Binding, condition};

use crate::fleet::Fleet;
use crate::request::DeletionBy;

/// Why a binding is placed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The placement differs from the applied one.
    PlacementChanged,
    /// The result holds fewer or more replicas than the template.
    ReplicasChanged,
    /// `spec.rescheduleTriggeredAt` is younger than the last placement.
    Asked,
    /// It has no replicas, or every cluster runs all of them: computed at each look.
    AlwaysComputed,
    /// A target is being deleted, and the scheduler is who empties it.
    TargetBeingDeleted,
    /// The condition `Scheduled` is not True.
    NotScheduled,
}

/// Whether a binding that this scheduler handles is to be placed, by the first rule that says so.
#[must_use]
pub fn trigger(binding: &Binding, placement: &Placement, fleet: &Fleet, deletion: DeletionBy) -> Option<Trigger> {
    if asked(binding) {
        return Some(Trigger::Asked);
    }
    if placement_changed(binding, placement) {
        return Some(Trigger::PlacementChanged);
    }
    if replicas_changed(binding, placement) {
        return Some(Trigger::ReplicasChanged);
    }
    if binding
        .condition(condition::SCHEDULED)
        .is_none_or(|c| c.status != "True")
    {
        return Some(Trigger::NotScheduled);
    }
    if !binding.spec.is_workload() || placement.scheduling_type() == ReplicaSchedulingType::Duplicated {
        return Some(Trigger::AlwaysComputed);
    }
    let being_deleted = |name: &str| {
        fleet
            .get(name)
            .is_some_and(api_types::cluster::Cluster::is_being_deleted)
    };
    let is_left = binding.spec.clusters.iter().any(|target| being_deleted(&target.name));
    (is_left && deletion == DeletionBy::Scheduler).then_some(Trigger::TargetBeingDeleted)
}

fn asked(binding: &Binding) -> bool {
    let last = binding
        .status
        .as_ref()
        .and_then(|status| status.last_scheduled_time.as_ref());
    match (&binding.spec.reschedule_triggered_at, last) {
        (Some(asked), Some(last)) => asked.0 > last.0,
        // A first placement is fresh anyway.
        (Some(_) | None, _) => false,
    }
}

/// The placement by which the result was made; what cannot be read was not applied by us.
pub(crate) fn applied_placement(binding: &Binding) -> Option<Placement> {
    let annotations = binding.metadata.annotations.as_ref()?;
    serde_json::from_str(annotations.get(annotation::APPLIED_PLACEMENT)?).ok()
}

/// `workloadAffinity` does not count; of ordered groups only the one in use does.
fn placement_changed(binding: &Binding, placement: &Placement) -> bool {
    let Some(applied) = applied_placement(binding) else {
        return true;
    };
    let rest = |placement: &Placement| Placement {
        cluster_affinities: Vec::new(),
        workload_affinity: None,
        ..placement.clone()
    };
    if rest(placement) != rest(&applied) {
        return true;
    }
    if placement.cluster_affinities == applied.cluster_affinities {
        return false;
    }
    let in_use = binding
        .status
        .as_ref()
        .and_then(|status| status.scheduler_observed_affinity_name.as_deref());
    let group = |terms: &[ClusterAffinityTerm]| {
        in_use.and_then(|name| terms.iter().find(|term| term.affinity_name == name).cloned())
    };
    match (group(&placement.cluster_affinities), group(&applied.cluster_affinities)) {
        (Some(wanted), Some(applied)) => wanted != applied,
        _ => true,
    }
}

fn replicas_changed(binding: &Binding, placement: &Placement) -> bool {
    if !binding.spec.is_workload() {
        return false;
    }
    let wanted = i64::from(binding.replicas());
    let placed = || binding.spec.clusters.iter().map(|target| i64::from(target.replicas));
    match placement.scheduling_type() {
        ReplicaSchedulingType::Duplicated => placed().any(|replicas| replicas != wanted),
        ReplicaSchedulingType::Divided | ReplicaSchedulingType::Other(_) => placed().sum::<i64>() != wanted,
    }
}

/// The clusters and replicas of a result, for comparing two of them whatever their order.
#[must_use]
pub fn as_map(clusters: &[api_types::work::TargetCluster]) -> BTreeMap<&str, i32> {
    clusters
        .iter()
        .map(|target| (target.name.as_str(), target.replicas))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ours::{NotOurs, ours};
    use rstest::rstest;
    use serde_json::{Value, json};

    fn binding(more: &Value) -> Binding {
        let mut object = json!({
            "metadata": {
                "namespace": "default", "name": "b",
                "labels": {"propagationpolicy.karmada.io/permanent-id": "p"},
                "annotations": {"policy.karmada.io/applied-placement": "{\"replicaScheduling\":{}}"},
            },
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"},
                "replicas": 2, "clusters": [{"name": "m1", "replicas": 2}], "placement": {"replicaScheduling": {}},
            },
            "status": {
                "lastScheduledTime": "2026-01-01T00:00:00Z",
                "conditions": [{
                    "type": "Scheduled", "status": "True", "reason": "Success", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
            },
        });
        merge(&mut object, more);
        serde_json::from_value(object).unwrap()
    }

    fn merge(into: &mut Value, from: &Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                for (key, value) in from {
                    merge(into.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
            (into, from) => *into = from.clone(),
        }
    }

    #[rstest]
    #[case::ours(json!({}), None)]
    #[case::by_the_default_name(json!({"spec": {"schedulerName": ""}}), None)]
    #[case::other_scheduler(json!({"spec": {"schedulerName": "mine"}}), Some(NotOurs::OtherScheduler))]
    #[case::suspended(json!({"spec": {"suspension": {"scheduling": true}}}), Some(NotOurs::Suspended))]
    #[case::not_suspended(json!({"spec": {"suspension": {"scheduling": false, "dispatching": true}}}), None)]
    #[case::attached(json!({"metadata": {"labels": null}}), Some(NotOurs::NoManager))]
    #[case::managed(json!({"metadata": {"labels": {"propagationpolicy.karmada.io/permanent-id": "", "binding.karmada.io/managed-by": "x"}}}), None)]
    #[case::no_placement(json!({"spec": {"placement": null}}), Some(NotOurs::NoPlacement))]
    #[case::being_deleted(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), Some(NotOurs::BeingDeleted))]
    fn whose(#[case] more: Value, #[case] expected: Option<NotOurs>) {
        assert_eq!(ours(&binding(&more), "default-scheduler").err(), expected);
    }

    fn applied(placement: &Value) -> Value {
        json!({"metadata": {"annotations": {"policy.karmada.io/applied-placement": placement.to_string()}}})
    }

    fn groups(first: &str, second: &str) -> Value {
        json!({"clusterAffinities": [
            {"affinityName": "a", "clusterNames": [first]}, {"affinityName": "b", "clusterNames": [second]},
        ]})
    }

    fn in_group(name: &str, wanted: &Value, was: &Value) -> Value {
        let mut more = applied(was);
        more["spec"] = json!({"placement": wanted});
        more["spec"]["placement"]["replicaScheduling"] = Value::Null;
        more["status"] = json!({"schedulerObservingAffinityName": name});
        more
    }

    #[rstest]
    #[case::nothing(json!({}), None)]
    #[case::never_applied(json!({"metadata": {"annotations": null}}), Some(Trigger::PlacementChanged))]
    #[case::unreadable(json!({"metadata": {"annotations": {"policy.karmada.io/applied-placement": "{"}}}), Some(Trigger::PlacementChanged))]
    #[case::tolerations(applied(&json!({"replicaScheduling": {}, "clusterTolerations": [{"operator": "Exists"}]})), Some(Trigger::PlacementChanged))]
    #[case::workload_affinity_does_not_count(applied(&json!({"replicaScheduling": {}, "workloadAffinity": {}})), None)]
    #[case::group_in_use_changed(in_group("a", &groups("m1", "m2"), &groups("m9", "m2")), Some(Trigger::PlacementChanged))]
    #[case::other_group_changed(in_group("a", &groups("m1", "m2"), &groups("m1", "m9")), Some(Trigger::AlwaysComputed))]
    #[case::no_group_in_use(in_group("", &groups("m1", "m2"), &groups("m1", "m9")), Some(Trigger::PlacementChanged))]
    #[case::scaled(json!({"spec": {"replicas": 3}}), Some(Trigger::ReplicasChanged))]
    #[case::evicted(json!({"spec": {"clusters": []}}), Some(Trigger::ReplicasChanged))]
    #[case::not_scheduled(json!({"status": {"conditions": []}}), Some(Trigger::NotScheduled))]
    #[case::asked(json!({"spec": {"rescheduleTriggeredAt": "2026-01-01T00:00:01Z"}}), Some(Trigger::Asked))]
    #[case::asked_before(json!({"spec": {"rescheduleTriggeredAt": "2025-01-01T00:00:01Z"}}), None)]
    #[case::no_replicas(json!({"spec": {"replicas": 0}}), Some(Trigger::AlwaysComputed))]
    fn when(#[case] more: Value, #[case] expected: Option<Trigger>) {
        let binding = binding(&more);
        let placement = binding.spec.placement.clone().unwrap();
        let fleet = Fleet::default();
        assert_eq!(trigger(&binding, &placement, &fleet, DeletionBy::Queue), expected);
    }

    /// Divided by room: the sum of the replicas says whether some are missing or too many, and nothing else moves any.
    #[rstest]
    #[case::as_it_should_be(2, &[("m1", 1), ("m2", 1)], None)]
    #[case::evicted(2, &[("m1", 1)], Some(Trigger::ReplicasChanged))]
    #[case::scaled_up(3, &[("m1", 1), ("m2", 1)], Some(Trigger::ReplicasChanged))]
    #[case::a_copy_is_kept(2, &[("m1", 2), ("m2", 1)], Some(Trigger::ReplicasChanged))]
    #[case::very_many(i32::MAX, &[("m1", i32::MAX), ("m2", i32::MAX)], Some(Trigger::ReplicasChanged))]
    fn divided_by_room(
        #[case] replicas: i32,
        #[case] on: &[(&str, i32)],
        #[case] expected: Option<Trigger>,
        #[values("Aggregated", "Weighted")] division: &str,
    ) {
        let placement = json!({"replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": division,
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        }});
        let mut more = applied(&placement);
        let clusters: Vec<Value> = on
            .iter()
            .map(|(name, replicas)| json!({"name": name, "replicas": replicas}))
            .collect();
        more["spec"] = json!({"placement": placement, "replicas": replicas, "clusters": clusters});
        let binding = binding(&more);
        let placement = binding.spec.placement.clone().unwrap();
        assert_eq!(
            trigger(&binding, &placement, &Fleet::default(), DeletionBy::Queue),
            expected
        );
    }

    /// With the queue at work nothing is divided anew because a target goes: not under a pause, not past the rate.
    #[rstest]
    #[case::by_the_queue(DeletionBy::Queue, None)]
    #[case::by_the_scheduler(DeletionBy::Scheduler, Some(Trigger::TargetBeingDeleted))]
    fn a_target_that_is_being_deleted(#[case] deletion: DeletionBy, #[case] expected: Option<Trigger>) {
        let binding = binding(&json!({}));
        let placement = binding.spec.placement.clone().unwrap();
        let going = binding.spec.clusters.iter().map(|target| {
            std::sync::Arc::new(
                serde_json::from_value(json!({
                    "metadata": {"name": target.name, "deletionTimestamp": "2026-01-01T00:00:00Z"},
                    "spec": {"syncMode": "Push"},
                }))
                .unwrap(),
            )
        });
        let fleet: Fleet = going.collect();
        assert_eq!(trigger(&binding, &placement, &fleet, deletion), expected);
    }

    #[test]
    fn duplicated_wants_all_replicas_on_each() {
        let duplicated = json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}});
        let mut more = applied(&duplicated);
        more["spec"] = json!({"placement": duplicated, "clusters": [{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 1}]});
        let binding = binding(&more);
        let placement = binding.spec.placement.clone().unwrap();
        assert_eq!(
            trigger(&binding, &placement, &Fleet::default(), DeletionBy::Queue),
            Some(Trigger::ReplicasChanged)
        );
    }
}
