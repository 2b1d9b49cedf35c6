//! Which bindings a change of a cluster concerns: those that could be placed better, not all.

use std::collections::BTreeMap;

use api_types::cluster::{Cluster, condition};
use api_types::placement::{Placement, ReplicaSchedulingType};
use api_types::work::{self, Binding};
use failover_core::affinity;
use failover_core::place::Traits;
use k8s_openapi::api::core::v1::Taint;

use crate::plan::keeps_a_copy;

/// Index of bindings by the clusters of their result.
pub const HOLDERS: &str = "scheduler/holders";
/// Index of bindings by what wakes them.
pub const WAKES: &str = "scheduler/wakes";
/// In [`WAKES`]: bindings that are not scheduled.
pub const UNPLACED: &str = "unplaced";
/// In [`WAKES`]: bindings that want every cluster that fits.
pub const EVERYWHERE: &str = "everywhere";
/// In [`WAKES`]: bindings that keep a copy until another one works, which it does only on a Ready cluster.
pub const KEEPING: &str = "keeping";

/// Values of [`HOLDERS`].
#[must_use]
pub fn holders(binding: &Binding) -> Vec<String> {
    binding.spec.clusters.iter().map(|target| target.name.clone()).collect()
}

/// Values of [`WAKES`].
#[must_use]
pub fn wakes(binding: &Binding) -> Vec<String> {
    let Some(placement) = &binding.spec.placement else {
        return Vec::new();
    };
    if binding
        .condition(work::condition::SCHEDULED)
        .is_none_or(|c| c.status != "True")
    {
        return vec![UNPLACED.to_owned()];
    }
    if !binding.spec.is_workload() || placement.scheduling_type() == ReplicaSchedulingType::Duplicated {
        return vec![EVERYWHERE.to_owned()];
    }
    if keeps_a_copy(binding) {
        return vec![KEEPING.to_owned()];
    }
    Vec::new()
}

/// Which bindings a change of one cluster concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concerns {
    /// Those on the cluster: it is going or gone.
    pub holders: Concerned,
    /// Those that may find a place now: unplaced ones, those that want every cluster, and those that keep a copy.
    pub seekers: Concerned,
}

/// Whether a group of bindings is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Concerned {
    /// It is not.
    #[default]
    No,
    /// It is.
    Yes,
}

impl From<bool> for Concerned {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// What a change from `before` to `after` means. Taints that are added concern nobody: clusters in a result are not
/// judged by them.
#[must_use]
pub fn concerns(before: Option<&Cluster>, after: Option<&Cluster>) -> Concerns {
    match (before, after) {
        (_, None) => Concerns {
            holders: Concerned::Yes,
            seekers: Concerned::No,
        },
        (None, Some(_)) => Concerns {
            holders: Concerned::No,
            seekers: Concerned::Yes,
        },
        (Some(before), Some(after)) => Concerns {
            holders: (before.is_being_deleted() != after.is_being_deleted()).into(),
            seekers: may_take_more(before, after).into(),
        },
    }
}

fn may_take_more(before: &Cluster, after: &Cluster) -> bool {
    let reported = |cluster: &Cluster| cluster.condition(condition::READY).is_some();
    Traits::of(before) != Traits::of(after)
        || lost_a_taint(&before.spec.taints, &after.spec.taints)
        || (!before.is_ready() && after.is_ready())
        || (!reported(before) && reported(after))
}

fn lost_a_taint(before: &[Taint], after: &[Taint]) -> bool {
    let after: BTreeMap<(&str, &str), Option<&str>> = after
        .iter()
        .map(|taint| ((taint.key.as_str(), taint.effect.as_str()), taint.value.as_deref()))
        .collect();
    before
        .iter()
        .any(|taint| after.get(&(taint.key.as_str(), taint.effect.as_str())) != Some(&taint.value.as_deref()))
}

/// Whether the placement of a binding could choose this cluster at all.
#[must_use]
pub fn could_choose(placement: &Placement, cluster: &Cluster) -> bool {
    if placement.cluster_affinities.is_empty() {
        return placement
            .cluster_affinity
            .as_ref()
            .is_none_or(|wanted| affinity::matches(wanted, cluster));
    }
    placement
        .cluster_affinities
        .iter()
        .any(|term| affinity::matches(&term.cluster_affinity, cluster))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn cluster(more: &Value) -> Cluster {
        let mut object = json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}, "status": {}});
        for (part, fields) in more.as_object().unwrap() {
            for (key, value) in fields.as_object().unwrap() {
                object[part][key] = value.clone();
            }
        }
        serde_json::from_value(object).unwrap()
    }

    fn ready(status: &str) -> Value {
        json!({"status": {"conditions": [{
            "type": "Ready", "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}})
    }

    fn tainted(value: &str) -> Value {
        json!({"spec": {"taints": [{"key": "k", "value": value, "effect": "NoSchedule"}]}})
    }

    #[rstest]
    #[case::nothing(json!({}), json!({}), false)]
    #[case::a_taint_goes(tainted("a"), json!({}), true)]
    #[case::a_taint_comes(json!({}), tainted("a"), false)]
    #[case::a_taint_changes(tainted("a"), tainted("b"), true)]
    #[case::becomes_ready(ready("False"), ready("True"), true)]
    #[case::first_reports(json!({}), ready("False"), true)]
    #[case::fails(ready("True"), ready("False"), false)]
    #[case::labels(json!({}), json!({"metadata": {"labels": {"a": "b"}}}), true)]
    #[case::region(json!({}), json!({"spec": {"region": "r"}}), true)]
    #[case::apis(json!({}), json!({"status": {"apiEnablements": [{"groupVersion": "v1", "resources": []}]}}), true)]
    #[case::a_node_more(json!({}), json!({"status": {"resourceSummary": {"allocatable": {"cpu": "1"}}}}), false)]
    fn seekers_wake_when_a_cluster_may_take_more(#[case] before: Value, #[case] after: Value, #[case] wakes: bool) {
        let concerns = concerns(Some(&cluster(&before)), Some(&cluster(&after)));
        assert_eq!(
            concerns,
            Concerns {
                holders: Concerned::No,
                seekers: wakes.into()
            }
        );
    }

    #[test]
    fn holders_wake_when_their_cluster_goes() {
        let going = cluster(&json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
        assert_eq!(
            concerns(Some(&cluster(&json!({}))), Some(&going)).holders,
            Concerned::Yes
        );
        assert_eq!(
            concerns(Some(&going), None),
            Concerns {
                holders: Concerned::Yes,
                seekers: Concerned::No
            }
        );
        assert_eq!(
            concerns(None, Some(&cluster(&json!({})))),
            Concerns {
                holders: Concerned::No,
                seekers: Concerned::Yes
            }
        );
    }

    #[test]
    fn a_divided_workload_that_is_placed_seeks_nothing() {
        let binding = |scheduled: &str, placement: &Value| -> Binding {
            serde_json::from_value(json!({
                "metadata": {"name": "b"},
                "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"}, "replicas": 1, "placement": placement},
                "status": {"conditions": [{
                    "type": "Scheduled", "status": scheduled, "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            }))
            .unwrap()
        };
        let divided = json!({"replicaScheduling": {}});
        assert_eq!(wakes(&binding("True", &divided)), [""; 0]);
        assert_eq!(wakes(&binding("False", &divided)), [UNPLACED]);
        assert_eq!(wakes(&binding("True", &json!({}))), [EVERYWHERE]);
    }
}
