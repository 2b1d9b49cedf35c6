//! Schemas written by hand where the derived one says too little: embedded Kubernetes types whose lists are maps, raw
//! JSON, and bounds without which the API server refuses the cost of a CEL rule.

use schemars::{Schema, SchemaGenerator, json_schema};

/// `spec.taints` of a Cluster: a map by key and effect, at most 100.
pub fn taints(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 100,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["key", "effect"],
        "items": {
            "type": "object",
            "required": ["key", "effect"],
            "properties": {
                "key": qualified_name(),
                "value": label_value(),
                "effect": { "type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute", "PreferNoExecute"] },
                "timeAdded": { "type": "string", "format": "date-time" }
            }
        }
    })
}

/// Conditions as a map by type, at most 32. `reason` may be empty: stock test suites write such conditions.
pub fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": { "type": "string", "maxLength": 316 },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0 },
                "lastTransitionTime": { "type": "string", "format": "date-time" },
                "reason": { "type": "string", "maxLength": 1024 },
                "message": { "type": "string", "maxLength": 32768 }
            }
        }
    })
}

/// `clusterTolerations`: as Kubernetes' tolerations, with the effects of a Cluster's taints.
pub fn tolerations(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 100,
        "items": {
            "type": "object",
            "properties": {
                "key": { "type": "string", "maxLength": 316 },
                "operator": { "type": "string", "enum": ["Exists", "Equal"] },
                "value": { "type": "string", "maxLength": 63 },
                "effect": { "type": "string", "enum": ["", "NoSchedule", "PreferNoSchedule", "NoExecute", "PreferNoExecute"] },
                "tolerationSeconds": { "type": "integer", "format": "int64" }
            }
        }
    })
}

/// Any JSON, kept as it is.
pub fn raw_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A complete Kubernetes object.
pub fn embedded_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true
    })
}

/// A map of resource quantities by resource name.
pub fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": quantity() })
}

/// One resource quantity.
pub fn one_quantity(_: &mut SchemaGenerator) -> Schema {
    quantity()
}

fn quantity() -> Schema {
    json_schema!({ "anyOf": [{ "type": "integer" }, { "type": "string" }], "x-kubernetes-int-or-string": true })
}

/// A taint's key: a qualified name with an optional DNS prefix, at most 253 + 1 + 63 characters, less one.
fn qualified_name() -> Schema {
    json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": 316,
        "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$"
    })
}

/// A taint's value: a label value, empty or at most 63 characters.
fn label_value() -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": 63,
        "pattern": "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
    })
}

/// [`qualified_name`] as a field's schema.
pub fn taint_key(_: &mut SchemaGenerator) -> Schema {
    qualified_name()
}

/// [`label_value`] as a field's schema.
pub fn taint_value(_: &mut SchemaGenerator) -> Schema {
    label_value()
}
