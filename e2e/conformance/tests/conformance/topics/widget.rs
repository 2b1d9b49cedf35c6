//! A kind of our own, with something of all that a definition can say.

use serde_json::{Value, json};

pub const GROUP_VERSION: &str = "/apis/conformance.example.com/v1";

pub fn widgets(tail: &str) -> String {
    format!("{GROUP_VERSION}/namespaces/%{{ns}}/widgets{tail}")
}

pub fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

pub fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.conformance.example.com"},
        "spec": {
            "group": "conformance.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["toys"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector"},
                },
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [
                    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "description": "Its color."},
                    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
                    {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
                    {"name": "Code", "type": "string", "jsonPath": ".spec.code", "priority": 1},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "description": "A widget.",
                    "required": ["spec"],
                    "properties": {"spec": spec(), "status": status()},
                }},
            }],
        },
    })
}

fn spec() -> Value {
    json!({
        "type": "object",
        "description": "What it is to be.",
        "required": ["color"],
        "x-kubernetes-validations": [
            {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low must not exceed high"},
            {"rule": "!has(self.high) || self.high < 100", "messageExpression": "'high must stay below ' + '100'"},
            {"rule": "!has(oldSelf.low) || has(self.low)", "message": "low stays once it is there", "reason": "FieldValueForbidden", "fieldPath": ".low"},
        ],
        "properties": {
            "color": {"type": "string", "enum": ["red", "green", "blue"], "description": "Its color."},
            "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10, "default": 1},
            "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "minLength": 2},
            "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "note": {"type": "string", "nullable": true},
            "low": {"type": "integer"},
            "high": {"type": "integer"},
            "share": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "multipleOf": 0.25},
            "on": {"type": "boolean", "default": false},
            "at": {"type": "string", "format": "date-time"},
            "fixed": {
                "type": "string",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}],
            },
            "parts": {
                "type": "array", "maxItems": 3,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object", "required": ["name"],
                    "properties": {
                        "name": {"type": "string"},
                        "size": {"type": "integer", "default": 7,
                            "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "a part does not shrink"}]},
                    },
                },
            },
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "limits": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}, "maxProperties": 2},
            "either": {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            "nested": {
                "type": "object", "default": {},
                "properties": {"deep": {"type": "string", "default": "down"}},
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        },
    })
}

fn status() -> Value {
    json!({
        "type": "object",
        "properties": {
            "replicas": {"type": "integer"},
            "selector": {"type": "string"},
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object", "required": ["type", "status"],
                    "properties": {"type": {"type": "string"}, "status": {"type": "string"}, "message": {"type": "string"}},
                },
            },
        },
    })
}
