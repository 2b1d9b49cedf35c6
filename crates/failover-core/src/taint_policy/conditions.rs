//! Whether a Cluster's conditions match.
//!
//! A cluster without the condition type never matches, also not by NotIn: a mistyped name must not taint a fleet. A
//! condition whose status is none of True, False and Unknown says nothing, and counts as missing.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::placement::SetOperator;
use api_types::taint_policy::{ClusterTaintPolicy, MatchCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::records::SeenCondition;

/// The condition of this type, if it says something.
fn said<'a>(type_: &str, cluster: &'a Cluster) -> Option<&'a Condition> {
    let found = cluster.condition(type_)?;
    matches!(found.status.as_str(), "True" | "False" | "Unknown").then_some(found)
}

/// Whether one condition matches.
pub(super) fn holds(wanted: &MatchCondition, cluster: &Cluster) -> bool {
    said(&wanted.condition_type, cluster).is_some_and(|found| holds_with(wanted, &found.status))
}

/// Whether one condition matches where its type has this status. An unknown operator never does.
pub(super) fn holds_with(wanted: &MatchCondition, status: &str) -> bool {
    let listed = wanted.status_values.iter().any(|value| value.as_str() == status);
    match wanted.operator {
        SetOperator::In => listed,
        SetOperator::NotIn => !listed,
        SetOperator::Other(_) => false,
    }
}

/// Whether all match; no condition at all matches.
pub(super) fn all_hold(wanted: &[MatchCondition], cluster: &Cluster) -> bool {
    wanted.iter().all(|condition| holds(condition, cluster))
}

/// The types of the conditions that a policy asks for, in either form.
pub fn condition_types(policy: &ClusterTaintPolicy) -> impl Iterator<Item = &str> {
    let spec = &policy.spec;
    let asked = spec.match_conditions.iter().flatten();
    let asked = asked.chain(&spec.add_on_conditions).chain(&spec.remove_on_conditions);
    asked.map(|condition| condition.condition_type.as_str())
}

/// Condition types that the cluster does not have, without repetition.
pub(super) fn missing<'a>(wanted: impl Iterator<Item = &'a MatchCondition>, cluster: &Cluster) -> Vec<String> {
    let mut types: Vec<String> = wanted
        .map(|w| &w.condition_type)
        .filter(|t| said(t, cluster).is_none())
        .cloned()
        .collect();
    types.sort();
    types.dedup();
    types
}

/// The named conditions as they are now.
pub(super) fn snapshot(wanted: &[MatchCondition], cluster: &Cluster) -> BTreeMap<String, SeenCondition> {
    let seen = |w: &MatchCondition| {
        let condition = said(&w.condition_type, cluster)?;
        Some((
            w.condition_type.clone(),
            SeenCondition {
                status: condition.status.clone(),
                // Stored times have whole seconds: a fraction would look like a change after the next read.
                last_transition_time: whole_seconds(&condition.last_transition_time),
            },
        ))
    };
    wanted.iter().filter_map(seen).collect()
}

fn whole_seconds(time: &Time) -> Time {
    jiff::Timestamp::from_second(time.0.as_second()).map_or_else(|_| time.clone(), Time)
}

/// The named conditions in words: `Ready=False`, `Ready=False and Disk=True`; `always` without any.
pub(super) fn describe<'a>(wanted: impl Iterator<Item = &'a MatchCondition>, cluster: &Cluster) -> String {
    let one = |w: &MatchCondition| match said(&w.condition_type, cluster) {
        Some(condition) => format!("{}={}", w.condition_type, condition.status),
        None => format!("{} is missing", w.condition_type),
    };
    let mut parts: Vec<String> = wanted.map(one).collect();
    parts.dedup();
    if parts.is_empty() {
        "always".to_owned()
    } else {
        parts.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("Ready", "In", &["False"], true)]
    #[case("Ready", "In", &["True", "Unknown"], false)]
    #[case("Ready", "NotIn", &["True"], true)]
    #[case("Ready", "NotIn", &["False"], false)]
    #[case("Ready", "Like", &["False"], false)]
    #[case("Raedy", "In", &["False"], false)]
    #[case("Raedy", "NotIn", &["True"], false)]
    #[case("Broken", "NotIn", &["True"], false)]
    #[case("Broken", "In", &["Maybe"], false)]
    fn one_condition(#[case] type_: &str, #[case] operator: &str, #[case] values: &[&str], #[case] expected: bool) {
        let cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1"}, "spec": {"syncMode": "Push"},
            "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Broken", "status": "Maybe"}]}
        }))
        .unwrap();
        let wanted: MatchCondition =
            serde_json::from_value(json!({"conditionType": type_, "operator": operator, "statusValues": values}))
                .unwrap();
        assert_eq!(holds(&wanted, &cluster), expected);
    }
}
