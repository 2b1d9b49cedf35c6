//! The body of an apply patch laid over a custom object: like a merge patch, but lists that the schema calls maps or
//! sets merge by their keys. Nulls are kept out, absent fields stay: nobody's ownership is known here.

use serde_json::{Map, Value};

/// `target` after applying `config`.
pub(crate) fn apply(target: &mut Value, config: &Value, schema: Option<&Value>) {
    match config {
        Value::Object(fields) => {
            if !target.is_object() {
                *target = Value::Object(Map::new());
            }
            let Value::Object(present) = target else { return };
            for (name, value) in fields {
                if value.is_null() {
                    present.remove(name);
                    continue;
                }
                let inner = schema.and_then(|s| {
                    s.get("properties")
                        .and_then(|p| p.get(name))
                        .or_else(|| s.get("additionalProperties").filter(|a| a.is_object()))
                });
                if schema
                    .and_then(|s| s.get("x-kubernetes-map-type"))
                    .is_some_and(|t| t == "atomic")
                {
                    present.insert(name.clone(), value.clone());
                } else {
                    apply(present.entry(name.clone()).or_insert(Value::Null), value, inner);
                }
            }
        }
        Value::Array(items) => apply_list(target, items, schema),
        scalar => *target = scalar.clone(),
    }
}

fn apply_list(target: &mut Value, items: &[Value], schema: Option<&Value>) {
    let kind = schema
        .and_then(|s| s.get("x-kubernetes-list-type"))
        .and_then(Value::as_str);
    let (Some("map" | "set"), Value::Array(present)) = (kind, &mut *target) else {
        *target = Value::Array(items.to_vec());
        return;
    };
    let keys: Vec<&str> = schema
        .and_then(|s| s.get("x-kubernetes-list-map-keys"))
        .and_then(Value::as_array)
        .map(|k| k.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let inner = schema.and_then(|s| s.get("items"));
    for item in items {
        let same = |p: &&mut Value| match kind {
            Some("map") => keys.iter().all(|k| p.get(*k) == item.get(*k)),
            _ => **p == *item,
        };
        match present.iter_mut().find(same) {
            Some(existing) => apply(existing, item, inner),
            None => present.push(item.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn lists_merge_by_the_keys_of_the_schema() {
        let schema = json!({"properties": {"spec": {"properties": {
            "parts": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {}},
            "tags": {"x-kubernetes-list-type": "set", "items": {}},
            "args": {"items": {}}
        }}}});
        let mut object =
            json!({"spec": {"parts": [{"name": "a", "n": 1}], "tags": ["x"], "args": ["1"], "kept": true}});
        let config =
            json!({"spec": {"parts": [{"name": "b"}, {"name": "a", "m": 2}], "tags": ["x", "y"], "args": ["2"]}});
        super::apply(&mut object, &config, Some(&schema));
        assert_eq!(
            object,
            json!({"spec": {"parts": [{"name": "a", "n": 1, "m": 2}, {"name": "b"}], "tags": ["x", "y"], "args": ["2"], "kept": true}})
        );
    }
}
