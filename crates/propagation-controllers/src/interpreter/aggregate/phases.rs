//! Kinds that are in one phase: the worst one of all copies is that of the template. A copy of which nothing was
//! reported yet counts as Pending.

use api_types::work::AggregatedStatusItem;
use serde_json::{Map, Value, json};

use crate::json::{list, text};

const OF_PODS: [&str; 4] = ["Failed", "Pending", "Running", "Succeeded"];
const OF_VOLUMES: [&str; 5] = ["Failed", "Pending", "Available", "Bound", "Released"];
const OF_CLAIMS: [&str; 3] = ["Lost", "Pending", "Bound"];

/// The first phase of `worst_first` that some copy is in; nothing without copies, and for phases that nobody knows.
fn worst(items: &[AggregatedStatusItem], worst_first: &[&'static str]) -> Option<Map<String, Value>> {
    let is_in = |phase: &&&str| {
        items.iter().any(|item| match &item.status {
            Some(status) => text(status, "/phase") == **phase,
            None => **phase == "Pending",
        })
    };
    let phase = worst_first.iter().find(is_in)?;
    Some(Map::from_iter([("phase".to_owned(), json!(phase))]))
}

/// With the states of all containers.
pub(super) fn pod(items: &[AggregatedStatusItem]) -> Option<Map<String, Value>> {
    let mut status = worst(items, &OF_PODS)?;
    let containers = items
        .iter()
        .filter_map(|item| item.status.as_ref())
        .flat_map(|status| list(status, "/containerStatuses"));
    // Complete as the API server gives them back, or they would be written again and again.
    let in_short = |container: &Value| {
        json!({"name": "", "image": "", "imageID": "", "restartCount": 0, "lastState": {},
            "ready": container.get("ready").and_then(Value::as_bool).unwrap_or(false),
            "state": container.get("state").cloned().unwrap_or_else(|| json!({}))})
    };
    status.insert("containerStatuses".to_owned(), containers.map(in_short).collect());
    Some(status)
}

pub(super) fn volume(items: &[AggregatedStatusItem]) -> Option<Map<String, Value>> {
    worst(items, &OF_VOLUMES)
}

pub(super) fn claim(items: &[AggregatedStatusItem]) -> Option<Map<String, Value>> {
    worst(items, &OF_CLAIMS)
}
