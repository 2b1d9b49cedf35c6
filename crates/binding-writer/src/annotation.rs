//! Annotations of a binding, written without touching the others.

use std::collections::BTreeMap;

use api_types::work::Binding;
use serde_json::{Value, json};

use crate::edit::conditional;

/// The patch by which the annotation says `value`, or is gone; `None` when that is so already.
pub(crate) fn set(read: &Binding, name: &str, value: Option<&str>) -> Option<Value> {
    if is_so(read, name, value) {
        return None;
    }
    let change = BTreeMap::from([(name.to_owned(), value.map(str::to_owned))]);
    Some(conditional(read, operations(read, &change)))
}

/// Whether the annotation says `value`, or is absent, already.
pub(crate) fn is_so(read: &Binding, name: &str, value: Option<&str>) -> bool {
    let existing = read.metadata.annotations.as_ref();
    existing.and_then(|all| all.get(name)).map(String::as_str) == value
}

/// The operations by which these annotations say so, or are gone, of which none is so already.
pub(crate) fn operations(read: &Binding, changes: &BTreeMap<String, Option<String>>) -> Vec<Value> {
    if read.metadata.annotations.is_none() {
        // An object without annotations gets all of them at once.
        let set: BTreeMap<&String, &String> = changes
            .iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)))
            .collect();
        let first = (!set.is_empty()).then(|| json!({"op": "add", "path": "/metadata/annotations", "value": set}));
        return first.into_iter().collect();
    }
    let one = |(name, value): (&String, &Option<String>)| {
        let path = format!("/metadata/annotations/{}", name.replace('~', "~0").replace('/', "~1"));
        match value {
            None => json!({"op": "remove", "path": path}),
            Some(value) => json!({"op": "add", "path": path, "value": value}),
        }
    };
    changes.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const NAME: &str = "failover.karmada.io/stay";

    #[rstest]
    #[case::first(json!(null), Some("x"), Some(json!({"op": "add", "path": "/metadata/annotations", "value": {NAME: "x"}})))]
    #[case::beside(json!({"a": "b"}), Some("x"), Some(json!({"op": "add", "path": "/metadata/annotations/failover.karmada.io~1stay", "value": "x"})))]
    #[case::instead(json!({NAME: "y"}), Some("x"), Some(json!({"op": "add", "path": "/metadata/annotations/failover.karmada.io~1stay", "value": "x"})))]
    #[case::gone(json!({NAME: "y"}), None, Some(json!({"op": "remove", "path": "/metadata/annotations/failover.karmada.io~1stay"})))]
    #[case::as_it_is(json!({NAME: "x"}), Some("x"), None)]
    #[case::nothing_to_remove(json!({"a": "b"}), None, None)]
    fn only_this_one_changes(#[case] annotations: Value, #[case] value: Option<&str>, #[case] expected: Option<Value>) {
        let read: Binding = serde_json::from_value(json!({
            "metadata": {"name": "b", "namespace": "n", "uid": "u", "resourceVersion": "7", "annotations": annotations},
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "b"}},
        }))
        .unwrap();
        let patch = set(&read, NAME, value);
        assert_eq!(patch.as_ref().map(|patch| patch[2].clone()), expected);
        if let Some(patch) = patch {
            assert_eq!(
                (&patch[0]["value"], &patch[1]["value"]),
                (&json!("u"), &json!("7")),
                "on the version that was read"
            );
        }
    }
}
