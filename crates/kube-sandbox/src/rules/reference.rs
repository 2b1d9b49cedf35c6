//! A second, plain writing of the rules that evictions and taints follow, independent of the code that is checked.

use std::collections::BTreeSet;

use api_types::cluster::{Cluster, effect};
use api_types::names::annotation;
use api_types::placement::{ClusterAffinity, ClusterField, Placement, SetOperator};
use api_types::taint_policy::{ClusterTaintPolicy, MatchCondition};
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Taint, Toleration};
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

/// The taints, as `key:effect`, that the policy engine says it added to `cluster`.
pub(super) fn recorded_taints(cluster: &Cluster) -> BTreeSet<String> {
    let record = cluster.annotations().get(annotation::MANAGED_TAINTS);
    let record: Option<serde_json::Value> = record.and_then(|text| serde_json::from_str(text).ok());
    let taints = record.as_ref().and_then(|record| record["taints"].as_object());
    taints.into_iter().flat_map(|taints| taints.keys().cloned()).collect()
}

/// The earliest time at which `binding` may be evicted from `cluster`; `None`: never, as things stand.
pub(super) fn earliest_eviction(binding: &Binding, cluster: &Cluster) -> Option<Timestamp> {
    let deletion = cluster.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    let taints = cluster.spec.taints.iter().filter_map(|taint| due(binding, taint));
    taints.chain(deletion).min()
}

fn due(binding: &Binding, taint: &Taint) -> Option<Timestamp> {
    let added = taint.time_added.as_ref()?.0;
    match taint.effect.as_str() {
        effect::NO_EXECUTE => {
            let tolerations = binding
                .spec
                .placement
                .iter()
                .flat_map(|placement| &placement.cluster_tolerations);
            let matching: Vec<_> = tolerations.filter(|toleration| tolerates(toleration, taint)).collect();
            if matching.is_empty() {
                return Some(added);
            }
            // The most permissive toleration counts; one without seconds bears the taint for ever.
            let seconds: Option<Vec<i64>> = matching
                .iter()
                .map(|toleration| toleration.toleration_seconds)
                .collect();
            seconds
                .and_then(|seconds| seconds.into_iter().max())
                .map(|s| after(added, s.max(0)))
        }
        effect::PREFER_NO_EXECUTE => {
            let behaviour = binding.spec.failover.as_ref()?.cluster.as_ref()?;
            Some(after(added, i64::from(behaviour.toleration_seconds.unwrap_or(300))))
        }
        _ => None,
    }
}

fn after(start: Timestamp, seconds: i64) -> Timestamp {
    start
        .checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(Timestamp::MAX)
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
    if given(&toleration.effect).is_some_and(|effect| effect != taint.effect) {
        return false;
    }
    let key = given(&toleration.key);
    if key.as_deref().is_some_and(|key| key != taint.key) {
        return false;
    }
    match given(&toleration.operator).as_deref() {
        Some("Exists") => true,
        None | Some("Equal") => key.is_some() && given(&toleration.value) == given(&taint.value),
        Some(_) => false,
    }
}

/// How long each condition must have matched before this policy adds (key, effect), in seconds; `None`: the policy does
/// not name the taint. Stock's form has those of its annotation.
pub(super) fn window_seconds(policy: &ClusterTaintPolicy, key: &str, effect: &str) -> Option<i64> {
    let spec = &policy.spec;
    let ours = spec
        .taints_to_add
        .iter()
        .filter(|t| t.key == key && t.effect.as_str() == effect);
    let stock = spec
        .taints
        .iter()
        .filter(|t| t.key == key && t.effect.as_str() == effect);
    let windows = spec.windows.iter().flatten();
    let annotated = windows
        .filter(|window| window.key == key && window.effect.as_str() == effect)
        .map(|window| i64::from(window.add_on_match_seconds))
        .min();
    ours.map(|taint| i64::from(taint.add_on_match_seconds))
        .chain(stock.map(|_| annotated.unwrap_or(0)))
        .min()
}

/// Whether the policy's adding conditions hold on `cluster`. Who is targeted is not looked at: it can only make the
/// checked code add less.
pub(super) fn conditions_match(policy: &ClusterTaintPolicy, cluster: &Cluster) -> bool {
    match &policy.spec.match_conditions {
        Some(conditions) => conditions.iter().all(|condition| holds(condition, cluster)),
        None => {
            let conditions = &policy.spec.add_on_conditions;
            !conditions.is_empty() && conditions.iter().all(|condition| holds(condition, cluster))
        }
    }
}

/// Since when the adding conditions hold on `cluster` at most, by what is stored, to the second: the last of them to
/// come, or the policy if it came later.
pub(super) fn conditions_stamped(policy: &ClusterTaintPolicy, cluster: &Cluster) -> Option<Timestamp> {
    let spec = &policy.spec;
    let wanted = spec.match_conditions.as_ref().unwrap_or(&spec.add_on_conditions);
    let conditions = wanted
        .iter()
        .filter_map(|wanted| cluster.condition(&wanted.condition_type));
    let times = conditions.map(|condition| &condition.last_transition_time);
    let latest = times
        .chain(&policy.metadata.creation_timestamp)
        .map(|time| time.0)
        .max();
    latest.map(whole_second)
}

/// Whether the placement names the cluster in any of its groups; one without affinity names all.
pub(super) fn is_named(placement: &Placement, cluster: &Cluster) -> bool {
    let groups = placement.cluster_affinities.iter().map(|group| &group.cluster_affinity);
    let affinities: Vec<_> = groups.chain(&placement.cluster_affinity).collect();
    affinities.is_empty() || affinities.into_iter().any(|affinity| selects(affinity, cluster))
}

fn selects(affinity: &ClusterAffinity, cluster: &Cluster) -> bool {
    let name = cluster.name_any();
    let by_name = affinity.cluster_names.is_empty() || affinity.cluster_names.contains(&name);
    let by_label = affinity.label_selector.clone().is_none_or(|selector| {
        let selector: Option<Selector> = selector.try_into().ok();
        selector.is_some_and(|selector| selector.matches(cluster.labels()))
    });
    let by_field = affinity
        .field_selector
        .iter()
        .flat_map(|selector| &selector.match_expressions);
    let mut by_field = by_field.map(|wanted| {
        let own: Vec<&str> = match wanted.key {
            ClusterField::Provider => cluster.spec.provider.iter().map(String::as_str).collect(),
            ClusterField::Region => cluster.spec.region.iter().map(String::as_str).collect(),
            ClusterField::Zone => cluster.zones(),
            ClusterField::Other(_) => return false,
        };
        let listed = |own: &&str| wanted.values.iter().any(|value| value == own);
        match wanted.operator {
            // Who spans more zones than are listed is no place for it.
            SetOperator::In => !own.is_empty() && own.iter().all(listed),
            SetOperator::NotIn => !own.iter().any(listed),
            SetOperator::Other(_) => false,
        }
    });
    !affinity.exclude_clusters.contains(&name) && by_name && by_label && by_field.all(|holds| holds)
}

/// The second in which this is, as API servers store it.
pub(super) fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn holds(wanted: &MatchCondition, cluster: &Cluster) -> bool {
    let Some(condition) = cluster.condition(&wanted.condition_type) else {
        return false;
    };
    let listed = wanted
        .status_values
        .iter()
        .any(|value| value.as_str() == condition.status);
    match wanted.operator {
        SetOperator::In => listed,
        SetOperator::NotIn => !listed,
        SetOperator::Other(_) => false,
    }
}
