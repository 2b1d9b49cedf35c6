//! Server-side apply.

use e2e_conformance::{Scenario, apply, get, http};
use http::Method;
use serde_json::json;

use super::config_maps;
use super::widget::{widget, widgets};

pub fn scenario() -> Scenario {
    let map = |data: serde_json::Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
    Scenario::new(
        "apply",
        vec![
            apply("without a manager", config_maps("/a"), &map(json!({}))),
            apply("creates", config_maps("/a?fieldManager=me"), &map(json!({"k": "1"}))),
            apply(
                "the same again",
                config_maps("/a?fieldManager=me"),
                &map(json!({"k": "1"})),
            ),
            apply(
                "changes",
                config_maps("/a?fieldManager=me"),
                &map(json!({"k": "2", "l": "1"})),
            ),
            apply(
                "by another, another field",
                config_maps("/a?fieldManager=you"),
                &map(json!({"m": "1"})),
            ),
            apply(
                "by another, the same value",
                config_maps("/a?fieldManager=you"),
                &map(json!({"m": "1", "k": "2"})),
            ),
            apply(
                "forced",
                config_maps("/a?fieldManager=you&force=true"),
                &map(json!({"m": "1", "k": "3"})),
            ),
            apply(
                "in a dry run",
                config_maps("/a?fieldManager=you&force=true&dryRun=All"),
                &map(json!({"m": "1", "k": "4"})),
            ),
            get("after all", config_maps("/a")),
            apply("another name", config_maps("/b?fieldManager=me"), &map(json!({}))),
            apply(
                "no kind",
                config_maps("/a?fieldManager=me"),
                &json!({"metadata": {"name": "a"}}),
            ),
            apply(
                "with a version that is old",
                config_maps("/a?fieldManager=me"),
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "1"}}),
            ),
            apply(
                "with managed fields",
                config_maps("/a?fieldManager=me"),
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": [{"manager": "x", "operation": "Apply"}]}}),
            ),
            http(
                "as yaml",
                Method::PATCH,
                config_maps("/y?fieldManager=me"),
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {k: v}\n",
            )
            .content_type("application/apply-patch+yaml"),
            apply(
                "an unknown field, strictly",
                config_maps("/a?fieldManager=me&fieldValidation=Strict"),
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {}}),
            ),
            apply(
                "creates a widget",
                widgets("/w?fieldManager=me"),
                &widget("w", &json!({"color": "green", "parts": [{"name": "a"}]})),
            ),
            apply(
                "lists merge by key",
                widgets("/w?fieldManager=you"),
                &widget(
                    "w",
                    &json!({"color": "green", "parts": [{"name": "b", "size": 3}], "tags": ["x"]}),
                ),
            ),
            apply(
                "sets merge",
                widgets("/w?fieldManager=they"),
                &widget("w", &json!({"color": "green", "tags": ["y"]})),
            ),
            apply(
                "an invalid widget",
                widgets("/w?fieldManager=me&force=true"),
                &widget("w", &json!({"color": "pink"})),
            ),
            apply(
                "an unknown field of a widget",
                widgets("/w?fieldManager=me"),
                &widget("w", &json!({"color": "green", "nope": 1, "parts": [{"name": "a"}]})),
            ),
            apply(
                "the status",
                widgets("/w/status?fieldManager=me"),
                &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
            ),
            apply(
                "the status by another",
                widgets("/w/status?fieldManager=you"),
                &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
                "status": {"conditions": [{"type": "Good", "status": "True"}]}}),
            ),
            // What needs field owners.
            apply(
                "by another, another value",
                config_maps("/a?fieldManager=they"),
                &map(json!({"k": "9"})),
            ),
            apply(
                "managed fields",
                config_maps("/managed?fieldManager=me"),
                &json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "managed", "annotations": {"conformance/managed-fields": "kept"}}, "data": {"k": "v", "gone": "x"}}),
            ),
            apply(
                "a field that is no longer applied",
                config_maps("/managed?fieldManager=me"),
                &json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "managed"}, "data": {"k": "v"}}),
            ),
        ],
    )
}
