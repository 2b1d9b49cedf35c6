//! What is written to a member for an object, as a pure function of what is wanted and what is there.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use api_types::names::{annotation, label};
use controller_kit::ObjectKey;
use serde_json::Value;

use crate::interpreter::{InterpretError, Interpreter};
use crate::json::{self, pointer_key, set, text_map};
use crate::members::work_of_value;

/// What to do about one object.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// It is not there.
    Create(Value),
    /// It is there and not as wanted.
    Replace(Value),
    /// It is there and as wanted.
    Leave,
    /// The member has such an object that is not ours to change.
    Conflict(String),
}

/// Why an object is written although nothing of what is wanted differs from what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A new version of the Work: what it no longer says must go, and the object alone does not show it.
    NewVersion,
    /// The member's object is not what we wrote last.
    Drifted,
    /// Only differences count.
    Differences,
}

/// What to do about the object of `work`.
///
/// # Errors
/// When one of the two cannot be read by the rule of their kind.
pub fn step(
    work: &ObjectKey,
    desired: &Value,
    observed: Option<&Value>,
    look: Look,
    interpreter: &dyn Interpreter,
) -> Result<Step, InterpretError> {
    let Some(observed) = observed else {
        return Ok(Step::Create(desired.clone()));
    };
    if serves_as_it_is(desired, observed) {
        return Ok(Step::Leave);
    }
    if let Some(conflict) = conflict(work, desired, observed) {
        return Ok(Step::Conflict(conflict));
    }
    let mut wanted = desired.clone();
    keep_metadata(&mut wanted, observed);
    interpreter.retain(&mut wanted, observed)?;
    if look == Look::Differences && contains(observed, &wanted) {
        return Ok(Step::Leave);
    }
    Ok(Step::Replace(wanted))
}

/// A namespace that the member has already is all that is needed there: it is no conflict, and stays the member's own,
/// or the end of ours would be the end of all that is in it.
fn serves_as_it_is(desired: &Value, observed: &Value) -> bool {
    crate::interpreter::gvk(desired) == ("v1", "Namespace") && !is_managed(observed)
}

/// An object that Karmada did not make is taken over only by an owner's word; one of another Work never is.
fn conflict(work: &ObjectKey, desired: &Value, observed: &Value) -> Option<String> {
    let what = format!("{} {}", json::text(desired, "/kind"), crate::objects::key_of(desired));
    if !is_managed(observed) {
        let word = format!("/metadata/annotations/{}", pointer_key(annotation::CONFLICT_RESOLUTION));
        let overwrite = json::text(desired, &word) == "overwrite";
        return (!overwrite).then(|| {
            format!("{what} is in the member already and was not made by Karmada; conflictResolution is Abort")
        });
    }
    let other = work_of_value(observed).filter(|other| other != work)?;
    Some(format!("{what} is in the member already and comes from Work {other}"))
}

/// Whether Karmada made the object.
#[must_use]
pub fn is_managed(observed: &Value) -> bool {
    json::text(observed, &format!("/metadata/labels/{}", pointer_key(label::MANAGED))) == "true"
}

/// Version, finalizers, owners, and the labels and annotations that the member added are the member's.
fn keep_metadata(wanted: &mut Value, observed: &Value) {
    for field in ["resourceVersion", "finalizers", "ownerReferences"] {
        if let Some(value) = observed.pointer(&format!("/metadata/{field}")) {
            set(wanted, &["metadata", field], value.clone());
        }
    }
    for (field, list) in [
        ("labels", annotation::MANAGED_LABELS),
        ("annotations", annotation::MANAGED_ANNOTATIONS),
    ] {
        let pointer = format!("/metadata/{field}");
        let ours = json::text(observed, &format!("/metadata/annotations/{}", pointer_key(list)));
        let ours: BTreeSet<&str> = ours.split(',').collect();
        let mut merged = text_map(observed, &pointer);
        merged.retain(|key, _| !ours.contains(key.as_str()));
        merged.extend(text_map(wanted, &pointer));
        set(wanted, &["metadata", field], json::from_text_map(&merged));
    }
}

