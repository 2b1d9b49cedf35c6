//! What must differ between any two servers, brought into one form.
//!
//! - A uid becomes the name of its object, with a number where a name had several, so that the same uid stays the same.
//! - The version of an object becomes its rank among the versions of that object in the scenario: the values differ, the
//!   order must not. A list, a bookmark and a table have the version of the whole store, which other writers move on: of
//!   them remains the newest version of an object that they include, which also compares the order between objects.
//! - Times that the server sets keep their form only; ages, addresses, generated suffixes and continue tokens go.
//! - Whether a bookmark comes depends on the moment; only those that end the initial events come for sure, and stay.
//! - Several errors of one object come in the order of a Go map, which is none: the causes are sorted, and the message,
//!   which says the same once more, keeps its beginning.
//! - `managedFields` go, but for [`MANAGED_FIELDS_KEPT`].

use std::collections::{BTreeMap, BTreeSet};

use regex::{Captures, Regex};
use serde_json::{Map, Value};

/// An annotation with this name keeps the `managedFields` of an object in the comparison.
const MANAGED_FIELDS_KEPT: &str = "conformance/managed-fields";

/// Times that servers set.
const TIMES: [&str; 7] = [
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "startTime",
    "time",
    "buildDate",
];

/// What one server said in one scenario.
pub struct Normal {
    /// The versions of all objects, with the uid of the object.
    versions: BTreeMap<u64, String>,
    /// The uids of all objects, with what stands for them.
    uids: BTreeMap<String, String>,
    rules: Vec<(Regex, &'static str)>,
    uid: Regex,
}

/// Patterns in texts, and what stays of them.
const TEXTS: [(&str, &str); 13] = [
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"https?://127\.0\.0\.1:\d+", "SERVER"),
    (r"127\.0\.0\.1:\d+", "SERVER"),
    (r"\b10\.96\.\d+\.\d+\b", "ADDRESS"),
    (r"\bgen-[a-z0-9]{5}\b", "gen-SUFFIX"),
    (r"\(\d+\)$", "(N)"),
    (r"current: \d+", "current: N"),
    (r"(in record|in the precondition) \(\d+\)", "${1} (N)"),
    (r"Key: /[^/]+/", "Key: /STORE/"),
    (r#"(?i)(resource ?version"?: *)"?\d+"?"#, "${1}N"),
    (r"\b\d+(\.\d+)?m?s\b", "AGE"),
    (r" {2,}", "  "),
];

impl Normal {
    /// Looks through all answers of a scenario, in their order.
    ///
    /// # Errors
    /// A pattern of this module that is none.
    pub fn of(answers: &[Value]) -> Result<Self, regex::Error> {
        let mut versions = BTreeMap::new();
        let mut names = Vec::new();
        for answer in answers {
            collect(answer, &mut versions, &mut names);
        }
        let suffix = Regex::new(r"\bgen-[a-z0-9]{5}\b")?;
        let mut known: BTreeSet<&String> = BTreeSet::new();
        let mut uids = BTreeMap::new();
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for (uid, name) in &names {
            if known.insert(uid) {
                let name = suffix.replace_all(name, "gen-SUFFIX").into_owned();
                let count = counts.entry(name.clone()).or_default();
                *count += 1;
                uids.insert(
                    uid.clone(),
                    if *count == 1 { name } else { format!("{name} ({count})") },
                );
            }
        }
        Ok(Self {
            versions,
            uids,
            rules: TEXTS
                .into_iter()
                .map(|(pattern, form)| Regex::new(pattern).map(|regex| (regex, form)))
                .collect::<Result<_, _>>()?,
            uid: Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")?,
        })
    }

    /// The common form of the next answer.
    pub fn form(&self, answer: &Value) -> Value {
        self.value(answer, None)
    }

    fn value(&self, value: &Value, parent: Option<&Map<String, Value>>) -> Value {
        match value {
            Value::Object(fields) => {
                let mut result = Map::new();
                for (key, field) in fields {
                    if key == "managedFields" && fields.pointer_text(MANAGED_FIELDS_KEPT).is_none() {
                        continue;
                    }
                    result.insert(key.clone(), self.field(key, field, fields, parent));
                }
                in_order(&mut result);
                Value::Object(result)
            }
            Value::Array(items) => {
                let mut items: Vec<Value> = items.iter().map(|item| self.value(item, None)).collect();
                items.retain(|item| item["type"] != "BOOKMARK" || ends_initial_events(item));
                items.into()
            }
            Value::String(text) => self.text(text).into(),
            other => other.clone(),
        }
    }

    fn field(
        &self,
        key: &str,
        field: &Value,
        fields: &Map<String, Value>,
        parent: Option<&Map<String, Value>>,
    ) -> Value {
        match (key, field) {
            ("resourceVersion", Value::String(version)) => self.version(version, fields, parent),
            ("continue", Value::String(token)) if !token.is_empty() => "CONTINUE".into(),
            ("remainingItemCount", field) => field.clone(),
            (key, Value::String(time)) if TIMES.contains(&key) && !time.is_empty() => digits_gone(time).into(),
            ("metadata", field) => self.value(field, Some(fields)),
            _ => self.value(field, if key == "annotations" { None } else { Some(fields) }),
        }
    }

