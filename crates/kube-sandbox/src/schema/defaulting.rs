//! Structural defaulting, after `apiextensions-apiserver/pkg/apiserver/schema/defaulting`.

use serde_json::Value;

use super::flag;

/// Fills defaults in place; nulls of fields that are not nullable become the default, or vanish without one.
pub(super) fn apply(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                for (key, property) in properties {
                    let default = property.get("default").filter(|d| !d.is_null());
                    match (map.get(key), default) {
                        (None, Some(default)) => {
                            map.insert(key.clone(), default.clone());
                        }
                        (Some(Value::Null), default) if !flag(property, "nullable") => match default {
                            Some(default) => {
                                map.insert(key.clone(), default.clone());
                            }
                            None => {
                                map.remove(key);
                            }
                        },
                        _ => {}
                    }
                    // Also into a default that was just put in: it may have defaults below.
                    if let Some(child) = map.get_mut(key) {
                        apply(child, property);
                    }
                }
            }
            if let Some(inner @ Value::Object(_)) = schema.get("additionalProperties") {
                let known = schema.get("properties");
                let nullable = flag(inner, "nullable");
                map.retain(|key, child| {
                    if known.and_then(|k| k.get(key)).is_some() {
                        return true;
                    }
                    if child.is_null() && !nullable {
                        match inner.get("default") {
                            Some(default) => *child = default.clone(),
                            None => return false,
                        }
                    }
                    apply(child, inner);
                    true
                });
            }
        }
        Value::Array(items) => {
            let Some(inner) = schema.get("items") else { return };
            for item in items {
                if item.is_null()
                    && !flag(inner, "nullable")
                    && let Some(default) = inner.get("default")
                {
                    *item = default.clone();
                }
                apply(item, inner);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::apply;

    #[test]
    fn recurses_into_inserted_defaults_and_treats_null_as_absent() {
        let schema = json!({"properties": {
            "a": {"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 3}}},
            "n": {"type": "string", "nullable": true, "default": "x"},
            "s": {"type": "string", "default": "y"},
            "gone": {"type": "string"}
        }});
        let mut object = json!({"n": null, "s": null, "gone": null});
        apply(&mut object, &schema);
        assert_eq!(object, json!({"a": {"b": 3}, "n": null, "s": "y"}));
    }
}
