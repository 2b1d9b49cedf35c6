//! What of an object is ours, and how it is taken off. Pure: an object goes in, JSON patch operations come out.
//!
//! Taken off are annotations under `failover.karmada.io/`, taints that our policies added (by the record on the Cluster) and
//! companion taints, mirror tasks, conditions of bindings, and fields that stock does not know. What people asked for in annotations
//! stays unless it is to go, too. Everything else of the object is left as it is: tasks by which workloads leave are finished by
//! whoever looks after them.

use std::collections::BTreeMap;

use api_types::names::annotation;
use api_types::names::taint::DRAIN;
use api_types::work::condition::{EVICTION_PENDING, GRACEFUL_EVICTION};
use api_types::work::task;
use failover_core::taint_policy::{ManagedTaints, TaintId};
use k8s_openapi::api::core::v1::Taint;
use serde_json::{Value, json};

/// What ours is called everywhere.
const PREFIX: &str = "failover.karmada.io/";
/// What people write into annotations of ours, and on what. Elsewhere the same annotations are ours: the evictor carries
/// `failover` from a policy to its bindings.
const SETTINGS: [(&str, &[&str]); 4] = [
    (annotation::WINDOWS, &["ClusterTaintPolicy"]),
    (annotation::FAILOVER, &["PropagationPolicy", "ClusterPropagationPolicy"]),
    (annotation::STAY, &["ResourceBinding", "ClusterResourceBinding"]),
    (annotation::FORCE_DELETE, &["Cluster"]),
];

/// Conditions of bindings that only ours write.
const CONDITIONS: [&str; 2] = [EVICTION_PENDING, GRACEFUL_EVICTION];

/// Whether what people asked for goes, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settings {
    /// It goes.
    Removed,
    /// It stays.
    Kept,
}

/// What is taken off one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Removal {
    /// In words, one by one.
    pub parts: Vec<String>,
    /// What people asked for, and would have to write again: annotation and value.
    pub settings: Vec<(String, String)>,
    /// What people asked for, and stays: annotations.
    pub kept: Vec<String>,
    /// Why something of ours cannot be told from what is not, and what to do.
    pub unknown: Option<String>,
    /// Whether its taints wait only by an annotation of ours, and go only by our controller: a policy in stock's form.
    pub waits_by_ours: bool,
    /// How many tasks stay by which a workload leaves clusters.
    pub tasks: usize,
    /// Whether a person drains it.
    pub drained: bool,
    /// Clusters of its mirror tasks.
    pub mirrors: Vec<String>,
    /// JSON patch operations, in their order.
    pub operations: Vec<Value>,
    /// The same, on subresource status.
    pub status_operations: Vec<Value>,
}

impl Removal {
    /// Whether anything is taken off.
    #[must_use]
    pub fn is_written(&self) -> bool {
        !self.operations.is_empty() || !self.status_operations.is_empty()
    }
}

/// What is taken off this object, and what of it is ours and stays; nothing when nothing of it is ours.
#[must_use]
pub fn of(object: &Value, settings: Settings) -> Option<Removal> {
    let mut removal = Removal::default();
    match object["kind"].as_str() {
        Some("Cluster") => taints(object, &mut removal),
        Some("ResourceBinding" | "ClusterResourceBinding") => {
            tasks(object, &mut removal);
            conditions(object, &mut removal);
        }
        Some("ClusterTaintPolicy") => removal.waits_by_ours = waits_by_ours(object),
        _ => {}
    }
    annotations(object, settings, &mut removal);
    (removal != Removal::default()).then_some(removal)
}

