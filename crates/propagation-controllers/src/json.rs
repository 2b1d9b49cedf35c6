//! Small ways into JSON objects whose type is not known when this is compiled.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The whole number at `pointer`; 0 where there is none, as Kubernetes reads an absent counter.
#[must_use]
pub fn count(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// The text at `pointer`; empty where there is none.
#[must_use]
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The text at `pointer`, if there is one that is not empty.
#[must_use]
pub fn some_text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// The list at `pointer`; empty where there is none.
#[must_use]
pub fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The map of texts at `pointer`, such as labels; empty where there is none.
#[must_use]
pub fn text_map(object: &Value, pointer: &str) -> BTreeMap<String, String> {
    let entries = object.pointer(pointer).and_then(Value::as_object);
    let text_entry = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    entries.into_iter().flatten().filter_map(text_entry).collect()
}

/// A map of texts as JSON.
#[must_use]
pub fn from_text_map(map: &BTreeMap<String, String>) -> Value {
    Value::Object(
        map.iter()
            .map(|(key, value)| (key.clone(), Value::String(value.clone())))
            .collect(),
    )
}

/// Puts `value` at the path of `keys`, making the objects on the way.
pub fn set(object: &mut Value, keys: &[&str], value: Value) {
    let mut here = object;
    for key in keys {
        if !here.is_object() {
            *here = Value::Object(Map::new());
        }
        let Value::Object(map) = here else { return };
        here = map.entry((*key).to_owned()).or_insert(Value::Null);
    }
    *here = value;
}

/// Takes away what is at the path of `keys`, if anything.
pub fn remove(object: &mut Value, keys: &[&str]) {
    let Some((last, parents)) = keys.split_last() else {
        return;
    };
    let mut here = object;
    for key in parents {
        match here.get_mut(*key) {
            Some(next) => here = next,
            None => return,
        }
    }
    if let Value::Object(map) = here {
        map.remove(*last);
    }
}

/// What makes `to` of `from` as a merge patch; nothing when they are the same. Fields that are gone become null, lists are
/// replaced as a whole.
#[must_use]
pub fn merge_patch(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let mut patch = Map::new();
    for (name, value) in after {
        let change = match before.get(name) {
            Some(present) => merge_patch(present, value),
            None => Some(value.clone()),
        };
        if let Some(change) = change {
            patch.insert(name.clone(), change);
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Escapes a key for use in a JSON pointer or the path of a JSON patch.
#[must_use]
pub fn pointer_key(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn set_makes_the_way_and_remove_takes_only_the_end() {
        let mut object = json!({"spec": {"a": 1}});
        set(&mut object, &["metadata", "labels", "x/y"], json!("z"));
        remove(&mut object, &["spec", "a"]);
        remove(&mut object, &["status", "b"]);
        assert_eq!(object, json!({"spec": {}, "metadata": {"labels": {"x/y": "z"}}}));
        assert_eq!(text(&object, &format!("/metadata/labels/{}", pointer_key("x/y"))), "z");
    }
}
