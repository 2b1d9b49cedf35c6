//! Which bindings a change of a cluster concerns: those that could be placed better, not all.
//!
//! Rules: a binding without a place, one that wants every cluster and one that keeps a copy are looked at when a cluster
//! that its placement could choose came, changed its traits, lost a taint that keeps workloads away, became Ready or
//! reported for the first time. One that waits for room also when such a cluster is Ready and has room for more of its
//! replicas than before, if that and the room of the others could be enough. Those on a cluster are looked at when it begins to go, and when it is gone. Nothing else of a cluster concerns
//! anybody: no renewal, no condition that says the same again, no pod that comes or goes where nobody waits for room.

use std::collections::BTreeMap;

use api_types::cluster::{Cluster, condition, effect};
use api_types::placement::{Placement, ReplicaSchedulingType};
use api_types::work::{self, Binding, ReplicaRequirements};
use failover_core::affinity;
use failover_core::place::Traits;
use k8s_openapi::api::core::v1::Taint;

use crate::estimate;
use crate::last_copy::keeps_a_copy;
use crate::ours::ours;
use crate::plugin::Plugins;
use crate::strategy::{self, Strategy};

/// In [`WAKES`]: those that may find a place, or a better one, on a cluster that takes more than before.
pub const SEEKERS: [&str; 3] = [UNPLACED, EVERYWHERE, KEEPING];

/// Index of bindings by the clusters of their result.
pub const HOLDERS: &str = "scheduler/holders";
/// Index of bindings by what wakes them.
pub const WAKES: &str = "scheduler/wakes";
/// In [`WAKES`]: bindings that are not scheduled.
pub const UNPLACED: &str = "unplaced";
/// In [`WAKES`], beside [`UNPLACED`]: those of them whose replicas go where there is room.
pub const SHORT: &str = "short";
/// In [`WAKES`]: bindings that want every cluster that fits.
pub const EVERYWHERE: &str = "everywhere";
/// In [`WAKES`]: bindings that keep a copy until another one works, which it does only on a Ready cluster.
pub const KEEPING: &str = "keeping";

/// Values of [`HOLDERS`]; none of what this scheduler does not place.
#[must_use]
pub fn holders(binding: &Binding, scheduler_name: &str) -> Vec<String> {
    if ours(binding, scheduler_name).is_err() {
        return Vec::new();
    }
    binding.spec.clusters.iter().map(|target| target.name.clone()).collect()
}

/// Values of [`WAKES`]; none of what this scheduler does not place.
#[must_use]
pub fn wakes(binding: &Binding, scheduler_name: &str) -> Vec<String> {
    let Ok(placement) = ours(binding, scheduler_name) else {
        return Vec::new();
    };
    if binding
        .condition(work::condition::SCHEDULED)
        .is_none_or(|c| c.status != "True")
    {
        let by_room = matches!(strategy::of(&binding.spec, placement), Ok(Strategy::Dynamic(_)));
        let short = by_room.then(|| SHORT.to_owned());
        return [UNPLACED.to_owned()].into_iter().chain(short).collect();
    }
    if wants_every_cluster(binding, placement) {
        return vec![EVERYWHERE.to_owned()];
    }
    if keeps_a_copy(binding) {
        return vec![KEEPING.to_owned()];
    }
    Vec::new()
}

/// Whether it runs, all of it, on every cluster that fits.
#[must_use]
pub fn wants_every_cluster(binding: &Binding, placement: &Placement) -> bool {
    !binding.spec.is_workload() || placement.scheduling_type() == ReplicaSchedulingType::Duplicated
}

