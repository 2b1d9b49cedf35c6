//! Fields that the schema does not know, and what was most likely meant.

use failover_core::lint::{Code, Finding, nearest};
use serde_json::{Map, Value};

/// Fields by the names that Karmada's design documents misprint, and what they are called.
const MISPRINTS: [(&str, &str); 4] = [
    ("pureMode", "purgeMode"),
    ("failoverBehavior", "failover"),
    ("createTimestamp", "creationTimestamp"),
    ("ActionEvictionHistory", "activeEvictionHistory"),
];

/// Fields of ObjectMeta. The schemas of custom resources do not list them.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The unknown fields of `object`, whose CRD has this `schema`.
pub(super) fn unknown(object: &Value, schema: &Value) -> Vec<Finding> {
    let mut search = Search {
        root: schema,
        found: Vec::new(),
    };
    let Some(fields) = object.as_object() else {
        return search.found;
    };
    for (name, value) in fields {
        match name.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => search.metadata(value),
            _ => search.field(fields, schema, "", name, value),
        }
    }
    search.found
}

struct Search<'a> {
    root: &'a Value,
    found: Vec<Finding>,
}

impl Search<'_> {
    fn metadata(&mut self, metadata: &Value) {
        for name in metadata.as_object().into_iter().flat_map(|fields| fields.keys()) {
            if !METADATA.contains(&name.as_str()) {
                let fix = match nearest(name, METADATA) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => "labels and annotations belong under metadata.labels and metadata.annotations".to_owned(),
                };
                self.tell(&format!("metadata.{name}"), name, fix);
            }
        }
    }

    fn look(&mut self, value: &Value, schema: &Value, path: &str) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.field(fields, schema, path, name, value);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look(item, &schema["items"], &format!("{path}[{index}]"));
                }
            }
            _ => {}
        }
    }

    fn field(&mut self, beside: &Map<String, Value>, schema: &Value, path: &str, name: &str, value: &Value) {
        let child = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        };
        if let Some(known) = schema["properties"].get(name) {
            self.look(value, known, &child);
        } else if let Some(any) = schema.get("additionalProperties") {
            self.look(value, any, &child);
        } else if schema["properties"].is_object() && schema["x-kubernetes-preserve-unknown-fields"] != true {
            let fix = self.meant(beside, schema, name);
            self.tell(&child, name, fix);
        }
    }

    /// What was most likely meant: a misprint that is known, a name nearly the same that is not written beside it, or
    /// the very name at another place.
    fn meant(&self, beside: &Map<String, Value>, schema: &Value, name: &str) -> String {
        let known: Vec<&str> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        let misprint = MISPRINTS
            .iter()
            .find(|(printed, meant)| *printed == name && known.contains(meant));
        let near = nearest(name, known.iter().copied().filter(|known| !beside.contains_key(*known)));
        if let Some(meant) = misprint.map(|(_, meant)| *meant).or(near) {
            return format!("did you mean {meant}?");
        }
        let mut elsewhere = Vec::new();
        places_of(self.root, name, "", &mut elsewhere);
        match &elsewhere[..] {
            [] => format!("take it away; known here are {}", known.join(", ")),
            places => format!("it belongs to {}", places.join(" or ")),
        }
    }

    fn tell(&mut self, path: &str, name: &str, fix: String) {
        self.found.push(Finding::new(
            Code::UnknownField,
            path,
            format!("there is no field {name}"),
            "the API server drops it, or refuses the object if the client asks for strictness, as kubectl does",
            fix,
        ));
    }
}

/// Where else in the spec a field of this name belongs.
fn places_of(schema: &Value, name: &str, path: &str, found: &mut Vec<String>) {
    let item = &schema["items"];
    if item.is_object() {
        places_of(item, name, &format!("{path}[]"), found);
    }
    for (field, child) in schema["properties"].as_object().into_iter().flatten() {
        let at = if path.is_empty() {
            field.clone()
        } else {
            format!("{path}.{field}")
        };
        if field == name && !path.is_empty() && !path.starts_with("status") {
            found.push(path.to_owned());
        }
        places_of(child, name, &at, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::kinds::{Kind, kind};
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    fn found(kind_name: &str, mut object: Value) -> Vec<(String, String)> {
        let group = if kind_name.ends_with("Binding") {
            "work.karmada.io/v1alpha2"
        } else {
            "policy.karmada.io/v1alpha1"
        };
        object["apiVersion"] = json!(group);
        object["kind"] = json!(kind_name);
        let Kind::Ours(crd) = kind(&object) else {
            panic!("{kind_name} is ours")
        };
        let schema = json!(crd.spec.versions[0].schema)["openAPIV3Schema"].clone();
        unknown(&object, &schema)
            .into_iter()
            .map(|finding| (finding.field, finding.fix))
            .collect()
    }

    #[rstest]
    #[case("PropagationPolicy", json!({"spec": {"failover": {"cluster": {"pureMode": "Never"}}}}), "spec.failover.cluster.pureMode", "did you mean purgeMode?")]
    #[case("ClusterPropagationPolicy", json!({"spec": {"failover": {"application": {"pureMode": "Never"}}}}), "spec.failover.application.pureMode", "did you mean purgeMode?")]
    #[case("ResourceBinding", json!({"spec": {"failoverBehavior": {}}}), "spec.failoverBehavior", "did you mean failover?")]
    #[case("ResourceBinding", json!({"spec": {"ActionEvictionHistory": []}}), "spec.ActionEvictionHistory", "did you mean activeEvictionHistory?")]
    #[case("ClusterResourceBinding", json!({"spec": {"gracefulEvictionTasks": [{"createTimestamp": "x"}]}}), "spec.gracefulEvictionTasks[0].createTimestamp", "did you mean creationTimestamp?")]
    #[case("PropagationPolicy", json!({"spec": {"failover": {"application": {"decisionConditions": {"healthyState": "Healthy"}}}}}),
        "spec.failover.application.decisionConditions.healthyState", "it belongs to spec.failover.application.preConditions")]
    #[case("PropagationPolicy", json!({"metadata": {"lables": {}}}), "metadata.lables", "did you mean labels?")]
    #[case("PropagationPolicy", json!({"spce": {}}), "spce", "did you mean spec?")]
    fn what_was_meant_is_told(#[case] kind: &str, #[case] object: Value, #[case] field: &str, #[case] fix: &str) {
        assert_eq!(found(kind, object), [(field.to_owned(), fix.to_owned())]);
    }

    #[test]
    fn names_that_people_choose_are_no_fields() {
        let labels = json!({
            "metadata": {"labels": {"any": "x"}, "annotations": {"example.com/any": "y"}},
            "spec": {"placement": {"clusterAffinity": {"labelSelector": {"matchLabels": {"any": "x"}}}}},
        });
        assert_eq!(found("PropagationPolicy", labels), []);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z]{0,4}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let name = prop_oneof![
                "[a-z.\\[\\]]{0,4}",
                Just("spec".to_owned()),
                Just("metadata".to_owned()),
                Just("failover".to_owned()),
                Just("taintsToAdd".to_owned())
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(name, inner, 0..4)
                    .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_object_is_answered(object in value()) {
            let Kind::Ours(crd) = kind(&json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy"})) else {
                panic!("it is ours")
            };
            let schema = json!(crd.spec.versions[0].schema)["openAPIV3Schema"].clone();
            let names: usize = unknown(&object, &schema).len();
            prop_assert!(object.is_object() || names == 0);
        }
    }
}