fn annotations(object: &Value, settings: Settings, removal: &mut Removal) {
    let all = object["metadata"]["annotations"].as_object();
    for (name, value) in all.into_iter().flatten().filter(|(name, _)| name.starts_with(PREFIX)) {
        let kind = object["kind"].as_str().unwrap_or_default();
        let is_setting = SETTINGS.iter().any(|(known, on)| known == name && on.contains(&kind));
        if is_setting && settings == Settings::Kept {
            removal.kept.push(name.clone());
            continue;
        }
        // It goes when somebody has made it readable, or has taken it off.
        if name == annotation::MANAGED_TAINTS && removal.unknown.is_some() {
            continue;
        }
        if is_setting {
            let value = value.as_str().unwrap_or_default().to_owned();
            removal.settings.push((name.clone(), value));
        }
        removal.parts.push(format!("annotation {name}"));
        let path = format!("/metadata/annotations/{}", name.replace('~', "~0").replace('/', "~1"));
        removal.operations.push(json!({"op": "remove", "path": path}));
    }
}

fn taints(cluster: &Value, removal: &mut Removal) {
    let taints: Vec<Taint> = serde_json::from_value(cluster["spec"]["taints"].clone()).unwrap_or_default();
    removal.drained = taints.iter().any(|taint| taint.key == DRAIN);
    let all: Option<BTreeMap<String, String>> =
        serde_json::from_value(cluster["metadata"]["annotations"].clone()).unwrap_or_default();
    // A record that somebody edited makes nothing ours, and is the only trace of what may be.
    let managed = match ManagedTaints::read(all.as_ref()) {
        Ok(managed) => managed.taints,
        Err(error) => {
            removal.unknown = Some(format!(
                "which of its taints our policies added is not known: {error}; that record stays. Look at spec.taints, take off what \
                 should not stand there, and then the annotation {}",
                annotation::MANAGED_TAINTS
            ));
            BTreeMap::default()
        }
    };
    let is_ours = |taint: &Taint| {
        let recorded = managed.get(&TaintId::of(taint));
        taint.key.starts_with(PREFIX) || recorded.is_some_and(|recorded| recorded.is(taint))
    };
    // From behind, so that those in front keep their places.
    for (index, taint) in taints.iter().enumerate().rev().filter(|(_, taint)| is_ours(taint)) {
        removal.parts.push(format!("taint {}:{}", taint.key, taint.effect));
        let path = format!("/spec/taints/{index}");
        removal.operations.push(json!({"op": "remove", "path": path}));
    }
}

fn tasks(binding: &Value, removal: &mut Removal) {
    let tasks = binding["spec"]["gracefulEvictionTasks"].as_array();
    let tasks: Vec<&Value> = tasks.into_iter().flatten().collect();
    if !binding["spec"]["activeEvictionHistory"].is_null() {
        removal.parts.push("field spec.activeEvictionHistory".to_owned());
        removal
            .operations
            .push(json!({"op": "remove", "path": "/spec/activeEvictionHistory"}));
    }
    for (index, task) in tasks.iter().enumerate().rev() {
        let from = task["fromCluster"].as_str().unwrap_or_default();
        if task["producer"] != task::DEPENDENCY_MIRROR {
            removal.tasks += 1;
        }
        if task["producer"] == task::DEPENDENCY_MIRROR {
            removal.parts.push(format!("mirror task for {from}"));
            removal.mirrors.push(from.to_owned());
            let path = format!("/spec/gracefulEvictionTasks/{index}");
            removal.operations.push(json!({"op": "remove", "path": path}));
        } else if !task["blockInHistory"].is_null() {
            removal
                .parts
                .push(format!("field blockInHistory of the task for {from}"));
            let path = format!("/spec/gracefulEvictionTasks/{index}/blockInHistory");
            removal.operations.push(json!({"op": "remove", "path": path}));
        }
    }
}

/// What our controllers say of a move, and nobody says any more.
fn conditions(binding: &Value, removal: &mut Removal) {
    let conditions = binding["status"]["conditions"].as_array();
    let conditions: Vec<&Value> = conditions.into_iter().flatten().collect();
    for (index, condition) in conditions.iter().enumerate().rev() {
        let name = condition["type"].as_str().unwrap_or_default();
        if CONDITIONS.contains(&name) {
            removal.parts.push(format!("condition {name}"));
            let path = format!("/status/conditions/{index}");
            removal.status_operations.push(json!({"op": "remove", "path": path}));
        }
    }
}