/// Which bindings a change of one cluster concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concerns {
    /// Those on the cluster: it is going or gone.
    pub holders: Concerned,
    /// Those that may find a place now: unplaced ones, those that want every cluster, and those that keep a copy.
    pub seekers: Concerned,
    /// Those that wait for room, where there is more of it than before ([`has_more_room`]) and it may be enough
    /// ([`may_hold`]). What is not Ready takes nothing new.
    pub short: Concerned,
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
pub fn concerns(before: Option<&Cluster>, after: Option<&Cluster>, plugins: &Plugins) -> Concerns {
    match (before, after) {
        (_, None) => Concerns {
            holders: Concerned::Yes,
            ..Concerns::default()
        },
        (None, Some(after)) => Concerns {
            seekers: (!after.is_being_deleted()).into(),
            ..Concerns::default()
        },
        (Some(before), Some(after)) => Concerns {
            holders: (before.is_being_deleted() != after.is_being_deleted()).into(),
            seekers: (Traits::of(before) != Traits::of(after)
                || !after.is_being_deleted() && may_take_more(before, after, plugins))
            .into(),
            short: (!after.is_being_deleted() && after.is_ready() && resources(before) != resources(after)).into(),
        },
    }
}

fn may_take_more(before: &Cluster, after: &Cluster, plugins: &Plugins) -> bool {
    let reported = |cluster: &Cluster| cluster.condition(condition::READY).is_some();
    lost_a_taint(&before.spec.taints, &after.spec.taints)
        || (!before.is_ready() && after.is_ready())
        || (!reported(before) && reported(after))
        || plugins.may_pass_after(before, after)
}

/// Whether a taint that keeps workloads away is gone, has another value, or counts from a later time. PreferNoSchedule
/// keeps nobody away.
fn lost_a_taint(before: &[Taint], after: &[Taint]) -> bool {
    let after: BTreeMap<(&str, &str), &Taint> = after
        .iter()
        .map(|taint| ((taint.key.as_str(), taint.effect.as_str()), taint))
        .collect();
    before
        .iter()
        .filter(|taint| taint.effect != effect::PREFER_NO_SCHEDULE)
        .any(|taint| match after.get(&(taint.key.as_str(), taint.effect.as_str())) {
            None => true,
            Some(now) => {
                let since = |taint: &Taint| taint.time_added.as_ref().map(|time| time.0);
                let later = since(taint).is_some_and(|was| since(now).is_none_or(|is| is > was));
                now.value != taint.value || later
            }
        })
}

/// What room is estimated from.
fn resources(cluster: &Cluster) -> impl PartialEq {
    let status = cluster.status.as_ref();
    (
        status.and_then(|status| status.resource_summary.as_ref()),
        &cluster.spec.resource_models,
    )
}

/// Whether a cluster has room for more replicas of a binding than before.
#[must_use]
pub fn has_more_room(binding: &Binding, before: &Cluster, after: &Cluster) -> bool {
    let more = |requirements: Option<&ReplicaRequirements>| {
        let room = |cluster| estimate::room(cluster, requirements).replicas();
        room(after) > room(before)
    };
    let spec = &binding.spec;
    if spec.components.is_empty() {
        more(spec.replica_requirements.as_ref())
    } else {
        let mut components = spec.components.iter();
        components.any(|component| more(component.replica_requirements.as_ref()))
    }
}

/// Whether the clusters that a binding could choose may have room together for the replicas that it lacks. They never have
/// more than is counted here: of the clusters some may be refused, or not be chosen, and of its replicas more may be missing.
#[must_use]
pub fn may_hold<'a>(binding: &Binding, clusters: impl IntoIterator<Item = &'a Cluster>) -> bool {
    let spec = &binding.spec;
    if !spec.components.is_empty() {
        return true;
    }
    let assigned: i64 = spec
        .clusters
        .iter()
        .map(|target| i64::from(target.replicas.max(0)))
        .sum();
    let mut missing = i64::from(binding.replicas()) - assigned;
    for cluster in clusters {
        if missing <= 0 {
            return true;
        }
        if cluster.is_ready() && could_choose(binding, cluster) {
            let room = estimate::room(cluster, spec.replica_requirements.as_ref()).replicas();
            missing = missing.saturating_sub(room.max(0));
        }
    }
    missing <= 0
}

