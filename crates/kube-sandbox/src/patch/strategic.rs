//! Strategic merge patch for the built-in kinds, on JSON, with the directives of
//! `k8s.io/apimachinery/pkg/util/strategicpatch`.

use serde_json::{Map, Value};

/// How a list merges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListMerge {
    /// Objects, matched by the value of this field.
    ByKey(&'static str),
    /// Scalars, merged as a set.
    Set,
    /// Replaced as a whole.
    Atomic,
}

/// The end of the path (field names, list indices left out) and how the list there merges: the
/// `patchStrategy`/`patchMergeKey` tags of the built-in types that the sandbox serves.
const LISTS: &[(&str, ListMerge)] = &[
    ("metadata.ownerReferences", ListMerge::ByKey("uid")),
    ("metadata.finalizers", ListMerge::Set),
    ("spec.containers", ListMerge::ByKey("name")),
    ("spec.initContainers", ListMerge::ByKey("name")),
    ("spec.ephemeralContainers", ListMerge::ByKey("name")),
    ("spec.volumes", ListMerge::ByKey("name")),
    ("spec.imagePullSecrets", ListMerge::ByKey("name")),
    ("spec.hostAliases", ListMerge::ByKey("ip")),
    ("spec.topologySpreadConstraints", ListMerge::ByKey("topologyKey")),
    ("spec.schedulingGates", ListMerge::ByKey("name")),
    ("spec.resourceClaims", ListMerge::ByKey("name")),
    ("containers.env", ListMerge::ByKey("name")),
    ("containers.ports", ListMerge::ByKey("containerPort")),
    ("containers.volumeMounts", ListMerge::ByKey("mountPath")),
    ("containers.volumeDevices", ListMerge::ByKey("devicePath")),
    ("initContainers.env", ListMerge::ByKey("name")),
    ("initContainers.ports", ListMerge::ByKey("containerPort")),
    ("initContainers.volumeMounts", ListMerge::ByKey("mountPath")),
    ("initContainers.volumeDevices", ListMerge::ByKey("devicePath")),
    ("spec.ports", ListMerge::ByKey("port")),
    ("spec.podCIDRs", ListMerge::Set),
    ("status.conditions", ListMerge::ByKey("type")),
    ("status.addresses", ListMerge::ByKey("type")),
    ("status.podIPs", ListMerge::ByKey("ip")),
    ("status.hostIPs", ListMerge::ByKey("ip")),
    ("secrets", ListMerge::ByKey("name")),
];

fn list_merge(path: &[&str]) -> ListMerge {
    let full = path.join(".");
    LISTS
        .iter()
        .find(|(end, _)| full == *end || (end.contains('.') && full.ends_with(&format!(".{end}"))))
        .map_or(ListMerge::Atomic, |(_, how)| *how)
}

/// `current` after the patch.
pub(crate) fn merge_strategically(current: &Value, patch: &Value) -> Value {
    merged(Some(current), patch, &mut Vec::new())
}

fn merged<'p>(current: Option<&Value>, patch: &'p Value, path: &mut Vec<&'p str>) -> Value {
    match (current, patch) {
        (current, Value::Object(changes)) => {
            let empty = Map::new();
            let before = current.and_then(Value::as_object).unwrap_or(&empty);
            Value::Object(merged_map(before, changes, path))
        }
        (current, Value::Array(changes)) => {
            let before = current.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            Value::Array(merged_list(before, changes, path))
        }
        (_, scalar) => scalar.clone(),
    }
}

fn merged_map<'p>(
    before: &Map<String, Value>,
    patch: &'p Map<String, Value>,
    path: &mut Vec<&'p str>,
) -> Map<String, Value> {
    let mut result = match patch.get("$patch").and_then(Value::as_str) {
        Some("replace" | "delete") => Map::new(),
        _ => before.clone(),
    };
    if patch.get("$patch").and_then(Value::as_str) == Some("delete") {
        return result;
    }
    if let Some(keep) = patch.get("$retainKeys").and_then(Value::as_array) {
        result.retain(|key, _| keep.iter().any(|k| k.as_str() == Some(key)));
    }
    for (key, change) in patch {
        if let Some(field) = key.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = change.as_array().map_or(&[][..], Vec::as_slice);
            if let Some(Value::Array(items)) = result.get_mut(field) {
                items.retain(|i| !gone.contains(i));
            }
            continue;
        }
        if key.starts_with('$') {
            continue;
        }
        if change.is_null() {
            result.remove(key);
            continue;
        }
        path.push(key);
        let value = merged(result.get(key), change, path);
        path.pop();
        result.insert(key.clone(), value);
    }
    for (key, order) in patch {
        let Some(field) = key.strip_prefix("$setElementOrder/") else {
            continue;
        };
        let (Some(Value::Array(items)), Some(order)) = (result.get_mut(field), order.as_array()) else {
            continue;
        };
        path.push(field);
        let how = list_merge(path);
        path.pop();
        let former = before
            .get(field)
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        *items = ordered(std::mem::take(items), order, former, how);
    }
    result
}

