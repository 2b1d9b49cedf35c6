//! A fleet under two ClusterTaintPolicies, in the moments of a failure: what the explanations of clusters and policies
//! are made from.

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use serde_json::{Value, json};

use crate::objects::{NOT_READY, after, cluster};

/// Not Ready for 300 s: NoExecute; Ready again for 180 s: away with it.
pub const NO_EXECUTE: &str = "not-ready-no-execute";
/// Not Ready for a second: NoSchedule.
pub const NO_SCHEDULE: &str = "not-ready-no-schedule";

pub fn policy(name: &str, spec: &Value) -> ClusterTaintPolicy {
    serde_json::from_value(json!({
        "metadata": {
            "name": name, "uid": format!("uid-{name}"), "generation": 1, "creationTimestamp": after(-864_000),
        },
        "spec": spec,
        "status": {"observedGeneration": 1},
    }))
    .unwrap()
}

pub fn not_ready(effect: &str, add: i32, remove: i32) -> Value {
    json!({
        "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
        "taintsToAdd": [{
            "key": NOT_READY, "effect": effect, "addOnMatchSeconds": add, "removeOnMismatchSeconds": remove,
        }],
    })
}

pub fn policies() -> Vec<ClusterTaintPolicy> {
    vec![
        policy(NO_EXECUTE, &not_ready("NoExecute", 300, 180)),
        policy(NO_SCHEDULE, &not_ready("NoSchedule", 1, 1)),
    ]
}

/// A policy's window on the Cluster, begun `since` seconds from now.
pub fn window(cluster: &Cluster, policy: &str, matching: bool, since: i64) -> (String, Value) {
    let ready = &cluster.status.as_ref().unwrap().conditions[0];
    let value = json!({
        "policy": policy, "matching": matching, "since": after(since), "rule": "Ready In False,Unknown",
        "conditions": {"Ready": {"status": ready.status, "lastTransitionTime": ready.last_transition_time}},
    });
    (format!("uid-{policy}"), value)
}

/// A taint of ours on the Cluster.
pub fn ours(effect: &str, policy: &str, added: i64) -> (Value, (String, Value)) {
    let time = after(added);
    (
        json!({"key": NOT_READY, "effect": effect, "timeAdded": time}),
        (
            format!("{NOT_READY}:{effect}"),
            json!({"policies": {policy: format!("uid-{policy}")}, "timeAdded": time}),
        ),
    )
}

/// The Cluster with these windows and taints recorded.
pub fn recorded(mut cluster: Cluster, windows: Vec<(String, Value)>, taints: Vec<(Value, (String, Value))>) -> Cluster {
    let uid = cluster.metadata.uid.clone().unwrap();
    let (standing, managed): (Vec<Value>, Vec<(String, Value)>) = taints.into_iter().unzip();
    let windows: Value = windows.into_iter().collect::<serde_json::Map<_, _>>().into();
    let managed: Value = managed.into_iter().collect::<serde_json::Map<_, _>>().into();
    let annotations = cluster.metadata.annotations.get_or_insert_default();
    annotations.insert(
        "failover.karmada.io/taint-windows".to_owned(),
        json!({"cluster": uid, "windows": windows}).to_string(),
    );
    annotations.insert(
        "failover.karmada.io/managed-taints".to_owned(),
        json!({"cluster": uid, "taints": managed}).to_string(),
    );
    cluster
        .spec
        .taints
        .extend(standing.into_iter().map(|taint| serde_json::from_value(taint).unwrap()));
    cluster
}

/// Not Ready for 100 s: tainted NoSchedule, and the window of the other policy runs.
pub fn failing() -> Cluster {
    let cluster = since(cluster("member1", "False"), -100);
    let windows = vec![
        window(&cluster, NO_EXECUTE, true, -100),
        window(&cluster, NO_SCHEDULE, true, -100),
    ];
    let taints = vec![ours("NoSchedule", NO_SCHEDULE, -99)];
    recorded(cluster, windows, taints)
}

/// The same, and somebody has given Ready another time twelve times, and never another status.
pub fn failing_restlessly() -> Cluster {
    let cluster = since(cluster("member1", "False"), -5);
    let mut starving = window(&cluster, NO_EXECUTE, true, -5);
    starving.1["startedAnew"] = json!({"Ready": 12});
    let windows = vec![starving, window(&cluster, NO_SCHEDULE, true, -5)];
    recorded(cluster, windows, vec![ours("NoSchedule", NO_SCHEDULE, -99)])
}

/// Not Ready for 600 s: tainted by both.
pub fn failed() -> Cluster {
    let cluster = cluster("member1", "False");
    let windows = vec![
        window(&cluster, NO_EXECUTE, true, -600),
        window(&cluster, NO_SCHEDULE, true, -600),
    ];
    let taints = vec![
        ours("NoSchedule", NO_SCHEDULE, -599),
        ours("NoExecute", NO_EXECUTE, -300),
    ];
    recorded(cluster, windows, taints)
}

/// Ready again for 60 s: the NoSchedule taint is gone, and the removal window of the other runs.
pub fn recovering() -> Cluster {
    let cluster = since(cluster("member1", "True"), -60);
    let windows = vec![window(&cluster, NO_EXECUTE, false, -60)];
    recorded(cluster, windows, vec![ours("NoExecute", NO_EXECUTE, -700)])
}

/// The same Cluster with Ready as it is since another time.
pub fn since(mut cluster: Cluster, seconds: i64) -> Cluster {
    cluster.status.as_mut().unwrap().conditions[0].last_transition_time.0 = after(seconds);
    cluster
}
