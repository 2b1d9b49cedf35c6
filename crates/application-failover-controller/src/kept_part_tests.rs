use std::sync::Arc;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use failover_core::application::{HealthClock, no_health_rule, wanted};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const NOW: &str = "2026-01-01T00:10:00Z";

fn cluster(name: &str, ready: &str) -> Cluster {
    serde_json::from_value(json!({
        "metadata": {"name": name, "uid": "c", "resourceVersion": "7"},
        "spec": {"syncMode": "Push"},
        "status": {"conditions": [{
            "type": "Ready", "status": ready, "reason": "r", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    }))
    .unwrap()
}

fn item(health: &Value, status: &Value, settled: &Value, created: &Value) -> Value {
    json!({
        "clusterName": "m1", "applied": true, "appliedMessage": "m", "health": health, "status": status,
        "settled": settled, "creationTimestamp": created, "collectedAt": created,
    })
}

/// One of several values of each field that a verdict or a clock may look at, and of some that they do not.
fn binding() -> impl Strategy<Value = Value> {
    let one_of = |values: Vec<Value>| proptest::sample::select(values);
    let metadata = (
        one_of(vec![
            json!(null),
            json!({"other": "x"}),
            json!({HEALTH_CLOCK: r#"{"m1":{"unhealthySince":"2026-01-01T00:02:00Z"}}"#, "other": "x"}),
            json!({HEALTH_CLOCK: r#"{"m1":{"unhealthySince":"2026-01-01T00:02:00Z","readyMark":"2026-01-01T00:00:00Z","readySince":"2026-01-01T00:03:00Z"}}"#}),
            json!({HEALTH_CLOCK: r#"{"m1":{"settled":true,"firstCollected":"2026-01-01T00:01:00Z"},"m2":{"settled":true}}"#}),
            json!({HEALTH_CLOCK: "nonsense", STAY: r#"[{"cluster": "m1"}]"#}),
            json!({HEALTH_CLOCK: r#"{"m1":{"unhealthySince":"2026-01-01T00:02:00Z"}}"#, STAY: r#"[{"cluster": "m1"}]"#}),
        ]),
        one_of(vec![json!(null), json!("2026-02-01T00:00:00Z")]),
        one_of(vec![json!("2025-01-01T00:00:00Z"), json!("2026-01-01T00:05:00Z")]),
    );
    let spec = (
        one_of(vec![
            json!([{"name": "m1", "replicas": 2}, {"name": "m2"}]),
            json!([{"name": "m2"}]),
            json!([]),
        ]),
        one_of(vec![
            json!([]),
            json!([{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "p"}]),
        ]),
        one_of(vec![
            json!(null),
            json!({"cluster": {"purgeMode": "Directly"}}),
            json!({"application": {"decisionConditions": {"tolerationSeconds": 60}, "purgeMode": "Never"}}),
            json!({"application": {
                "decisionConditions": {}, "preConditions": {"delaySeconds": 30, "healthyState": "Healthy"},
                "statePreservation": {"rules": []}, "gracePeriodSeconds": 9,
            }, "cluster": {}}),
        ]),
        one_of(vec![json!(null), json!({"priority": 9})]),
        one_of(vec![
            json!(["apps/v1", "Deployment"]),
            json!(["autoscaling/v2", "HorizontalPodAutoscaler"]),
        ]),
    );
    let status = (
        one_of(vec![
            json!(null),
            json!("Healthy"),
            json!("Unhealthy"),
            json!("Unknown"),
            json!("Odd"),
        ]),
        one_of(vec![json!(null), json!({"replicas": 2})]),
        one_of(vec![json!(null), json!(true)]),
        one_of(vec![
            json!(null),
            json!("2026-01-01T00:00:30Z"),
            json!("2026-01-01T00:03:00Z"),
        ]),
        any::<bool>(),
    );
    (metadata, spec, status).prop_map(
        |((annotations, deleted, created), (clusters, tasks, failover, priority, kind), status)| {
            let (health, reflected, settled, collected, reported) = status;
            let items: Vec<Value> = reported
                .then(|| item(&health, &reflected, &settled, &collected))
                .into_iter()
                .collect();
            json!({
                "metadata": {
                    "namespace": "n", "name": "b", "uid": "u", "resourceVersion": "12", "generation": 3,
                    "annotations": annotations, "deletionTimestamp": deleted, "creationTimestamp": created,
                    "labels": {"a": "b"},
                },
                "spec": {
                    "resource": {"apiVersion": kind[0], "kind": kind[1], "namespace": "n", "name": "w", "uid": "x"},
                    "clusters": clusters, "gracefulEvictionTasks": tasks, "failover": failover,
                    "schedulePriority": priority, "replicas": 2, "placement": {"clusterAffinity": {}},
                },
                "status": {"aggregatedStatus": items},
            })
        },
    )
}

proptest! {
    #[test]
    fn what_is_said_of_the_kept_part_is_what_is_said_of_the_whole(
        binding in binding(),
        ready in proptest::sample::select(vec!["True", "False"]),
    ) {
        let whole: Binding = serde_json::from_value(binding).unwrap();
        let kept = KeptPart::of(whole.clone());
        let judged = kept.judged(&whole.key());
        let m1 = cluster("m1", ready);
        prop_assert_eq!(wanted(Some(&judged), Some(&m1)), wanted_of_whole(&whole, &m1, &kept));
        let now: Timestamp = NOW.parse().unwrap();
        let clusters = |name: &ClusterName| Some(Arc::new(cluster(name.as_str(), ready)));
        let next = |binding: &Binding| HealthClock::of(binding).unwrap_or_default().next(binding, &clusters, now);
        prop_assert_eq!(next(&judged), next(&whole));
        prop_assert_eq!(HealthClock::of(&judged).is_err(), HealthClock::of(&whole).is_err());
        prop_assert_eq!(no_health_rule(&judged), no_health_rule(&whole));
        // Whether the first annotation is written, or one more, can be told from the kept part.
        if let Some(watched) = kept.watched() {
            prop_assert_eq!(watched.metadata.annotations.is_some(), whole.metadata.annotations.is_some());
            let versions = |binding: &Binding| (binding.metadata.uid.clone(), binding.metadata.resource_version.clone());
            prop_assert_eq!(versions(watched), versions(&whole));
        }
    }
}

/// A plain binding is on no cluster as far as it is kept: it wants nothing either way, and the reason may differ.
fn wanted_of_whole(
    whole: &Binding,
    cluster: &Cluster,
    kept: &KeptPart,
) -> failover_core::eviction::desired_entry::Wanted {
    let said = wanted(Some(whole), Some(cluster));
    match kept {
        KeptPart::Watched(_) => said,
        KeptPart::Plain { .. } => {
            assert!(!matches!(
                said,
                failover_core::eviction::desired_entry::Wanted::Entry(_)
            ));
            wanted(Some(&kept.judged(&whole.key())), Some(cluster))
        }
    }
}

#[test]
fn most_bindings_are_kept_by_identity_only() {
    let plain = json!({
        "metadata": {"name": "b", "uid": "u", "resourceVersion": "5", "annotations": {"a": "b"}},
        "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "w"}, "clusters": [{"name": "m1"}],
            "failover": {"cluster": {}}},
    });
    let kept = KeptPart::of(serde_json::from_value(plain).unwrap());
    assert!(kept.watched().is_none() && kept.clusters().is_empty());
    let judged = kept.judged(&BindingKey::cluster("b"));
    assert_eq!(judged.metadata.resource_version.as_deref(), Some("5"));
    assert!(
        std::mem::size_of::<KeptPart>() <= 40,
        "{}",
        std::mem::size_of::<KeptPart>()
    );
}
