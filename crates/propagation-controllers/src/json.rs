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

/// So many levels of objects and lists in each other are carried, from a template to a member and from its status back. A
/// Work and a binding put them four levels deeper, and what is read of either ends at
/// [`DEEPEST_READ`](controller_kit::informer::DEEPEST_READ), so that what is carried was read whole.
pub const DEEPEST: usize = 100;

/// Whether a value is too deep to be carried.
#[must_use]
pub fn is_too_deep(value: &Value) -> bool {
    is_deeper(value, DEEPEST)
}

fn is_deeper(value: &Value, most: usize) -> bool {
    let below = |inner: &Value| is_deeper(inner, most.saturating_sub(1));
    match value {
        Value::Array(_) | Value::Object(_) if most == 0 => true,
        Value::Array(items) => items.iter().any(below),
        Value::Object(fields) => fields.values().any(below),
        _ => false,
    }
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
    fn a_hundred_levels_are_carried() {
        let deep = |levels: usize| (1..levels).fold(json!([1]), |value, _| json!({"a": 1, "b": value}));
        assert!(!is_too_deep(&json!("text")));
        assert!(!is_too_deep(&deep(DEEPEST)));
        assert!(is_too_deep(&deep(DEEPEST + 1)));
        assert!(
            is_too_deep(&deep(controller_kit::informer::DEEPEST_READ)),
            "what was cut is not carried"
        );
    }

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
