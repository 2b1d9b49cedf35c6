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
                "key": described(qualified_name(), "What the taint is about, such as \
                    `cluster.karmada.io/not-ready`: a qualified name with an optional DNS prefix. At most one taint \
                    of each key and effect."),
                "value": described(label_value(), "More about the key, for tolerations that compare it. Default empty."),
                "effect": {
                    "description": "What the taint does to workloads that do not bear it. NoSchedule: none is newly \
                        placed here. PreferNoSchedule: other clusters are chosen first. NoExecute: none is newly \
                        placed here, and those that run here leave through the eviction queue, unless \
                        `placement.clusterTolerations` tolerate it, or only when tolerationSeconds have passed. \
                        PreferNoExecute: those whose policy has `failover.cluster` leave, `tolerationSeconds` of it \
                        after timeAdded; all others stay, and tolerations play no part.",
                    "type": "string",
                    "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute", "PreferNoExecute"]
                },
                "timeAdded": {
                    "description": "When the taint was added (RFC 3339). Toleration times count from here. Of a \
                        NoExecute or PreferNoExecute taint that came without it, it is set by the \
                        taint-policy-controller; until then nothing leaves because of that taint.",
                    "type": "string",
                    "format": "date-time"
                }
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
                "type": {
                    "description": "What the condition is about, in CamelCase, such as `Ready`. One condition of each type.",
                    "type": "string",
                    "maxLength": 316
                },
                "status": {
                    "description": "Whether it holds: True, False, or Unknown when nobody can tell.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"]
                },
                "observedGeneration": {
                    "description": "The `metadata.generation` that the condition was worked out from. When it is less \
                        than the object's, the condition speaks of an older version of the spec.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0
                },
                "lastTransitionTime": {
                    "description": "When the status last changed from one value to another (RFC 3339). A change of \
                        reason or message alone leaves it as it is.",
                    "type": "string",
                    "format": "date-time"
                },
                "reason": {
                    "description": "Why the status is what it is, as one CamelCase word for programs. May be empty.",
                    "type": "string",
                    "maxLength": 1024
                },
                "message": {
                    "description": "The same for people, with the particulars. May be empty.",
                    "type": "string",
                    "maxLength": 32768
                }
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
                "key": {
                    "description": "Key of the taints that are tolerated. Empty or absent, with operator Exists: every key.",
                    "type": "string",
                    "maxLength": 316
                },
                "operator": {
                    "description": "How value is compared. Equal: the taint's value must be the same. Exists: any \
                        value, and `value` stays empty. Default Equal.",
                    "type": "string",
                    "enum": ["Exists", "Equal"]
                },
                "value": {
                    "description": "Value of the taints that are tolerated, with operator Equal. Default empty.",
                    "type": "string",
                    "maxLength": 63
                },
                "effect": {
                    "description": "Effect of the taints that are tolerated; empty or absent: each. NoSchedule and \
                        NoExecute are what tolerations decide; a tolerated PreferNoSchedule taint does not make the \
                        cluster a later choice. Whether a workload leaves on PreferNoExecute is not decided here, but by \
                        `failover.cluster` and its tolerationSeconds.",
                    "type": "string",
                    "enum": ["", "NoSchedule", "PreferNoSchedule", "NoExecute", "PreferNoExecute"]
                },
                "tolerationSeconds": {
                    "description": "For how many seconds after the taint's timeAdded a NoExecute taint is tolerated: \
                        then the workload is to leave. Absent: for ever. 0 and less: not at all. Of several \
                        tolerations of one taint the longest time counts. Plays no part for other effects.",
                    "type": "integer",
                    "format": "int64"
                }
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
    json_schema!({
        "description": "A Kubernetes quantity: a number with an optional unit, such as `500m` (half a CPU core), `2` or `4Gi` (bytes).",
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "x-kubernetes-int-or-string": true
    })
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

fn described(mut schema: Schema, meaning: &str) -> Schema {
    schema.insert("description".to_owned(), meaning.into());
    schema
}
