//! Whether clusters have the condition types that a policy names.

use api_types::cluster::{Cluster, condition};
use api_types::taint_policy::MatchCondition;

use super::Look;
use crate::lint::code::Code;
use crate::lint::finding::Finding;
use crate::lint::similar::nearest;
use crate::lint::target::some;

/// Conditions that our controllers, stock Karmada or its cluster-problem-detector write.
const KNOWN_CONDITIONS: [&str; 6] = [
    condition::READY,
    condition::COMPLETE_API_ENABLEMENTS,
    condition::DELETION_BLOCKED,
    condition::REPORTER_DOWN,
    condition::MONITOR_ISOLATED,
    "ServiceDomainNameResolutionReady",
];

impl<'a> Look<'a> {
    /// Each condition with its field.
    fn conditions(&self) -> Vec<(String, &'a MatchCondition)> {
        let spec = &self.policy.spec;
        let lists = [
            (
                "spec.matchConditions",
                spec.match_conditions.as_deref().unwrap_or_default(),
            ),
            ("spec.addOnConditions", &spec.add_on_conditions[..]),
            ("spec.removeOnConditions", &spec.remove_on_conditions[..]),
        ];
        let indexed = lists.into_iter().flat_map(|(list, conditions)| {
            let items = conditions.iter().enumerate();
            items.map(move |(index, condition)| (format!("{list}[{index}].conditionType"), condition))
        });
        indexed.collect()
    }

    pub(super) fn condition_types(&self) -> Vec<Finding> {
        let targeted = self.targeted().filter(|targeted| !targeted.is_empty());
        let mut seen: Vec<&str> = Vec::new();
        let mut found = Vec::new();
        for (field, condition) in self.conditions() {
            let type_ = condition.condition_type.as_str();
            if seen.contains(&type_) {
                continue;
            }
            seen.push(type_);
            found.extend(match &targeted {
                Some(targeted) => missing_on(type_, field, targeted),
                None => misspelt(type_, field),
            });
        }
        found
    }

    fn targeted(&self) -> Option<Vec<&'a Cluster>> {
        let clusters = self.known.clusters?;
        Some(
            clusters
                .iter()
                .filter(|cluster| self.reading.speaks_of(cluster))
                .collect(),
        )
    }
}

fn missing_on(type_: &str, field: String, targeted: &[&Cluster]) -> Option<Finding> {
    let without: Vec<String> = targeted
        .iter()
        .filter(|cluster| cluster.condition(type_).is_none())
        .map(|cluster| cluster.cluster_name().to_string())
        .collect();
    if without.is_empty() {
        return None;
    }
    let why = "a cluster without the condition never matches, also not by NotIn";
    if without.len() < targeted.len() {
        return Some(Finding::new(
            Code::ConditionMissingSomewhere,
            field,
            format!(
                "{} of {} targeted clusters lack condition {type_}: {}",
                without.len(),
                targeted.len(),
                some(&without)
            ),
            why,
            "see why its reporter says nothing there",
        ));
    }
    let mut known: Vec<&str> = targeted
        .iter()
        .filter_map(|cluster| cluster.status.as_ref())
        .flat_map(|status| &status.conditions)
        .map(|condition| condition.type_.as_str())
        .collect();
    known.sort_unstable();
    known.dedup();
    let fix = match nearest(type_, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None if known.is_empty() => {
            "these clusters have no condition at all: see whether their reporter runs".to_owned()
        }
        None => format!(
            "the clusters have {}; if another reporter writes {type_}, see whether it runs",
            known.join(", ")
        ),
    };
    Some(Finding::new(
        Code::NoSuchCondition,
        field,
        format!("none of the {} targeted clusters has condition {type_}", targeted.len()),
        why,
        fix,
    ))
}

fn misspelt(type_: &str, field: String) -> Option<Finding> {
    if KNOWN_CONDITIONS.contains(&type_) {
        return None;
    }
    let meant = nearest(type_, KNOWN_CONDITIONS)?;
    Some(Finding::new(
        Code::MisspeltCondition,
        field,
        format!("condition {type_} is nearly {meant}"),
        "a cluster without the condition never matches, so a slip of the pen does nothing, silently",
        format!("did you mean {meant}?"),
    ))
}