/// Whether all of `wanted` is in `observed`: the API server fills in what is not said. What holds free text keys is
/// compared whole, because there nothing is filled in.
fn contains(observed: &Value, wanted: &Value) -> bool {
    const WHOLE: [&str; 3] = ["data", "binaryData", "stringData"];
    let (Some(observed), Some(wanted)) = (observed.as_object(), wanted.as_object()) else {
        return false;
    };
    let empty = |value: Option<&Value>| {
        value.is_none_or(|value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty))
    };
    let whole = |field: &&str| {
        let (there, asked) = (observed.get(*field), wanted.get(*field));
        there == asked || (empty(there) && empty(asked))
    };
    // The API server turns stringData into data: it never shows the former.
    let data = wanted.contains_key("stringData") || WHOLE.iter().all(whole);
    data && wanted
        .iter()
        .filter(|(key, _)| !WHOLE.contains(&key.as_str()))
        .all(|(key, value)| within(observed.get(key), value))
}

fn within(observed: Option<&Value>, wanted: &Value) -> bool {
    match (observed, wanted) {
        (None, wanted) => is_nothing(wanted),
        (Some(Value::Object(observed)), Value::Object(wanted)) => {
            wanted.iter().all(|(key, value)| within(observed.get(key), value))
        }
        (Some(Value::Array(observed)), Value::Array(wanted)) => {
            observed.len() == wanted.len()
                && observed
                    .iter()
                    .zip(wanted)
                    .all(|(there, asked)| within(Some(there), asked))
        }
        (Some(observed), wanted) => observed == wanted || (is_nothing(observed) && is_nothing(wanted)),
    }
}

/// What the API server may leave out when it stores it.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(is_nothing),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
    }
}

/// What an object looked like. Kept instead of the object, which may be a mebibyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

