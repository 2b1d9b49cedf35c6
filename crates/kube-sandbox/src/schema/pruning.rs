//! Structural pruning, after `apiextensions-apiserver/pkg/apiserver/schema/pruning`.

use serde_json::Value;

use super::flag;

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes unknown fields from a whole resource.
pub(super) fn prune_root(object: &mut Value, schema: &Value) {
    if flag(schema, "x-kubernetes-preserve-unknown-fields") {
        skip(object, schema);
    } else {
        prune(object, Some(schema), true);
    }
}

fn prune(value: &mut Value, schema: Option<&Value>, root: bool) {
    if let Some(s) = schema
        && flag(s, "x-kubernetes-preserve-unknown-fields")
    {
        return skip(value, s);
    }
    match value {
        Value::Object(map) => {
            let Some(schema) = schema else { return map.clear() };
            let keeps_meta = root || flag(schema, "x-kubernetes-embedded-resource");
            map.retain(|key, child| {
                if keeps_meta && META_FIELDS.contains(&key.as_str()) {
                    return true;
                }
                if let Some(property) = schema.get("properties").and_then(|p| p.get(key)) {
                    prune(child, Some(property), false);
                    return true;
                }
                match schema.get("additionalProperties") {
                    Some(Value::Bool(true)) => {
                        prune(child, None, false);
                        true
                    }
                    Some(inner @ Value::Object(_)) => {
                        prune(child, Some(inner), false);
                        true
                    }
                    _ => false,
                }
            });
        }
        Value::Array(items) => {
            let inner = schema.and_then(|s| s.get("items"));
            items.iter_mut().for_each(|item| prune(item, inner, false));
        }
        _ => {}
    }
}

/// Inside a node that keeps unknown fields, only the known ones are looked into.
fn skip(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            for (key, child) in map.iter_mut() {
                if let Some(property) = schema.get("properties").and_then(|p| p.get(key)) {
                    prune(child, Some(property), false);
                } else if let Some(inner @ Value::Object(_)) = schema.get("additionalProperties") {
                    prune(child, Some(inner), false);
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                items.iter_mut().for_each(|item| skip(item, inner));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::prune_root;

    #[test]
    fn keeps_only_what_the_schema_knows() {
        let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "a": {"type": "string"},
            "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "string"}}}},
            "raw": {"type": "object", "x-kubernetes-embedded-resource": true}
        }}}});
        let mut object = json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "n", "any": 1}, "extra": 1, "spec": {
            "a": "1", "b": "2",
            "m": {"k": {"x": 1, "y": 2}},
            "free": {"deep": {"er": 1}},
            "list": [{"n": "1", "o": "2"}],
            "raw": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}
        }});
        prune_root(&mut object, &schema);
        assert_eq!(
            object,
            json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "n", "any": 1}, "spec": {
                "a": "1",
                "m": {"k": {"x": 1}},
                "free": {"deep": {"er": 1}},
                "list": [{"n": "1"}],
                "raw": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
            }})
        );
    }
}
