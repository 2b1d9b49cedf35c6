//! Shared by the tests: a clock that follows tokio's, runs under paused time, and a CRD with everything in it.
#![allow(dead_code, reason = "each test program uses its part")]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube_sandbox::{Now, Sandbox, SandboxOptions};
use serde_json::{Value, json};

/// Simulated time: a fixed start plus the paused tokio clock.
pub fn simulated_now() -> Now {
    let (start, t0) = (
        "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap(),
        tokio::time::Instant::now(),
    );
    Arc::new(move || start + jiff::SignedDuration::try_from(t0.elapsed()).unwrap())
}

pub fn sandbox() -> Sandbox {
    Sandbox::new(SandboxOptions::new(simulated_now()))
}

/// Runs a body under paused time; a deadlock fails instead of hanging.
pub fn paused<F: Future>(body: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(86_400), body)
            .await
            .expect("the test stands still")
    })
}

/// Lets everything run until nobody can go on without time passing.
pub async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// `widgets.example.com`: status and scale subresources, defaults, all kinds of validation, columns.
pub fn widget_crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["toys"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [
                    {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
                    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
                    {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {"openAPIV3Schema": widget_schema()},
            }],
        },
    })
}

fn widget_schema() -> Value {
    json!({
                    "type": "object",
                    "description": "A widget for tests.",
                    "required": ["spec"],
                    "properties": {
                        "spec": {
                            "type": "object",
                            "description": "What it is to be.",
                            "required": ["color"],
                            "x-kubernetes-validations": [
                                {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low must not exceed high"},
                            ],
                            "properties": widget_fields(),
                        },
                        "status": {
                            "type": "object",
                            "properties": {
                                "replicas": {"type": "integer"},
                                "conditions": {
                                    "type": "array",
                                    "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                                },
                            },
                        },
                    },
    })
}

fn widget_fields() -> Value {
    json!({
                                "color": {"type": "string", "enum": ["red", "green", "blue"], "description": "Its color."},
                                "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10, "default": 1},
                                "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                                "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                                "note": {"type": "string", "nullable": true},
                                "low": {"type": "integer"},
                                "high": {"type": "integer"},
                                "fixed": {
                                    "type": "string",
                                    "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}],
                                },
                                "parts": {
                                    "type": "array",
                                    "maxItems": 3,
                                    "x-kubernetes-list-type": "map",
                                    "x-kubernetes-list-map-keys": ["name"],
                                    "items": {
                                        "type": "object",
                                        "required": ["name"],
                                        "properties": {"name": {"type": "string"}, "size": {"type": "integer", "default": 7}},
                                    },
                                },
                                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}

pub fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"color": "red"},
    })
}

pub fn deployment(name: &str, replicas: i64, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    })
}
