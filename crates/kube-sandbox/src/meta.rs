//! Object metadata: what clients may set, what the server sets, what may not change.

use serde_json::{Map, Value};

use crate::status::{ApiError, FieldError, FieldErrorKind};

/// A time as `metav1.Time` prints it: whole seconds, UTC.
pub(crate) fn time_text(now: jiff::Timestamp) -> String {
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// The metadata map, made when missing.
pub(crate) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    fn as_map(value: &mut Value) -> &mut Map<String, Value> {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        match value {
            Value::Object(map) => map,
            _ => unreachable!("made an object just before"),
        }
    }
    as_map(as_map(object).entry("metadata").or_insert(Value::Null))
}

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The finalizer of an owner whose dependents are to be let go before it goes.
pub(crate) const ORPHAN: &str = "orphan";
/// The finalizer of an owner whose dependents go before it does.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"]
        .as_array()
        .map(|f| f.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"]
        .get("deletionTimestamp")
        .is_some_and(|t| !t.is_null())
}

/// Checks the types of known metadata fields, drops unknown and empty ones, and drops `managedFields`.
pub(crate) fn normalize(object: &mut Value) -> Result<(), ApiError> {
    let meta = metadata(object);
    meta.remove("managedFields");
    meta.remove("selfLink");
    let typed: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta =
        serde_json::from_value(Value::Object(std::mem::take(meta)))
            .map_err(|why| ApiError::bad_request(format!("error decoding metadata: {why}")))?;
    if let Ok(Value::Object(mut clean)) = serde_json::to_value(typed) {
        for field in [
            "labels",
            "annotations",
            "finalizers",
            "ownerReferences",
            "name",
            "namespace",
            "generateName",
        ] {
            let empty = match clean.get(field) {
                Some(Value::Object(m)) => m.is_empty(),
                Some(Value::Array(a)) => a.is_empty(),
                Some(Value::String(s)) => s.is_empty(),
                _ => false,
            };
            if empty {
                clean.remove(field);
            }
        }
        *metadata(object) = clean;
    }
    Ok(())
}

/// What the kind demands of names and finalizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRules {
    /// DNS subdomains; finalizers with a domain.
    BuiltIn,
    /// DNS subdomains; any qualified finalizer.
    Custom,
    /// DNS labels.
    Namespace,
    /// Any path segment.
    Rbac,
}

