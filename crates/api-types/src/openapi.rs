//! Which fields an API server keeps, by its OpenAPI v3 documents, which everybody may read. Pure.
//!
//! The API server drops a field that its schema does not know, silently, unless the schema says that it keeps unknown fields.

use std::collections::BTreeSet;

use serde_json::Value;

/// The schema of a kind in the document of its group and version.
#[must_use]
pub fn of_kind<'a>(document: &'a Value, kind: &str) -> Option<&'a Value> {
    let schemas = document["components"]["schemas"].as_object()?;
    schemas.values().find(|schema| {
        let is_it = |named: &Value| named["kind"] == kind;
        schema["x-kubernetes-group-version-kind"]
            .as_array()
            .is_some_and(|all| all.iter().any(is_it))
    })
}

/// Whether the server keeps a field, as in `spec.taintsToAdd.addOnMatchSeconds`; lists are passed through.
#[must_use]
pub fn keeps(document: &Value, schema: &Value, field: &str) -> bool {
    let mut at = schema;
    for name in field.split('.') {
        at = through_lists(document, at);
        if at["x-kubernetes-preserve-unknown-fields"] == true || at["additionalProperties"].is_object() {
            return true;
        }
        let next = &at["properties"][name];
        if next.is_null() {
            return false;
        }
        at = next;
    }
    true
}

/// The values that a field may have; nothing where the schema does not say.
#[must_use]
pub fn values(document: &Value, schema: &Value, field: &str) -> Option<BTreeSet<String>> {
    let mut at = schema;
    for name in field.split('.') {
        at = &through_lists(document, at)["properties"][name];
    }
    let values = through_lists(document, at)["enum"].as_array()?;
    Some(values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// What stands behind references and lists.
fn through_lists<'a>(document: &'a Value, mut schema: &'a Value) -> &'a Value {
    // A schema that refers to itself would lead in circles.
    for _ in 0..8 {
        let reference = schema["$ref"]
            .as_str()
            .or_else(|| schema["allOf"].as_array().and_then(|all| all.first())?["$ref"].as_str());
        schema = match reference {
            Some(reference) => {
                let name = reference.rsplit('/').next().unwrap_or_default();
                &document["components"]["schemas"][name]
            }
            None if schema["items"].is_object() => &schema["items"],
            None => return schema,
        };
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        json!({"components": {"schemas": {
            "Policy": {
                "x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Policy"}],
                "properties": {"spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}]}},
            },
            "Spec": {"properties": {
                "taints": {"type": "array", "items": {"$ref": "#/components/schemas/Taint"}},
                "anything": {"x-kubernetes-preserve-unknown-fields": true},
            }},
            "Taint": {"properties": {"key": {}, "effect": {"enum": ["NoSchedule", "NoExecute"]}}},
        }}})
    }

    #[test]
    fn fields_are_found_behind_references_and_lists() {
        let document = document();
        let policy = of_kind(&document, "Policy").unwrap();
        for (field, kept) in [
            ("spec.taints", true),
            ("spec.taints.key", true),
            ("spec.taints.seconds", false),
            ("spec.windows", false),
            ("spec.anything.at.all", true),
            ("status", false),
        ] {
            assert_eq!(keeps(&document, policy, field), kept, "{field}");
        }
        assert_eq!(of_kind(&document, "Other"), None);
    }

    #[test]
    fn values_are_those_of_the_schema() {
        let document = document();
        let policy = of_kind(&document, "Policy").unwrap();
        let effects = values(&document, policy, "spec.taints.effect").unwrap();
        assert!(effects.contains("NoExecute") && !effects.contains("PreferNoExecute"));
        assert_eq!(values(&document, policy, "spec.taints.key"), None);
    }
}
