//! The two faces of events: `v1` (as stored) and `events.k8s.io/v1`.

use serde_json::{Map, Value, json};

const PAIRS: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
    ("reportingController", "reportingComponent"),
];

/// From `events.k8s.io/v1` to the stored form.
pub(crate) fn to_core(event: Value) -> Value {
    let mut core = renamed(event, |(new, old)| (*new, *old));
    core["apiVersion"] = "v1".into();
    if core.get("involvedObject").is_none() {
        core["involvedObject"] = json!({});
    }
    core
}

/// From the stored form to `events.k8s.io/v1`.
pub(crate) fn from_core(event: Value) -> Value {
    let mut new = renamed(event, |(new, old)| (*old, *new));
    new["apiVersion"] = "events.k8s.io/v1".into();
    if let Some(fields) = new.as_object_mut() {
        // Shown empty by the older face only.
        for field in ["reportingController", "reportingInstance"] {
            if fields.get(field).is_some_and(|v| v == "") {
                fields.remove(field);
            }
        }
    }
    if new.get("eventTime").is_none() {
        new["eventTime"] = Value::Null;
    }
    new
}

fn renamed(event: Value, direction: impl Fn(&(&'static str, &'static str)) -> (&'static str, &'static str)) -> Value {
    let Value::Object(fields) = event else { return event };
    let rename = |key: String| {
        PAIRS
            .iter()
            .map(&direction)
            .find(|(from, _)| *from == key)
            .map_or(key.clone(), |(_, to)| to.to_owned())
    };
    Value::Object(fields.into_iter().map(|(k, v)| (rename(k), v)).collect::<Map<_, _>>())
}
