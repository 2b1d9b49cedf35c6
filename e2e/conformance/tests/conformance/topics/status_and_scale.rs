//! The subresources status and scale, and what counts as a new generation.

use e2e_conformance::{Scenario, get, json_patch, merge, post, put, strategic};
use serde_json::json;

use super::widget::{widget, widgets};

pub fn scenario() -> Scenario {
    let deployments = |tail: &str| format!("/apis/apps/v1/namespaces/%{{ns}}/deployments{tail}");
    Scenario::new(
        "status-and-scale",
        vec![
            post("a widget", widgets(""), &widget("w", &json!({"color": "red"})))
                .save("first", "/metadata/resourceVersion"),
            merge(
                "its status",
                widgets("/w/status"),
                &json!({"status": {"replicas": 2, "selector": "a=b", "nope": 1}, "spec": {"color": "blue"}}),
            ),
            merge(
                "its status again",
                widgets("/w/status"),
                &json!({"status": {"replicas": 2}}),
            ),
            get("read its status", widgets("/w/status")),
            merge(
                "a status beside the spec",
                widgets("/w"),
                &json!({"spec": {"color": "green"}, "status": {"replicas": 9}}),
            ),
            merge(
                "labels beside the status",
                widgets("/w/status"),
                &json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "status": {"replicas": 3}}),
            ),
            put(
                "replace the status with an old version",
                widgets("/w/status"),
                &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget",
                "metadata": {"name": "w", "resourceVersion": "%{first}"}, "spec": {"color": "red"}, "status": {}}),
            ),
            put(
                "replace the status without a version",
                widgets("/w/status"),
                &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget",
                "metadata": {"name": "w"}, "spec": {"color": "red"}, "status": {}}),
            ),
            merge(
                "a condition",
                widgets("/w/status"),
                &json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
            ),
            merge(
                "a condition without a status",
                widgets("/w/status"),
                &json!({"status": {"conditions": [{"type": "Ready"}]}}),
            ),
            merge(
                "two conditions of a type",
                widgets("/w/status"),
                &json!({"status": {"conditions": [{"type": "A", "status": "1"}, {"type": "A", "status": "2"}]}}),
            ),
            merge(
                "a wrong type in the status",
                widgets("/w/status"),
                &json!({"status": {"replicas": "x"}}),
            ),
            merge("no status", widgets("/w/status"), &json!({"status": null})),
            merge(
                "a finalizer by the status",
                widgets("/w/status"),
                &json!({"metadata": {"finalizers": ["example.com/x"]}}),
            ),
            merge(
                "the selector for the scale",
                widgets("/w/status"),
                &json!({"status": {"replicas": 2, "selector": "a=b"}}),
            ),
            get("the scale", widgets("/w/scale")),
            merge("scale", widgets("/w/scale"), &json!({"spec": {"replicas": 4}})),
            merge(
                "scale to the same",
                widgets("/w/scale"),
                &json!({"spec": {"replicas": 4}}),
            ),
            merge(
                "scale below nothing",
                widgets("/w/scale"),
                &json!({"spec": {"replicas": -4}}),
            ),
            merge(
                "scale beyond the schema",
                widgets("/w/scale"),
                &json!({"spec": {"replicas": 40}}),
            ),
            put(
                "put a scale",
                widgets("/w/scale"),
                &json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w", "namespace": "%{ns}"}, "spec": {"replicas": 5}}),
            ),
            put(
                "put a scale of another name",
                widgets("/w/scale"),
                &json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x", "namespace": "%{ns}"}, "spec": {"replicas": 5}}),
            ),
            put(
                "put a scale of an old version",
                widgets("/w/scale"),
                &json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w", "namespace": "%{ns}", "resourceVersion": "1"}, "spec": {"replicas": 5}}),
            ),
            json_patch(
                "patch a scale",
                widgets("/w/scale"),
                &json!([{"op": "replace", "path": "/spec/replicas", "value": 6}]),
            ),
            merge(
                "scale in a dry run",
                widgets("/w/scale?dryRun=All"),
                &json!({"spec": {"replicas": 7}}),
            ),
            get("scale of what is not there", widgets("/none/scale")),
            get("the widget after all", widgets("/w")),
            post(
                "a deployment",
                deployments(""),
                &json!({"metadata": {"name": "d"}, "spec": {"replicas": 2,
                "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]},
                "template": {"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}}}),
            ),
            merge(
                "status of a deployment",
                deployments("/d/status"),
                &json!({"status": {"replicas": 1, "observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}]}}),
            ),
            strategic(
                "a condition more",
                deployments("/d/status"),
                &json!({"status": {"conditions": [{"type": "Progressing", "status": "True"}]}}),
            ),
            merge(
                "a negative status",
                deployments("/d/status?dryRun=All"),
                &json!({"status": {"replicas": -1}}),
            ),
            merge(
                "labels beside its status",
                deployments("/d/status"),
                &json!({"metadata": {"labels": {"l": "m"}, "annotations": {"n": "o"}}}),
            ),
            get("its scale", deployments("/d/scale")),
            merge(
                "scale the deployment",
                deployments("/d/scale"),
                &json!({"spec": {"replicas": 3}}),
            ),
            strategic(
                "scale it strategically",
                deployments("/d/scale"),
                &json!({"spec": {"replicas": 4}}),
            ),
            merge(
                "a negative scale",
                deployments("/d/scale"),
                &json!({"spec": {"replicas": -3}}),
            ),
            merge(
                "no new generation for labels",
                deployments("/d"),
                &json!({"metadata": {"labels": {"x": "y"}}}),
            ),
            merge(
                "a new generation for the spec",
                deployments("/d"),
                &json!({"spec": {"minReadySeconds": 3}}),
            ),
            merge(
                "none for the same",
                deployments("/d"),
                &json!({"spec": {"minReadySeconds": 3}}),
            ),
        ],
    )
}