    fn version(&self, text: &str, fields: &Map<String, Value>, parent: Option<&Map<String, Value>>) -> Value {
        let Ok(version) = text.parse::<u64>() else {
            return text.into();
        };
        if is_unranked(parent) {
            return "VERSION".into();
        }
        if let Some(Value::String(uid)) = fields.get("uid") {
            return self.name_of(version, uid).into();
        }
        match self.versions.range(..=version).next_back() {
            Some((version, uid)) => format!("{} or later", self.name_of(*version, uid)).into(),
            None => "before all".into(),
        }
    }

    fn name_of(&self, version: u64, uid: &str) -> String {
        let rank = self.versions.range(..=version).filter(|(_, of)| *of == uid).count();
        format!("version {rank} of {}", self.uids.get(uid).map_or("?", String::as_str))
    }

    fn text(&self, text: &str) -> String {
        let mut text = self
            .uid
            .replace_all(text, |found: &Captures<'_>| match self.uids.get(&found[0]) {
                Some(name) => format!("uid of {name}"),
                None => "uid of something else".to_owned(),
            })
            .into_owned();
        for (pattern, form) in &self.rules {
            text = pattern.replace_all(&text, *form).into_owned();
        }
        text
    }
}

fn ends_initial_events(bookmark: &Value) -> bool {
    bookmark
        .pointer("/object/metadata/annotations/k8s.io~1initial-events-end")
        .is_some()
}

/// Sorts the causes of a refusal.
fn in_order(status: &mut Map<String, Value>) {
    let Some(Value::Array(causes)) = status.get_mut("details").and_then(|details| details.get_mut("causes")) else {
        return;
    };
    if causes.len() < 2 {
        return;
    }
    causes.sort_by_key(Value::to_string);
    if let Some(Value::String(message)) = status.get_mut("message")
        && let Some((begin, _)) = message.split_once(" is invalid: [")
    {
        *message = format!("{begin} is invalid: […]");
    }
}

trait PointerText {
    fn pointer_text(&self, annotation: &str) -> Option<&str>;
}

impl PointerText for Map<String, Value> {
    fn pointer_text(&self, annotation: &str) -> Option<&str> {
        self.get("annotations")?.get(annotation)?.as_str()
    }
}

fn digits_gone(time: &str) -> String {
    time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

/// Definitions are also written by the server's own controllers. In a list they do not say their kind.
fn is_unranked(object: Option<&Map<String, Value>>) -> bool {
    object.is_some_and(|o| match o.get("kind") {
        Some(kind) => kind == "CustomResourceDefinition",
        None => o.get("spec").is_some_and(|spec| spec.get("versions").is_some()),
    })
}

fn collect(value: &Value, versions: &mut BTreeMap<u64, String>, names: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Object(metadata)) = fields.get("metadata")
                && let Some(Value::String(uid)) = metadata.get("uid")
            {
                let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
                names.push((uid.clone(), name.to_owned()));
                if !is_unranked(Some(fields))
                    && let Some(version) = metadata.get("resourceVersion").and_then(Value::as_str)
                    && let Ok(version) = version.parse()
                {
                    versions.insert(version, uid.clone());
                }
            }
            fields.values().for_each(|field| collect(field, versions, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, versions, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Normal;

    fn forms(answers: &[Value]) -> Vec<Value> {
        let normal = Normal::of(answers).unwrap();
        answers.iter().map(|answer| normal.form(answer)).collect()
    }

    fn object(version: u64, uid: &str) -> Value {
        json!({"metadata": {"name": uid.len().to_string(), "uid": format!("{uid}-0000-4000-8000-000000000000"),
            "resourceVersion": version.to_string(), "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": []}})
    }

    #[test]
    fn versions_keep_their_order_and_uids_their_identity() {
        let list =
            |version: u64, item: Value| json!({"metadata": {"resourceVersion": version.to_string()}, "items": [item]});
        let one = [
            object(7, "aaaaaaaa"),
            object(9, "bbbbbbbb"),
            list(9, object(7, "aaaaaaaa")),
        ];
        let other = [
            object(70, "cccccccc"),
            object(71, "dddddddd"),
            list(99, object(70, "cccccccc")),
        ];
        assert_eq!(forms(&one), forms(&other));
        let swapped = [
            object(70, "cccccccc"),
            object(69, "dddddddd"),
            list(70, object(70, "cccccccc")),
        ];
        assert_ne!(forms(&one), forms(&swapped));
        let twice = [object(7, "aaaaaaaa"), object(9, "aaaaaaaa")];
        let backwards = [object(9, "aaaaaaaa"), object(7, "aaaaaaaa")];
        assert_ne!(forms(&twice), forms(&backwards));
        let stale = [
            object(70, "cccccccc"),
            object(71, "dddddddd"),
            list(70, object(70, "cccccccc")),
        ];
        assert_ne!(forms(&one), forms(&stale));
        let others = [
            object(7, "aaaaaaaa"),
            object(9, "aaaaaaaa"),
            list(9, object(7, "aaaaaaaa")),
        ];
        assert_ne!(forms(&one), forms(&others));
    }

    #[test]
    fn times_of_the_server_keep_their_form_and_those_of_clients_their_value() {
        let answer = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "renewTime": "2026-01-01T00:00:00.000000Z"});
        assert_eq!(
            forms(&[answer])[0],
            json!({"metadata": {"creationTimestamp": "0000-00-00T00:00:00Z"}, "renewTime": "2026-01-01T00:00:00.000000Z"})
        );
    }
}