/// Of what the member's own controllers do not touch: by it a change from outside is noticed.
#[must_use]
pub fn fingerprint(object: &Value) -> Fingerprint {
    let mut hasher = DefaultHasher::new();
    let fields = object.as_object().into_iter().flatten();
    for (field, value) in fields.filter(|(field, _)| !["metadata", "status"].contains(&field.as_str())) {
        field.hash(&mut hasher);
        value.hash(&mut hasher);
    }
    Fingerprint(hasher.finish())
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::interpreter::Native;

    fn work() -> ObjectKey {
        ObjectKey::namespaced("karmada-es-m1", "web-x")
    }

    fn object(metadata: Value, spec: Value) -> Value {
        let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec});
        json::set(&mut object, &["metadata", "name"], json!("web"));
        object
    }

    fn managed(extra: Value) -> Value {
        let mut metadata = json!({"labels": {"karmada.io/managed": "true"},
            "annotations": {"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": "web-x"}});
        for field in ["labels", "annotations"] {
            for (key, value) in extra.get(field).and_then(Value::as_object).into_iter().flatten() {
                metadata[field][key] = value.clone();
            }
        }
        if let Some(version) = extra.get("resourceVersion") {
            metadata["resourceVersion"] = version.clone();
            metadata["finalizers"] = json!(["member/x"]);
        }
        metadata
    }

    #[test]
    fn what_is_missing_is_created() {
        let desired = object(managed(json!({})), json!({"replicas": 1}));
        assert_eq!(
            step(&work(), &desired, None, Look::Differences, &Native).unwrap(),
            Step::Create(desired)
        );
    }

    #[test]
    fn defaults_of_the_member_are_no_difference() {
        let desired = object(
            managed(json!({})),
            json!({"replicas": 1, "template": {"spec": {"containers": [{"name": "c", "resources": {}}]}}}),
        );
        let observed = object(
            managed(json!({"resourceVersion": "5", "labels": {"member": "own"}})),
            json!({"replicas": 1, "revisionHistoryLimit": 10, "template": {"spec": {"containers": [{"name": "c", "imagePullPolicy": "Always"}]}}}),
        );
        assert_eq!(
            step(&work(), &desired, Some(&observed), Look::Differences, &Native).unwrap(),
            Step::Leave
        );
        let Step::Replace(written) = step(&work(), &desired, Some(&observed), Look::NewVersion, &Native).unwrap()
        else {
            panic!("a new version is written")
        };
        assert_eq!(written["metadata"]["resourceVersion"], "5");
        assert_eq!(written["metadata"]["finalizers"], json!(["member/x"]));
        assert_eq!(written["metadata"]["labels"]["member"], "own");
    }

    #[rstest]
    #[case::changed(json!({"replicas": 2}))]
    #[case::more_containers(json!({"replicas": 1, "template": {"containers": [{}, {}]}}))]
    fn differences_are_written(#[case] there: Value) {
        let desired = object(
            managed(json!({})),
            json!({"replicas": 1, "template": {"containers": [{}]}}),
        );
        let observed = object(managed(json!({"resourceVersion": "5"})), there);
        assert!(matches!(
            step(&work(), &desired, Some(&observed), Look::Differences, &Native).unwrap(),
            Step::Replace(_)
        ));
    }

    #[test]
    fn a_key_added_to_data_is_a_difference() {
        let config = |data: Value, version: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": managed(version), "data": data});
        let (desired, observed) = (
            config(json!({"a": "1"}), json!({})),
            config(json!({"a": "1", "b": "2"}), json!({"resourceVersion": "1"})),
        );
        assert!(matches!(
            step(&work(), &desired, Some(&observed), Look::Differences, &Native).unwrap(),
            Step::Replace(_)
        ));
    }

    #[test]
    fn labels_taken_away_from_the_template_go_and_those_of_the_member_stay() {
        let desired = object(managed(json!({"labels": {"new": "1"}})), json!({}));
        let observed = object(
            managed(json!({"resourceVersion": "1", "labels": {"old": "1", "member": "1"},
                "annotations": {"resourcetemplate.karmada.io/managed-labels": "karmada.io/managed,old",
                    "resourcetemplate.karmada.io/managed-annotations": "resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/managed-annotations"}})),
            json!({}),
        );
        let Step::Replace(written) = step(&work(), &desired, Some(&observed), Look::Differences, &Native).unwrap()
        else {
            panic!("labels differ")
        };
        assert_eq!(
            written["metadata"]["labels"],
            json!({"karmada.io/managed": "true", "member": "1", "new": "1"})
        );
        assert_eq!(
            written["metadata"]["annotations"],
            json!({"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": "web-x"})
        );
    }

    #[test]
    fn a_namespace_of_the_members_own_serves_as_it_is() {
        let namespace = |metadata: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        let (desired, observed) = (
            namespace(managed(json!({}))),
            namespace(json!({"name": "shop", "resourceVersion": "1"})),
        );
        assert_eq!(
            step(&work(), &desired, Some(&observed), Look::NewVersion, &Native).unwrap(),
            Step::Leave
        );
    }

    #[rstest]
    #[case::foreign("abort", json!({}), true)]
    #[case::foreign_but_overwritten("overwrite", json!({}), false)]
    #[case::of_another_work("overwrite", json!({"labels": {"karmada.io/managed": "true"}, "annotations": {"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": "other"}}), true)]
    fn conflicts(#[case] resolution: &str, #[case] there: Value, #[case] wanted: bool) {
        let desired = object(
            managed(json!({"annotations": {"work.karmada.io/conflict-resolution": resolution}})),
            json!({}),
        );
        let observed = object(there, json!({}));
        let step = step(&work(), &desired, Some(&observed), Look::Differences, &Native).unwrap();
        assert_eq!(matches!(step, Step::Conflict(_)), wanted, "{step:?}");
    }
}