/// Refusals about names, labels and references.
pub(crate) fn validate(object: &Value, rules: NameRules) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let meta = &object["metadata"];
    let name = name(object);
    if name.is_empty() {
        errors.push(FieldError::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else if rules != NameRules::Rbac {
        if rules == NameRules::Namespace && name.contains('.') {
            errors.push(FieldError::invalid(
                "metadata.name",
                name.into(),
                "must not contain dots",
            ));
        } else if rules == NameRules::Namespace && !is_dns_label(name) {
            errors.push(FieldError::invalid("metadata.name", name.into(), DNS_LABEL));
        } else if name.len() > 253 {
            errors.push(FieldError::invalid(
                "metadata.name",
                name.into(),
                "must be no more than 253 characters",
            ));
        } else if !is_dns_subdomain(name) {
            errors.push(FieldError::invalid("metadata.name", name.into(), DNS_SUBDOMAIN));
        }
    }
    for (key, value) in meta["labels"].as_object().into_iter().flatten() {
        if !is_qualified_name(key) {
            errors.push(FieldError::invalid(
                "metadata.labels",
                key.clone().into(),
                QUALIFIED_NAME,
            ));
        }
        let value = value.as_str().unwrap_or_default();
        if value.len() > 63 {
            errors.push(FieldError::invalid(
                "metadata.labels",
                value.into(),
                "must be no more than 63 bytes",
            ));
        } else if !is_label_value(value) {
            errors.push(FieldError::invalid("metadata.labels", value.into(), LABEL_VALUE));
        }
    }
    for (key, _) in meta["annotations"].as_object().into_iter().flatten() {
        if !is_qualified_name(&key.to_lowercase()) {
            errors.push(FieldError::invalid(
                "metadata.annotations",
                key.clone().into(),
                QUALIFIED_NAME,
            ));
        }
    }
    for (i, finalizer) in finalizers(object).into_iter().enumerate() {
        let standard = matches!(finalizer, "kubernetes" | ORPHAN | FOREGROUND);
        if !is_qualified_name(finalizer) {
            errors.push(FieldError::invalid(
                "metadata.finalizers",
                finalizer.into(),
                QUALIFIED_NAME,
            ));
        } else if rules != NameRules::Custom && !standard && !finalizer.contains('/') {
            errors.push(FieldError::invalid(
                &format!("metadata.finalizers[{i}]"),
                finalizer.into(),
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
    let owners = meta["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    for owner in owners {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                let what = if field == "apiVersion" {
                    "version must not be empty"
                } else {
                    "must not be empty"
                };
                errors.push(FieldError::invalid(
                    &format!("metadata.ownerReferences.{field}"),
                    "".into(),
                    what,
                ));
            }
        }
    }
    let controllers: Vec<&Value> = owners.iter().filter(|o| o["controller"] == Value::Bool(true)).collect();
    if let [first, second, ..] = controllers.as_slice() {
        let text = |owner: &Value, field: &str| owner[field].as_str().unwrap_or_default().to_owned();
        errors.push(FieldError::invalid(
            "metadata.ownerReferences",
            meta["ownerReferences"].clone(),
            format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {}/{} and {}/{}",
                text(first, "kind"),
                text(first, "name"),
                text(second, "kind"),
                text(second, "name")
            ),
        ));
    }
    errors
}

/// Takes over what an update leaves out, and refuses changes of what is fixed.
pub(crate) fn validate_update(object: &mut Value, old: &Value) -> Vec<FieldError> {
    let old_meta = old["metadata"].clone();
    let meta = metadata(object);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "name",
        "namespace",
    ] {
        if meta.get(field).is_none_or(Value::is_null)
            && let Some(value) = old_meta.get(field)
        {
            meta.insert(field.to_owned(), value.clone());
        }
    }
    // The time of creation that a client sends is not looked at.
    if let Some(created) = old_meta.get("creationTimestamp") {
        meta.insert("creationTimestamp".to_owned(), created.clone());
    }
    let mut errors = Vec::new();
    for field in [
        "name",
        "namespace",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let (new, before) = (
            meta.get(field).unwrap_or(&Value::Null),
            old_meta.get(field).unwrap_or(&Value::Null),
        );
        if new != before {
            errors.push(FieldError::invalid(
                &format!("metadata.{field}"),
                new.clone(),
                "field is immutable",
            ));
        }
    }
    if is_deleting(old) {
        let before = finalizers(old);
        let added: Vec<&str> = finalizers(object).into_iter().filter(|f| !before.contains(f)).collect();
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|f| format!("{f:?}")).collect();
            errors.push(FieldError::new(
                FieldErrorKind::Forbidden,
                "metadata.finalizers",
                None,
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    list.join(", ")
                ),
            ));
        }
    }
    errors
}

const DNS_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn is_dns_label(name: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let edge = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = name.as_bytes();
    !bytes.is_empty()
        && bytes.len() <= 63
        && bytes.iter().all(|b| inner(*b))
        && bytes.first().is_some_and(|b| edge(*b))
        && bytes.last().is_some_and(|b| edge(*b))
}

fn is_dns_subdomain(name: &str) -> bool {
    let part = |p: &str| {
        let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let bytes = p.as_bytes();
        bytes
            .iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
            && edge(bytes.first())
            && edge(bytes.last())
    };
    !name.is_empty() && name.len() <= 253 && name.split('.').all(part)
}

fn is_label_value(value: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && edge(value.chars().next())
        && edge(value.chars().last())
}

fn is_qualified_name(name: &str) -> bool {
    let (prefix, name) = match name.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, name),
    };
    prefix.is_none_or(is_dns_subdomain) && !name.is_empty() && name.len() <= 63 && is_label_value(name)
}
