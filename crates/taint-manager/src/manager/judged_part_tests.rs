use std::collections::BTreeSet;

use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use failover_core::eviction::desired_entry::wanted;
use failover_core::eviction::{Switches, stay, stay_edit};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn switches() -> Switches {
    Switches::all_on(PurgeMode::Gracefully)
}

fn cluster(effect: &str) -> Cluster {
    serde_json::from_value(json!({
        "metadata": {"name": "m1", "uid": "c", "resourceVersion": "7"},
        "spec": {"syncMode": "Push", "taints": [{"key": "k", "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"}]},
    }))
    .unwrap()
}

/// One of several values of each field that a verdict may look at, and of some that it does not.
fn binding() -> impl Strategy<Value = Value> {
    let one_of = |values: Vec<Value>| proptest::sample::select(values);
    (
        one_of(vec![json!([{"name": "m1", "replicas": 2}, {"name": "m2"}]), json!([{"name": "m2"}]), json!([])]),
        one_of(vec![json!([]), json!([{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "p"}])]),
        one_of(vec![
            json!(null),
            json!({"clusterTolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 30}]}),
            json!({"clusterTolerations": [{"operator": "Exists"}], "clusterAffinity": {"clusterNames": ["m1"]}}),
        ]),
        one_of(vec![
            json!(null),
            json!({"cluster": {"purgeMode": "Directly", "tolerationSeconds": 5}}),
            json!({"cluster": {"gracePeriodSeconds": 9, "statePreservation": {"rules": []}}}),
        ]),
        one_of(vec![
            json!({}),
            json!({"failover.karmada.io/stay": r#"[{"cluster": "m1"}]"#, "other": "x"}),
            json!({"failover.karmada.io/stay": "nonsense"}),
            json!({"failover.karmada.io/health-clock": r#"{"m1": {"unhealthySince": "2026-01-01T00:00:00Z"}}"#}),
            json!({
                "failover.karmada.io/stay": r#"[{"cluster": "m1", "verdict": "application@2026-01-01T00:00:00Z", "droppedBy": "a"}]"#,
                "failover.karmada.io/health-clock": r#"{"m1": {"unhealthySince": "2026-01-01T00:00:00Z"}}"#,
            }),
            json!({
                "failover.karmada.io/stay": r#"[{"cluster": "m1", "verdict": "application@2026-01-01T00:00:00Z", "droppedBy": "a"}]"#,
                "failover.karmada.io/health-clock": r#"{"m1": {"unhealthySince": "2026-01-02T00:00:00Z"}}"#,
            }),
        ]),
        one_of(vec![json!(null), json!("2026-02-01T00:00:00Z")]),
        one_of(vec![json!(null), json!({"priority": 9})]),
        one_of(vec![json!({"a": "b"}), json!({"a": "b", "resourcebinding.karmada.io/depended-by-x": "id"})]),
        one_of(vec![json!([]), json!([{"namespace": "n", "name": "web"}, {"name": "role"}])]),
    )
        .prop_map(|(clusters, tasks, placement, failover, annotations, deleted, priority, labels, owners)| {
            json!({
                "metadata": {
                    "namespace": "n", "name": "b", "uid": "u", "resourceVersion": "12", "generation": 3,
                    "annotations": annotations, "deletionTimestamp": deleted, "labels": labels,
                },
                "spec": {
                    "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "w", "uid": "x"},
                    "clusters": clusters, "gracefulEvictionTasks": tasks, "placement": placement,
                    "failover": failover, "schedulePriority": priority, "replicas": 2,
                    "requiredBy": owners,
                },
                "status": {"conditions": [{
                    "type": "EvictionPending", "status": "True", "reason": "Ready", "message": "m",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            })
        })
}

proptest! {
    #[test]
    fn a_verdict_on_the_kept_part_is_that_on_the_whole(
        binding in binding(),
        effect in proptest::sample::select(vec!["NoExecute", "PreferNoExecute", "NoSchedule"]),
    ) {
        let whole: Binding = serde_json::from_value(binding).unwrap();
        let (cluster, nothing) = (cluster(effect), BTreeMap::new());
        let judge = |binding: &Binding| wanted(Some(binding), Some(&cluster), &nothing, &switches());
        let kept = Keeper::default().keep(whole.clone(), &Identity::of(&whole.metadata));
        prop_assert_eq!(judge(&kept.judged(&whole.key())), judge(&whole));
        let over = |binding: &Binding| {
            let items = stay::read(binding).unwrap_or_default();
            items.iter().map(|item| stay_edit::over(item, binding, Some(&cluster))).collect::<Vec<_>>()
        };
        prop_assert_eq!(over(&kept.judged(&whole.key())), over(&whole));
        prop_assert_eq!(kept.pending().cloned(), PendingSaid::of(&whole));
        prop_assert_eq!(kept.owners().map(str::to_owned).collect::<BTreeSet<_>>(), owner_labels(&whole));
    }
}

#[test]
fn what_many_have_in_common_is_kept_once_and_forgotten_after_the_last() {
    let keeper = Keeper::default();
    let keep = |cluster: &str| {
        let binding = json!({
            "metadata": {"name": "b"},
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "w"}, "clusters": [{"name": cluster}]},
        });
        keeper.keep(serde_json::from_value(binding).unwrap(), &Identity::default())
    };
    let (one, other) = (keep("m1"), keep("m1"));
    assert!(Arc::ptr_eq(&one.clusters, &other.clusters));
    assert!(Arc::ptr_eq(&one.template.kind, &other.template.kind));
    assert!(Arc::ptr_eq(&one.rules, &other.rules));
}
