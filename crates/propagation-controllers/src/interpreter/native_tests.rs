//! No object makes a native rule panic, whatever somebody has written where numbers, lists and objects belong.

use api_types::work::{AggregatedStatusItem, ResourceHealth};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Interpreter, Native};

const KINDS: [(&str, &str); 19] = [
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("example.com/v1", "Widget"),
    ("multicluster.x-k8s.io/v1alpha1", "ServiceImport"),
    ("networking.k8s.io/v1", "Ingress"),
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "ConfigMap"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolume"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Pod"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
];

/// Names that the rules look for.
const FIELDS: [&str; 48] = [
    "metadata",
    "spec",
    "status",
    "name",
    "namespace",
    "labels",
    "annotations",
    "generation",
    "replicas",
    "parallelism",
    "completions",
    "suspend",
    "template",
    "jobTemplate",
    "containers",
    "initContainers",
    "resources",
    "requests",
    "cpu",
    "memory",
    "volumes",
    "secret",
    "secretName",
    "configMap",
    "projected",
    "sources",
    "env",
    "envFrom",
    "valueFrom",
    "secretKeyRef",
    "tls",
    "ports",
    "port",
    "nodePort",
    "clusterIP",
    "type",
    "conditions",
    "phase",
    "containerStatuses",
    "loadBalancer",
    "ingress",
    "ip",
    "active",
    "disruptedPods",
    "observedGeneration",
    "secrets",
    "volumeClaimTemplates",
    "selector",
];

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "x",
            "LoadBalancer",
            "None",
            "True",
            "Complete",
            "1Gi",
            "500m",
            "Bound",
            "Running"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let fields = (prop::sample::select(FIELDS.to_vec()), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(fields, 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    let parts = (
        prop::sample::select(KINDS.to_vec()),
        any_value(),
        any_value(),
        any_value(),
        any_value(),
    );
    parts.prop_map(|((api_version, kind), metadata, spec, status, other)| {
        let mut object: Map<String, Value> = other.as_object().cloned().unwrap_or_default();
        object.insert("apiVersion".to_owned(), json!(api_version));
        object.insert("kind".to_owned(), json!(kind));
        object.insert("metadata".to_owned(), metadata);
        object.insert("spec".to_owned(), spec);
        object.insert("status".to_owned(), status);
        Value::Object(object)
    })
}

fn item(status: Option<Value>, health: u8) -> AggregatedStatusItem {
    AggregatedStatusItem {
        cluster_name: format!("m{health}"),
        status,
        applied: true,
        health: match health {
            0 => None,
            1 => Some(ResourceHealth::Healthy),
            2 => Some(ResourceHealth::Unhealthy),
            _ => Some(ResourceHealth::Unknown),
        },
        ..AggregatedStatusItem::default()
    }
}

proptest! {
    #[test]
    fn nothing_panics(one in any_object(), other in any_object(), replicas in any::<i32>(),
        statuses in prop::collection::vec((prop::option::of(any_value()), 0_u8..4), 0..4)) {
        let _ = Native.health(&one);
        let _ = Native.replicas(&one);
        let _ = Native.reflect(&one);
        let _ = Native.dependencies(&one);
        let items: Vec<_> = statuses.into_iter().map(|(status, health)| item(status, health)).collect();
        let _ = Native.aggregate(&one, &items);
        let (mut revised, mut retained) = (one.clone(), one.clone());
        let _ = Native.revise(&mut revised, replicas);
        let _ = Native.retain(&mut retained, &other);
    }

    #[test]
    fn what_is_no_object_is_nobodys_kind(value in any_value()) {
        let _ = (Native.health(&value), Native.replicas(&value), Native.reflect(&value), Native.dependencies(&value));
    }

    /// What is written once is not written again.
    #[test]
    fn aggregation_settles(template in any_object(), statuses in prop::collection::vec((prop::option::of(any_value()), 0_u8..4), 0..4)) {
        let items: Vec<_> = statuses.into_iter().map(|(status, health)| item(status, health)).collect();
        let mut template = template;
        if let Ok(Some(patch)) = Native.aggregate(&template, &items) {
            json_patch::merge(&mut template["status"], &patch);
            prop_assert_eq!(Native.aggregate(&template, &items), Ok(None));
        }
    }
}