fn merged_list<'p>(before: &[Value], patch: &'p [Value], path: &mut Vec<&'p str>) -> Vec<Value> {
    match list_merge(path) {
        ListMerge::Atomic => patch.iter().map(|item| merged(None, item, path)).collect(),
        ListMerge::Set => {
            let mut result = before.to_vec();
            for item in patch {
                if !result.contains(item) {
                    result.push(item.clone());
                }
            }
            ordered(result, patch, before, ListMerge::Set)
        }
        ListMerge::ByKey(key) => {
            let directive = |item: &Value| item.get("$patch").and_then(Value::as_str).map(str::to_owned);
            let replaces = patch.iter().any(|i| directive(i).as_deref() == Some("replace"));
            let mut result = if replaces { Vec::new() } else { before.to_vec() };
            for item in patch {
                let place = result.iter().position(|r| r.get(key) == item.get(key));
                match (directive(item).as_deref(), place) {
                    (Some("delete"), Some(i)) => {
                        result.remove(i);
                    }
                    (Some("delete"), None) | (Some("replace"), _) => {}
                    (_, Some(i)) => {
                        let value = merged(Some(&result[i]), item, path);
                        result[i] = value;
                    }
                    (_, None) => result.push(merged(None, item, path)),
                }
            }
            ordered(result, patch, before, ListMerge::ByKey(key))
        }
    }
}

/// The order of a merged list: the items of the patch in the order that the patch (or its `$setElementOrder`) gives,
/// the others as they were; where the two meet, the former order decides as far as it knows both, else the patch's
/// item goes first. This is `normalizeElementOrder` of the real implementation.
fn ordered(merged: Vec<Value>, order: &[Value], before: &[Value], how: ListMerge) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| match how {
        ListMerge::ByKey(key) => list.iter().position(|o| o.get(key) == item.get(key)),
        ListMerge::Set | ListMerge::Atomic => list.iter().position(|o| o == item),
    };
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    others.sort_by_key(|item| place(before, item));
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    let mut result = Vec::new();
    loop {
        let other_first = match (others.peek(), named.peek()) {
            (Some(other), Some(name)) => match (place(before, other), place(before, name)) {
                (Some(o), Some(n)) => o < n,
                _ => false,
            },
            (Some(_), None) => true,
            (None, _) => false,
        };
        match if other_first { others.next() } else { named.next() } {
            Some(item) => result.push(item),
            None => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::merge_strategically;

    #[rstest]
    #[case::containers_by_name(
        json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}}}}),
        json!({"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c", "image": "3"}]}}}}),
        json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c", "image": "3"}]}}}})
    )]
    #[case::new_items_go_first(
        json!({"spec": {"containers": [{"name": "a"}]}}),
        json!({"spec": {"containers": [{"name": "b"}]}}),
        json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}})
    )]
    #[case::delete_directive(
        json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}),
        json!({"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}),
        json!({"spec": {"containers": [{"name": "b"}]}})
    )]
    #[case::replace_map(
        json!({"metadata": {"labels": {"a": "1"}}}),
        json!({"metadata": {"labels": {"$patch": "replace", "b": "2"}}}),
        json!({"metadata": {"labels": {"b": "2"}}})
    )]
    #[case::null_removes(
        json!({"spec": {"containers": [{"name": "a", "image": "1", "tty": true}]}}),
        json!({"spec": {"containers": [{"name": "a", "tty": null}]}}),
        json!({"spec": {"containers": [{"name": "a", "image": "1"}]}})
    )]
    #[case::taints_are_atomic(
        json!({"spec": {"taints": [{"key": "a"}]}}),
        json!({"spec": {"taints": [{"key": "b"}]}}),
        json!({"spec": {"taints": [{"key": "b"}]}})
    )]
    #[case::finalizers_are_a_set(
        json!({"metadata": {"finalizers": ["a", "b"]}}),
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}}),
        json!({"metadata": {"finalizers": ["c", "b"]}})
    )]
    #[case::retain_keys(
        json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
        json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
        json!({"spec": {"strategy": {"type": "Recreate"}}})
    )]
    #[case::element_order(
        json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}),
        json!({"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}], "containers": [{"name": "c"}]}}),
        json!({"spec": {"containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}]}})
    )]
    fn merges(#[case] current: Value, #[case] patch: Value, #[case] expected: Value) {
        assert_eq!(merge_strategically(&current, &patch), expected);
    }
}
