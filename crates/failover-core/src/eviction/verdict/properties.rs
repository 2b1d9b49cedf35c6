//! What is left out on purpose changes no verdict: clusters that show no cause, and changes that are the same for evictions.

use std::collections::BTreeMap;

use api_types::policy::PurgeMode;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::eviction::desired_entry::wanted;

const TIMES: [&str; 2] = ["2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"];

fn taints() -> impl Strategy<Value = Value> {
    let effects = [
        "NoExecute",
        "PreferNoExecute",
        "NoSchedule",
        "PreferNoSchedule",
        "noexecute",
        "",
    ];
    let taint = (
        prop::sample::select(vec!["k", "p"]),
        prop::sample::select(effects.to_vec()),
        prop::option::of(prop::sample::select(TIMES.to_vec())),
    );
    let taint = taint.prop_map(|(key, effect, added)| json!({"key": key, "effect": effect, "timeAdded": added}));
    prop::collection::vec(taint, 0..3).prop_map(Value::Array)
}

/// What evictions depend on, of a Cluster.
fn depended_on() -> impl Strategy<Value = Value> {
    let deleted = prop::option::weighted(0.2, prop::sample::select(TIMES.to_vec()));
    let annotation = prop::option::weighted(0.3, Just("x"));
    (taints(), deleted, annotation, prop::sample::select(vec!["c1", "c2"])).prop_map(
        |(taints, deleted, annotation, uid)| {
            let annotations = annotation.map(|text| json!({"failover.karmada.io/managed-taints": text}));
            json!({"taints": taints, "deletionTimestamp": deleted, "annotations": annotations, "uid": uid})
        },
    )
}

/// A Cluster of which evictions depend on `of`, with anything else.
fn cluster(of: &Value, (version, ready, provider): (u64, &str, Option<&str>)) -> Cluster {
    let status = json!({"conditions": [{
        "type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": TIMES[0],
    }]});
    serde_json::from_value(json!({
        "metadata": {
            "name": "m1", "uid": of["uid"], "deletionTimestamp": of["deletionTimestamp"],
            "annotations": of["annotations"], "labels": {"version": version.to_string()},
        },
        "spec": {"syncMode": "Push", "taints": of["taints"], "provider": provider}, "status": status,
    }))
    .unwrap()
}

fn anything_else() -> impl Strategy<Value = (u64, &'static str, Option<&'static str>)> {
    (
        0..9_u64,
        prop::sample::select(vec!["True", "False"]),
        prop::option::of(Just("cloud")),
    )
}

fn binding() -> impl Strategy<Value = Binding> {
    let toleration = (prop::sample::select(vec!["k", "p", ""]), prop::option::of(0..400_i64));
    let toleration =
        toleration.prop_map(|(key, seconds)| json!({"key": key, "operator": "Exists", "tolerationSeconds": seconds}));
    (prop::collection::vec(toleration, 0..3), prop::option::of(0..400)).prop_map(|(tolerations, opted_in)| {
        let failover = opted_in.map(|seconds| json!({"cluster": {"tolerationSeconds": seconds}}));
        serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "n", "uid": "b1"},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "web"},
                "clusters": [{"name": "m1", "replicas": 1}], "placement": {"clusterTolerations": tolerations},
                "failover": failover,
            },
        }))
        .unwrap()
    })
}

fn switches() -> impl Strategy<Value = Switches> {
    let no_execute = prop::sample::select(vec![NoExecuteEviction::On, NoExecuteEviction::Off]);
    let deleted = prop::sample::select(vec![DeletedClusters::Evicted, DeletedClusters::LeftToStock]);
    (no_execute, deleted).prop_map(|(no_execute, deleted_clusters)| Switches {
        no_execute,
        deleted_clusters,
        ..Switches::all_on(PurgeMode::Gracefully)
    })
}

proptest! {
    // Bindings of a cluster that shows no cause are not asked at all.
    #[test]
    fn who_is_affected_is_on_a_cluster_that_shows_a_cause(
        of in depended_on(), rest in anything_else(), binding in binding(), switches in switches(),
    ) {
        let cluster = cluster(&of, rest);
        if matches!(verdict(&binding, &cluster, &switches), Verdict::Affected(_)) {
            prop_assert!(shows_a_cause(&cluster));
        }
    }

    // A change that is the same for evictions is not looked at.
    #[test]
    fn a_change_that_is_the_same_for_evictions_changes_no_verdict(
        of in depended_on(), other in prop::option::of(depended_on()),
        before in anything_else(), after in anything_else(), binding in binding(), switches in switches(),
    ) {
        let before = cluster(&of, before);
        let after = cluster(other.as_ref().unwrap_or(&of), after);
        prop_assert!(other.is_some() || same_for_evictions(&before, &after), "heartbeats change nothing");
        if same_for_evictions(&before, &after) {
            prop_assert_eq!(verdict(&binding, &before, &switches), verdict(&binding, &after, &switches));
            let entry = |cluster: &Cluster| wanted(Some(&binding), Some(cluster), &BTreeMap::new(), &switches);
            prop_assert_eq!(entry(&before), entry(&after));
        }
    }
}