/// Whether the placement of a binding could choose this cluster at all.
#[must_use]
pub fn could_choose(binding: &Binding, cluster: &Cluster) -> bool {
    let Some(placement) = &binding.spec.placement else {
        return false;
    };
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

    fn said_again() -> Value {
        let mut said = ready("True");
        said["status"]["conditions"][0]["message"] = json!("still");
        said["status"]["conditions"][0]["lastTransitionTime"] = json!("2026-01-01T00:00:10Z");
        said["status"]["nodeSummary"] = json!({"totalNum": 3, "readyNum": 3});
        said
    }

    fn preferred() -> Value {
        json!({"spec": {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}})
    }

    fn since(time: &str) -> Value {
        json!({"spec": {"taints": [{"key": "k", "value": "a", "effect": "NoSchedule", "timeAdded": time}]}})
    }

    fn room(cpus: &str) -> Value {
        json!({"status": {"resourceSummary": {"allocatable": {"cpu": cpus, "pods": "110"}}}})
    }

    #[rstest]
    #[case::nothing(json!({}), json!({}), false)]
    #[case::a_taint_goes(tainted("a"), json!({}), true)]
    #[case::a_taint_comes(json!({}), tainted("a"), false)]
    #[case::a_taint_changes(tainted("a"), tainted("b"), true)]
    #[case::becomes_ready(ready("False"), ready("True"), true)]
    #[case::first_reports(json!({}), ready("False"), true)]
    #[case::says_it_again(ready("True"), said_again(), false)]
    #[case::a_preference_goes(preferred(), json!({}), false)]
    #[case::a_taint_counts_from_a_later_time(since("2026-01-01T00:00:00Z"), since("2026-01-01T00:01:00Z"), true)]
    #[case::a_taint_is_stamped(tainted("a"), since("2026-01-01T00:00:00Z"), false)]
    #[case::fails(ready("True"), ready("False"), false)]
    #[case::labels(json!({}), json!({"metadata": {"labels": {"a": "b"}}}), true)]
    #[case::region(json!({}), json!({"spec": {"region": "r"}}), true)]
    #[case::apis(json!({}), json!({"status": {"apiEnablements": [{"groupVersion": "v1", "resources": []}]}}), true)]
    #[case::a_node_more(json!({}), json!({"status": {"resourceSummary": {"allocatable": {"cpu": "1"}}}}), false)]
    fn seekers_wake_when_a_cluster_may_take_more(#[case] before: Value, #[case] after: Value, #[case] wakes: bool) {
        let concerns = concerns(Some(&cluster(&before)), Some(&cluster(&after)), &Plugins::default());
        assert_eq!(
            (concerns.holders, concerns.seekers),
            (Concerned::No, Concerned::from(wakes))
        );
    }

    #[test]
    fn holders_wake_when_their_cluster_goes() {
        let judged = |before: Option<&Cluster>, after: Option<&Cluster>| concerns(before, after, &Plugins::default());
        let (there, going) = (
            cluster(&json!({})),
            cluster(&json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})),
        );
        assert_eq!(judged(Some(&there), Some(&going)).holders, Concerned::Yes);
        let only = |holders: bool, seekers: bool| Concerns {
            holders: holders.into(),
            seekers: seekers.into(),
            short: Concerned::No,
        };
        assert_eq!(judged(Some(&going), None), only(true, false));
        assert_eq!(judged(None, Some(&there)), only(false, true));
        assert_eq!(judged(None, Some(&going)), only(false, false), "it takes nobody");
        let tainted = cluster(&json!({
            "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        }));
        assert_eq!(judged(Some(&tainted), Some(&going)), only(false, false));
    }

    fn binding(scheduled: &str, placement: &Value) -> Binding {
        serde_json::from_value(json!({
            "metadata": {"name": "b", "labels": {"propagationpolicy.karmada.io/permanent-id": "p"}},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b"}, "replicas": 1,
                "placement": placement, "replicaRequirements": {"resourceRequest": {"cpu": "2"}},
            },
            "status": {"conditions": [{
                "type": "Scheduled", "status": scheduled, "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        }))
        .unwrap()
    }

    fn aggregated() -> Value {
        json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}})
    }

    #[test]
    fn what_a_binding_waits_for() {
        let mine = |scheduled: &str, placement: &Value| wakes(&binding(scheduled, placement), "default-scheduler");
        let divided = json!({"replicaScheduling": {}});
        let dynamic = json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"}}});
        assert_eq!(mine("True", &divided), [""; 0]);
        assert_eq!(mine("False", &divided), [UNPLACED]);
        assert_eq!(mine("True", &json!({})), [EVERYWHERE]);
        assert_eq!(mine("False", &aggregated()), [UNPLACED, SHORT]);
        assert_eq!(mine("False", &dynamic), [UNPLACED, SHORT]);
        assert_eq!(mine("True", &dynamic), [""; 0], "what is placed moves for no room");
        assert_eq!(wakes(&binding("False", &divided), "another"), [""; 0]);
        let mut here = binding("True", &divided);
        here.spec.clusters = serde_json::from_value(json!([{"name": "m1", "replicas": 1}])).unwrap();
        assert_eq!(holders(&here, "default-scheduler"), ["m1"]);
        assert_eq!(holders(&here, "another"), [""; 0]);
    }

    // A replica takes two processors.
    #[rstest]
    #[case::more(room("3"), room("4"), true, true)]
    #[case::more_but_not_enough_for_one_more(room("4"), room("5"), true, false)]
    #[case::less(room("4"), room("2"), true, false)]
    #[case::the_same(room("4"), room("4"), false, false)]
    #[case::first_reported(json!({}), room("4"), true, true)]
    #[case::no_more_reported(room("4"), json!({}), true, false)]
    fn who_waits_for_room_wakes_when_there_is_more_for_it(
        #[case] before: Value,
        #[case] after: Value,
        #[case] differs: bool,
        #[case] more: bool,
    ) {
        let (before, after) = (cluster(&before), cluster(&after));
        let short = |after: &Cluster| concerns(Some(&before), Some(after), &Plugins::default()).short;
        assert_eq!(short(&after), Concerned::No, "what is not Ready takes nothing");
        assert_eq!(short(&is_ready(after.clone())), Concerned::from(differs));
        let binding = binding("False", &aggregated());
        assert_eq!(has_more_room(&binding, &before, &after), more);
    }

    fn is_ready(mut cluster: Cluster) -> Cluster {
        let ready = serde_json::from_value::<Cluster>(json!({
            "metadata": {"name": "r"}, "spec": {"syncMode": "Push"}, "status": ready("True")["status"],
        }));
        let ready = ready.unwrap().status.unwrap();
        cluster.status.get_or_insert_default().conditions = ready.conditions;
        cluster
    }

    // A replica takes two processors; m3 has room for any number and is not wanted.
    #[rstest]
    #[case::one_too_few(6, 0, 3, false)]
    #[case::just_enough(6, 0, 4, true)]
    #[case::with_what_it_has(6, 1, 3, true)]
    #[case::scaled_down(1, 2, 0, true)]
    fn room_matters_when_all_of_it_may_be_enough(
        #[case] replicas: i32,
        #[case] has: i32,
        #[case] second: i64,
        #[case] may: bool,
    ) {
        let mut placement = aggregated();
        placement["clusterAffinity"] = json!({"clusterNames": ["m1", "m2"]});
        let mut binding = binding("False", &placement);
        binding.spec.replicas = Some(replicas);
        binding.spec.clusters = serde_json::from_value(json!([{"name": "m1", "replicas": has}])).unwrap();
        let fleet = [("m1", 2), ("m2", second), ("m3", 100)].map(|(name, holds)| {
            let mut cluster = cluster(&room(&(2 * holds).to_string()));
            cluster.metadata.name = Some(name.to_owned());
            cluster
        });
        assert!(!may_hold(&binding, &fleet) || has >= replicas, "none of them is Ready");
        assert_eq!(may_hold(&binding, &fleet.map(is_ready)), may);
    }
}
