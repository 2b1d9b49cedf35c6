//! Label and field selectors, in the text form of the query parameters.

use serde_json::Value;

use crate::registry::ResourceDef;
use crate::status::ApiError;
use crate::store::Stored;

/// What a list, a watch or a deletecollection selects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<LabelRequirement>,
    fields: Vec<FieldRequirement>,
}

#[derive(Clone, Debug)]
enum LabelRequirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    GreaterThan(String, i64),
    LessThan(String, i64),
}

#[derive(Clone, Debug)]
struct FieldRequirement {
    path: String,
    value: String,
    equal: bool,
}

impl Selector {
    pub(crate) fn parse(def: &ResourceDef, labels: Option<&str>, fields: Option<&str>) -> Result<Self, ApiError> {
        Ok(Self {
            labels: parse_labels(labels.unwrap_or_default()).map_err(ApiError::bad_request)?,
            fields: parse_fields(def, fields.unwrap_or_default())?,
        })
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.iter().all(|r| r.matches(object)) && self.fields.iter().all(|r| r.matches(object))
    }

    /// The name, when the selector asks for exactly one.
    pub(crate) fn single_name(&self) -> Option<&str> {
        self.fields
            .iter()
            .find(|f| f.equal && f.path == "metadata.name")
            .map(|f| f.value.as_str())
    }

    pub(crate) fn selects_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

impl LabelRequirement {
    fn matches(&self, object: &Stored) -> bool {
        let get = |key: &str| object.labels.iter().find(|(k, _)| &**k == key).map(|(_, v)| &**v);
        match self {
            Self::Exists(key) => get(key).is_some(),
            Self::Absent(key) => get(key).is_none(),
            Self::In(key, values) => get(key).is_some_and(|v| values.iter().any(|w| w == v)),
            Self::NotIn(key, values) => get(key).is_none_or(|v| values.iter().all(|w| w != v)),
            Self::GreaterThan(key, than) => get(key).and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v > *than),
            Self::LessThan(key, than) => get(key).and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v < *than),
        }
    }
}

impl FieldRequirement {
    fn matches(&self, object: &Stored) -> bool {
        let actual = match self.path.as_str() {
            "metadata.name" => object.key.name(),
            "metadata.namespace" => object.key.namespace().unwrap_or_default(),
            path => object.fields.iter().find(|(p, _)| &**p == path).map_or("", |(_, v)| v),
        };
        (actual == self.value) == self.equal
    }
}

/// The value of a selectable field as selectors compare it.
pub(crate) fn field_text(object: &Value, path: &str) -> String {
    // Two selectable fields of events are not called after their place in the object.
    let path = match path {
        "source" => "source.component",
        other => other,
    };
    let mut at = object;
    for part in path.split('.') {
        at = &at[part];
    }
    match at {
        Value::Null => default_text(path),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

fn default_text(path: &str) -> String {
    match path {
        "spec.unschedulable" | "spec.hostNetwork" => "false".into(),
        "status.replicas" | "status.successful" => "0".into(),
        _ => String::new(),
    }
}

fn parse_labels(text: &str) -> Result<Vec<LabelRequirement>, String> {
    split_outside_parens(text)
        .into_iter()
        .filter(|p| !p.is_empty())
        .map(parse_label)
        .collect()
}

fn split_outside_parens(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

fn parse_label(part: &str) -> Result<LabelRequirement, String> {
    if let Some(key) = part.strip_prefix('!') {
        return Ok(LabelRequirement::Absent(label_key(key)?));
    }
    for (word, negative) in [(" notin ", true), (" in ", false), (" notin(", true), (" in(", false)] {
        let Some((key, values)) = part.split_once(word) else {
            continue;
        };
        let values = values.trim().trim_start_matches('(').trim_end_matches(')');
        let values = values.split(',').map(|v| v.trim().to_owned()).collect();
        let key = label_key(key)?;
        return Ok(if negative {
            LabelRequirement::NotIn(key, values)
        } else {
            LabelRequirement::In(key, values)
        });
    }
    if let Some((key, value)) = part.split_once("!=") {
        return Ok(LabelRequirement::NotIn(label_key(key)?, vec![label_value(value)?]));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(LabelRequirement::In(label_key(key)?, vec![label_value(value)?]));
    }
    let number = |v: &str| {
        v.trim()
            .parse::<i64>()
            .map_err(|_| format!("unable to parse requirement: values[0][]: Invalid value: {v:?}"))
    };
    if let Some((key, value)) = part.split_once('>') {
        return Ok(LabelRequirement::GreaterThan(label_key(key)?, number(value)?));
    }
    if let Some((key, value)) = part.split_once('<') {
        return Ok(LabelRequirement::LessThan(label_key(key)?, number(value)?));
    }
    Ok(LabelRequirement::Exists(label_key(part)?))
}

fn label_key(text: &str) -> Result<String, String> {
    let key = text.trim();
    let ok = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let found = if key.is_empty() { "=" } else { key };
    if ok {
        Ok(key.to_owned())
    } else {
        Err(format!("found '{found}', expected: !, identifier, or 'end of string'"))
    }
}

fn label_value(text: &str) -> Result<String, String> {
    let value = text.trim();
    let ok = value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) && value.len() <= 63;
    if ok {
        Ok(value.to_owned())
    } else {
        Err(format!(
            "unable to parse requirement: values[0][]: Invalid value: {value:?}"
        ))
    }
}

fn parse_fields(def: &ResourceDef, text: &str) -> Result<Vec<FieldRequirement>, ApiError> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (path, value, equal) = if let Some((p, v)) = part.split_once("!=") {
            (p, v, false)
        } else if let Some((p, v)) = part.split_once("==").or_else(|| part.split_once('=')) {
            (p, v, true)
        } else {
            return Err(ApiError::bad_request(format!(
                "invalid field selector: {text:?}; can't understand '{part}'"
            )));
        };
        let known = path == "metadata.name"
            || (path == "metadata.namespace" && def.namespaced)
            || (path == "metadata.namespace" && def.is_custom())
            || def.selectable.iter().any(|s| s.trim_start_matches('.') == path);
        if !known {
            return Err(ApiError::bad_request(if def.is_custom() {
                format!("field label not supported: {path}")
            } else {
                format!("\"{path}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
            }));
        }
        all.push(FieldRequirement {
            path: path.to_owned(),
            value: unescape(value),
            equal,
        });
    }
    Ok(all)
}

/// Field selector values escape `\`, `,` and `=` with a backslash.
fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            other => out.push(other),
        }
    }
    out
}
