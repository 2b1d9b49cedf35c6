//! What an object goes through before it is stored: kind and place checked, brought into form, validated.

use serde_json::Value;

use crate::registry::ResourceDef;
use crate::status::{ApiError, FieldError, FieldErrorKind};
use crate::write::{UnknownFields, WriteOptions};
use crate::{builtin_types, crd, defaults, meta, strategy};

/// Refuses bodies of another kind or version; fills both in where they are missing.
pub(crate) fn check_kind(def: &ResourceDef, mut object: Value) -> Result<Value, ApiError> {
    if !object.is_object() {
        return Err(ApiError::bad_request("the request body is not an object"));
    }
    let version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if kind.is_empty() && def.is_custom() {
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{object}'",
            def.kind
        )));
    }
    if !version.is_empty() && version != def.api_version() {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({})",
            def.api_version()
        )));
    }
    if !kind.is_empty() && kind != def.kind && def.is_custom() {
        let wrong = FieldError::invalid("kind", kind.clone().into(), format!("must be {}", def.kind));
        let mut error = ApiError::invalid(def, meta::name(&object), &[wrong]);
        error.message = error.message.replacen(&def.kind, &kind, 1);
        if let Some(details) = &mut error.details {
            details["kind"] = kind.into();
        }
        return Err(error);
    }
    if !kind.is_empty() && kind != def.kind {
        return Err(ApiError::bad_request(format!(
            "{kind} in version \"{}\" cannot be handled as a {}: converting ({}.{kind}) to ({}.{}): unknown conversion",
            def.version, def.kind, def.version, def.version, def.kind
        )));
    }
    object["apiVersion"] = def.api_version().into();
    object["kind"] = def.kind.clone().into();
    Ok(object)
}

pub(crate) fn match_namespace(object: &mut Value, namespace: Option<&str>) -> Result<(), ApiError> {
    let given = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let wanted = namespace.unwrap_or_default();
    if !given.is_empty() && given != wanted {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    meta::metadata(object).insert("namespace".into(), wanted.into());
    Ok(())
}

/// Brings an object into the form that is stored: typed for built-in kinds, pruned and defaulted for custom ones.
pub(crate) fn normalize(def: &ResourceDef, object: &mut Value) -> Result<(), ApiError> {
    meta::normalize(object)?;
    if let Some(schema) = &def.schema {
        schema.normalize(object);
    } else if !def.is_custom() {
        let secret_strings = if def.is("Secret") {
            object.get("stringData").cloned()
        } else {
            None
        };
        *object = builtin_types::normalize(def, std::mem::take(object))?;
        if let Some(Value::Object(strings)) = secret_strings {
            merge_string_data(object, strings);
        }
        defaults::apply_defaults(def, object);
    }
    Ok(())
}

/// `stringData` of a secret is written, but only `data` is kept.
fn merge_string_data(secret: &mut Value, strings: serde_json::Map<String, Value>) {
    if let Some(map) = secret.as_object_mut() {
        map.remove("stringData");
    }
    for (key, value) in strings {
        let bytes = k8s_openapi::ByteString(value.as_str().unwrap_or_default().as_bytes().to_vec());
        secret["data"][key] = serde_json::to_value(bytes).unwrap_or_default();
    }
}

pub(crate) fn validate(def: &ResourceDef, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let rules = match def.group.as_str() {
        _ if def.is_custom() => meta::NameRules::Custom,
        "rbac.authorization.k8s.io" => meta::NameRules::Rbac,
        _ if def.is("Namespace") => meta::NameRules::Namespace,
        _ => meta::NameRules::BuiltIn,
    };
    let mut errors = meta::validate(object, rules);
    match &def.schema {
        Some(schema) => errors.extend(schema.validate(object, old)),
        None if def.is("CustomResourceDefinition") => {
            let fixed = old.map(|old| crd::validate_update(object, old)).unwrap_or_default();
            errors.extend(if fixed.is_empty() { crd::validate(object) } else { fixed });
        }
        None => errors.extend(strategy::validate(def, object, old)),
    }
    if let Some(scale) = &def.scale
        && def.is_custom()
        && crate::jsonpath::first(object, &scale.spec_replicas)
            .and_then(Value::as_i64)
            .is_some_and(|n| n < 0)
    {
        let replicas = crate::jsonpath::first(object, &scale.spec_replicas)
            .cloned()
            .unwrap_or_default();
        errors.push(FieldError::new(
            FieldErrorKind::Invalid,
            &scale.spec_replicas,
            Some(replicas),
            "should be a non-negative integer",
        ));
    }
    errors
}

pub(crate) fn refuse_unknown(def: &ResourceDef, object: &Value, options: WriteOptions) -> Result<(), ApiError> {
    if options.unknown_fields == UnknownFields::Dropped {
        return Ok(());
    }
    let unknown = match &def.schema {
        Some(schema) => schema.unknown_fields(object),
        None if !def.is_custom() && def.kind != "Event" => {
            let typed = builtin_types::normalize(def, object.clone())?;
            crate::schema::removed_fields(object, &typed)
        }
        None => Vec::new(),
    };
    if unknown.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = unknown.iter().map(|f| format!("unknown field \"{f}\"")).collect();
    Err(ApiError::bad_request(format!(
        "{kind} in version \"{version}\" cannot be handled as a {kind}: strict decoding error: {}",
        list.join(", "),
        kind = def.kind,
        version = def.version,
    )))
}
