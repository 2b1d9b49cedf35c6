//! Counters that add up.

use api_types::work::{AggregatedStatusItem, ResourceHealth};
use serde_json::{Map, Value, json};

use crate::json::count;

/// How the counters of a kind add up.
pub(super) struct Counters {
    /// What is there, on whatever cluster.
    there: &'static [&'static str],
    /// What works: counts only where the health is known.
    works: &'static [&'static str],
    /// The counter of what does not work, and the one of all that should; of a silent cluster none works.
    fails: Option<(&'static str, &'static str)>,
}

pub(super) const DEPLOYMENT: Counters = Counters {
    there: &["replicas", "updatedReplicas"],
    works: &["readyReplicas", "availableReplicas"],
    fails: Some(("unavailableReplicas", "replicas")),
};
pub(super) const STATEFUL_SET: Counters = Counters {
    there: &["replicas", "updatedReplicas", "currentReplicas"],
    works: &["readyReplicas", "availableReplicas"],
    fails: None,
};
pub(super) const REPLICA_SET: Counters = Counters {
    there: &["replicas"],
    works: &["readyReplicas", "availableReplicas"],
    fails: None,
};
pub(super) const DAEMON_SET: Counters = Counters {
    there: &[
        "currentNumberScheduled",
        "desiredNumberScheduled",
        "numberMisscheduled",
        "updatedNumberScheduled",
    ],
    works: &["numberReady", "numberAvailable"],
    fails: Some(("numberUnavailable", "desiredNumberScheduled")),
};

/// The sum of `field` over the items that `counts` names.
fn sum(items: &[AggregatedStatusItem], field: &str, counts: impl Fn(&AggregatedStatusItem) -> bool) -> i64 {
    let statuses = items
        .iter()
        .filter(|item| counts(item))
        .filter_map(|item| item.status.as_ref());
    let numbers = statuses.map(|status| status.get(field).and_then(Value::as_i64).unwrap_or(0));
    total(numbers)
}

/// A sum as the API has a number for it: every counter is one of 32 bits, and a status with a larger one is refused whole.
pub(super) fn total(numbers: impl Iterator<Item = i64>) -> i64 {
    numbers.fold(0, i64::saturating_add).min(i64::from(i32::MAX))
}

/// The sums of fields over all items.
pub(super) fn sums(items: &[AggregatedStatusItem], fields: &[&str]) -> Map<String, Value> {
    let of = |field: &&str| ((*field).to_owned(), sum(items, field, |_| true).into());
    fields.iter().map(of).collect()
}

pub(super) fn workload(template: &Value, items: &[AggregatedStatusItem], counters: &Counters) -> Map<String, Value> {
    let known = |item: &AggregatedStatusItem| item.health != Some(ResourceHealth::Unknown);
    let mut status = sums(items, counters.there);
    for field in counters.works {
        status.insert((*field).to_owned(), sum(items, field, known).into());
    }
    if let Some((fails, all)) = counters.fails {
        let lost = sum(items, all, |item| !known(item));
        let failing = total([sum(items, fails, known), lost].into_iter());
        status.insert(fails.to_owned(), failing.into());
    }
    // Seen everywhere: each copy was rendered from the newest template, and its member has acted on it.
    let generation = count(template, "/metadata/generation");
    let current = |item: &AggregatedStatusItem| {
        item.status.as_ref().is_some_and(|status| {
            let acted = status.get("observedGeneration").is_none()
                || count(status, "/observedGeneration") == count(status, "/generation");
            count(status, "/resourceTemplateGeneration") == generation && acted
        })
    };
    if !items.is_empty() && items.iter().all(current) {
        status.insert("observedGeneration".to_owned(), generation.into());
    }
    status
}

/// Sums, and the disrupted pods of all clusters as `cluster/pod`.
pub(super) fn budget(items: &[AggregatedStatusItem]) -> Map<String, Value> {
    let mut status = sums(
        items,
        &["currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed"],
    );
    let mut disrupted = Map::new();
    for item in items {
        let pods = item
            .status
            .as_ref()
            .and_then(|status| status.get("disruptedPods")?.as_object());
        for (pod, since) in pods.into_iter().flatten().filter(|(_, since)| !since.is_null()) {
            disrupted.insert(format!("{}/{pod}", item.cluster_name), since.clone());
        }
    }
    status.insert("disruptedPods".to_owned(), json!(disrupted));
    status
}
