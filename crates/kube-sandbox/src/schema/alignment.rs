//! Items of a list of type `map` belong together by their keys, wherever they stand: transition rules on items compare
//! with the former item of the same keys, and do not apply to new items. The evaluator compares by position, so that
//! for it such items are put at the same positions.

use std::collections::BTreeMap;

use serde_json::Value;

/// Object and former object with their map lists in one order.
pub(super) struct Aligned {
    pub object: Value,
    pub old: Value,
    /// For each list, by its path: where the items stand in the object as it was sent.
    places: BTreeMap<String, Vec<usize>>,
}

/// `None` where there are no map lists.
pub(super) fn align(schema: &Value, object: &Value, old: &Value) -> Option<Aligned> {
    let mut aligned = Aligned {
        object: object.clone(),
        old: old.clone(),
        places: BTreeMap::new(),
    };
    walk(schema, &mut aligned.object, &mut aligned.old, "", &mut aligned.places);
    (!aligned.places.is_empty()).then_some(aligned)
}

impl Aligned {
    /// The path as the sent object has it; `None` for a path that leads into no item of a map list.
    pub(super) fn original(&self, path: &str) -> Option<String> {
        let (mut here, mut sent, mut inside) = (String::new(), String::new(), false);
        for part in path.split_inclusive(['[', ']']) {
            match part.strip_suffix(']').and_then(|index| index.parse::<usize>().ok()) {
                Some(index) => {
                    let list = here.trim_end_matches('[');
                    let place = self.places.get(list).and_then(|places| places.get(index));
                    inside |= place.is_some();
                    sent.push_str(&format!("{}]", place.unwrap_or(&index)));
                }
                None => sent.push_str(part),
            }
            here.push_str(part);
        }
        inside.then_some(sent)
    }
}

fn walk(schema: &Value, new: &mut Value, old: &mut Value, path: &str, places: &mut BTreeMap<String, Vec<usize>>) {
    match (&mut *new, &mut *old) {
        (Value::Object(fields), Value::Object(former)) => {
            for (name, value) in fields {
                let inner = schema["properties"]
                    .get(name)
                    .or_else(|| schema.get("additionalProperties"));
                if let (Some(inner), Some(before)) = (inner, former.get_mut(name)) {
                    walk(inner, value, before, &super::child_path(path, name), places);
                }
            }
        }
        (Value::Array(items), Value::Array(former)) if schema["x-kubernetes-list-type"] == "map" => {
            let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let same = |a: &Value, b: &Value| keys.iter().all(|key| a.get(*key) == b.get(*key));
            let (mut first, mut last) = (Vec::new(), Vec::new());
            for (place, item) in std::mem::take(items).into_iter().enumerate() {
                match former.iter().find(|before| same(before, &item)) {
                    Some(before) => first.push((place, item, before.clone())),
                    None => last.push((place, item)),
                }
            }
            let mut order = Vec::new();
            let mut matched = Vec::new();
            for (index, (place, mut item, mut before)) in first.into_iter().enumerate() {
                walk(
                    &schema["items"],
                    &mut item,
                    &mut before,
                    &format!("{path}[{index}]"),
                    places,
                );
                order.push(place);
                items.push(item);
                matched.push(before);
            }
            *former = matched;
            for (place, item) in last {
                order.push(place);
                items.push(item);
            }
            places.insert(path.to_owned(), order);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::align;

    #[test]
    fn items_of_the_same_keys_stand_at_the_same_place_and_new_ones_have_no_counterpart() {
        let schema =
            json!({"properties": {"parts": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}}});
        let new = json!({"parts": [{"name": "new"}, {"name": "b"}, {"name": "a"}]});
        let old = json!({"parts": [{"name": "a", "was": 1}, {"name": "gone"}, {"name": "b", "was": 2}]});
        let aligned = align(&schema, &new, &old).unwrap();
        assert_eq!(
            aligned.object,
            json!({"parts": [{"name": "b"}, {"name": "a"}, {"name": "new"}]})
        );
        assert_eq!(
            aligned.old,
            json!({"parts": [{"name": "b", "was": 2}, {"name": "a", "was": 1}]})
        );
        assert_eq!(aligned.original("parts[0].size").as_deref(), Some("parts[1].size"));
        assert_eq!(aligned.original("parts[2]").as_deref(), Some("parts[0]"));
        assert_eq!(aligned.original("parts"), None);
    }
}