/// Stock adds such taints at once, and removes a taint only by removeOnConditions.
fn waits_by_ours(policy: &Value) -> bool {
    let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    let annotation = &policy["metadata"]["annotations"][annotation::WINDOWS];
    !annotation.is_null() && !is_empty(&policy["spec"]["taints"]) && is_empty(&policy["spec"]["removeOnConditions"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn cluster(taints: &Value, annotations: &Value) -> Value {
        json!({"kind": "Cluster", "metadata": {"name": "m1", "annotations": annotations}, "spec": {"taints": taints}})
    }

    fn paths(object: &Value, settings: Settings) -> Vec<String> {
        let removal = of(object, settings).unwrap_or_default();
        let path = |operation: &Value| operation["path"].as_str().unwrap().to_owned();
        removal.operations.iter().map(path).collect()
    }

    #[test]
    fn only_taints_of_ours_go() {
        let record = json!({"cluster": "", "taints": {"cluster.karmada.io/not-ready:NoExecute": {
            "policies": {"p": "uid"}, "timeAdded": "2026-01-31T12:00:00Z",
        }}});
        let annotations = json!({
            "failover.karmada.io/managed-taints": record.to_string(), "example.com/mine": "1",
        });
        let ours =
            json!({"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-01-31T12:00:00Z"});
        let stocks =
            json!({"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule", "timeAdded": "2026-01-31T12:00:00Z"});
        let companion = json!({"key": "failover.karmada.io/prefer-no-execute", "effect": "NoSchedule"});
        let drain = json!({"key": "cluster.karmada.io/drain", "effect": "NoExecute"});
        let all = cluster(&json!([ours, stocks, companion, drain]), &annotations);
        assert_eq!(
            paths(&all, Settings::Kept),
            [
                "/spec/taints/2",
                "/spec/taints/0",
                "/metadata/annotations/failover.karmada.io~1managed-taints",
            ]
        );
        let theirs = json!([{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-01-31T13:00:00Z"}]);
        assert_eq!(
            paths(&cluster(&theirs, &annotations), Settings::Kept),
            ["/metadata/annotations/failover.karmada.io~1managed-taints"],
            "somebody put another one in its place"
        );
    }

    #[test]
    fn a_record_that_cannot_be_read_stays_and_is_told() {
        let annotations = json!({"failover.karmada.io/managed-taints": "{", "failover.karmada.io/taint-windows": "{}"});
        let taint = json!({"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"});
        let companion = json!({"key": "failover.karmada.io/prefer-no-execute", "effect": "NoSchedule"});
        let object = cluster(&json!([taint, companion]), &annotations);
        assert_eq!(
            paths(&object, Settings::Kept),
            [
                "/spec/taints/1",
                "/metadata/annotations/failover.karmada.io~1taint-windows"
            ]
        );
        let unknown = of(&object, Settings::Kept).unwrap().unknown.unwrap();
        assert!(unknown.contains("that record stays"), "{unknown}");
    }

    #[test]
    fn conditions_of_ours_go_and_others_stay() {
        let condition = |name: &str| json!({"type": name, "status": "True"});
        let names = ["EvictionPending", "Scheduled", "GracefulEviction", "FullyApplied"];
        let conditions: Vec<Value> = names.into_iter().map(condition).collect();
        let binding = json!({
            "kind": "ResourceBinding", "metadata": {"name": "b"}, "spec": {}, "status": {"conditions": conditions},
        });
        let removal = of(&binding, Settings::Kept).unwrap();
        assert!(removal.is_written() && removal.operations.is_empty());
        assert_eq!(
            removal.status_operations,
            [
                json!({"op": "remove", "path": "/status/conditions/2"}),
                json!({"op": "remove", "path": "/status/conditions/0"}),
            ]
        );
        assert_eq!(
            removal.parts,
            ["condition GracefulEviction", "condition EvictionPending"]
        );
    }

    #[test]
    fn taints_that_stock_would_never_remove() {
        let ready = json!([{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}]);
        for (remove, told) in [(json!([]), true), (ready, false)] {
            let policy = json!({
                "kind": "ClusterTaintPolicy", "metadata": {"name": "p", "annotations": {"failover.karmada.io/windows": "[]"}},
                "spec": {"removeOnConditions": remove, "taints": [{"key": "k", "effect": "NoExecute"}]},
            });
            for settings in [Settings::Kept, Settings::Removed] {
                assert_eq!(of(&policy, settings).unwrap().waits_by_ours, told);
            }
        }
    }

    #[test]
    fn mirrors_and_fields_of_ours_go_and_tasks_stay() {
        let binding = json!({
            "kind": "ResourceBinding", "metadata": {"name": "b", "annotations": {"failover.karmada.io/failover": "{}"}},
            "spec": {
                "activeEvictionHistory": [{"cluster": "m1"}],
                "gracefulEvictionTasks": [
                    {"fromCluster": "m1", "producer": "DependencyMirror"},
                    {"fromCluster": "m2", "producer": "TaintManager", "blockInHistory": true},
                    {"fromCluster": "m3", "producer": "TaintManager"},
                    {"fromCluster": "m4", "producer": "DependencyMirror"},
                ],
            },
        });
        let removal = of(&binding, Settings::Kept).unwrap();
        assert_eq!(removal.mirrors, ["m4", "m1"]);
        assert_eq!(
            paths(&binding, Settings::Kept),
            [
                "/spec/activeEvictionHistory",
                "/spec/gracefulEvictionTasks/3",
                "/spec/gracefulEvictionTasks/1/blockInHistory",
                "/spec/gracefulEvictionTasks/0",
                "/metadata/annotations/failover.karmada.io~1failover",
            ]
        );
    }

    #[rstest]
    #[case::kept(Settings::Kept, &[])]
    #[case::removed(Settings::Removed, &["/metadata/annotations/failover.karmada.io~1windows"])]
    fn what_people_asked_for(#[case] settings: Settings, #[case] expected: &[&str]) {
        let policy = json!({
            "kind": "ClusterTaintPolicy", "metadata": {"name": "p", "annotations": {"failover.karmada.io/windows": "[]"}},
        });
        assert_eq!(paths(&policy, settings), expected);
        if settings == Settings::Removed {
            let removal = of(&policy, settings).unwrap();
            assert_eq!(
                removal.settings,
                [("failover.karmada.io/windows".to_owned(), "[]".to_owned())]
            );
        }
    }

    #[test]
    fn what_is_stocks_is_left() {
        for object in [
            json!({"kind": "Cluster", "metadata": {"name": "m1"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
            json!({"kind": "ResourceBinding", "metadata": {"name": "b", "annotations": {"policy.karmada.io/applied-placement": "{}"}}}),
            json!({"kind": "ResourceBinding"}),
        ] {
            assert_eq!(of(&object, Settings::Removed), None);
        }
    }

    #[test]
    fn what_stays_of_a_move_is_counted_and_left() {
        let binding = json!({"kind": "ResourceBinding", "metadata": {"name": "b"}, "spec": {"gracefulEvictionTasks": [
            {"fromCluster": "m1", "producer": "TaintManager"}, {"fromCluster": "m2", "producer": "DependencyMirror"},
        ]}});
        let removal = of(&binding, Settings::Removed).unwrap();
        assert_eq!(removal.tasks, 1);
        assert_eq!(paths(&binding, Settings::Removed), ["/spec/gracefulEvictionTasks/1"]);
        let drained = cluster(
            &json!([{"key": "cluster.karmada.io/drain", "effect": "NoExecute"}]),
            &json!({}),
        );
        let removal = of(&drained, Settings::Removed).unwrap();
        assert!(removal.drained && !removal.is_written());
    }
}
