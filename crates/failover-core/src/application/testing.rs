//! A binding with one copy on m1, for the tests of this module.

use api_types::cluster::Cluster;
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub(super) const T0: &str = "2026-01-01T00:00:00Z";

pub(super) fn t0() -> Timestamp {
    T0.parse().unwrap()
}

pub(super) fn after(seconds: i64) -> Timestamp {
    t0() + SignedDuration::from_secs(seconds)
}

/// `health` as it is reported, with tolerationSeconds 60; changed by `change`.
pub(super) fn binding(health: &str, change: impl FnOnce(&mut Value)) -> Binding {
    let mut binding = json!({
        "metadata": {
            "namespace": "n", "name": "web", "uid": "b1", "resourceVersion": "10", "generation": 1,
            "creationTimestamp": "2025-12-31T00:00:00Z",
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "web"},
            "clusters": [{"name": "m1", "replicas": 2}], "replicas": 2,
            "failover": {"application": {"decisionConditions": {"tolerationSeconds": 60}}},
        },
        "status": {"aggregatedStatus": [{"clusterName": "m1", "applied": true, "health": health}]},
    });
    change(&mut binding);
    serde_json::from_value(binding).unwrap()
}

pub(super) fn with_clock(binding: &mut Value, text: &str) {
    binding["metadata"]["annotations"]["failover.karmada.io/health-clock"] = json!(text);
}

/// A clock that says that the copy on m1 is unhealthy since so many seconds after T0, and [`cluster`] Ready meanwhile.
pub(super) fn unhealthy_since(seconds: i64) -> String {
    format!(
        r#"{{"m1":{{"unhealthySince":"{}","readyMark":"{}"}}}}"#,
        after(seconds),
        after(READY_FOR_LONG)
    )
}

/// The Ready of [`cluster`], in seconds after T0.
pub(super) const READY_FOR_LONG: i64 = -86_400;

/// m1, whose Ready says `ready` since a day before T0.
pub(super) fn cluster(ready: &str) -> Cluster {
    cluster_since(ready, READY_FOR_LONG)
}

pub(super) fn cluster_since(ready: &str, seconds: i64) -> Cluster {
    serde_json::from_value(json!({
        "metadata": {"name": "m1", "uid": "c1", "resourceVersion": "20"}, "spec": {"syncMode": "Push"},
        "status": {"conditions": [{
            "type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": after(seconds),
        }]},
    }))
    .unwrap()
}
