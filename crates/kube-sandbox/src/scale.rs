//! The scale subresource.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::jsonpath;
use crate::patch::Patch;
use crate::registry::{ResourceDef, ScalePaths};
use crate::request::{Incoming, ResourceRequest, Verb, decode};
use crate::service::Reply;
use crate::state::{State, render_value};
use crate::status::{ApiError, FieldError};
use crate::store::Stored;
use crate::write::{Half, UnknownFields, WriteOptions};

pub(crate) fn serve(
    state: &mut State,
    def: &Arc<ResourceDef>,
    resource: &ResourceRequest,
    request: &Incoming,
    now: jiff::Timestamp,
) -> Result<Reply, ApiError> {
    let Some(paths) = &def.scale else {
        return Err(ApiError::no_such_path());
    };
    let namespace = resource.target.object_namespace(def);
    let name = resource.target.name.as_deref().unwrap_or_default();
    let current = state.current(def, namespace, name)?;
    let scale = scale_of(def, paths, &current);
    let wanted = match resource.verb {
        Verb::Get => return Ok(Reply::value(200, &scale)),
        Verb::Update => decode(&request.body)?,
        Verb::Patch => {
            let content_type = request.content_type.split(';').next().unwrap_or_default().trim();
            let body = decode(&request.body)?;
            match content_type {
                "application/json-patch+json" => {
                    Patch::read(content_type, &request.body, def)?.apply_to(&scale, def)?
                }
                _ => Patch::Merge(body).apply_to(&scale, def)?,
            }
        }
        _ => return Err(ApiError::method_not_allowed()),
    };
    let given = crate::meta::name(&wanted);
    if given != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    let replicas = &wanted["spec"]["replicas"];
    if !def.is_custom() && replicas.as_i64().is_some_and(|n| n < 0) {
        let negative = FieldError::invalid("spec.replicas", replicas.clone(), "must be greater than or equal to 0");
        let mut error = ApiError::invalid(def, name, &[negative]);
        error.message = error
            .message
            .replacen(&format!("{}.{}", def.kind, def.group), "Scale.autoscaling", 1);
        if let Some(details) = &mut error.details {
            details["kind"] = "Scale".into();
            details["group"] = "autoscaling".into();
        }
        return Err(error);
    }
    let version = wanted["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if !version.is_empty() && version != current.rv.to_string() {
        return Err(ApiError::modified(def, name));
    }
    let mut object = render_value(def, &current);
    let replicas = wanted["spec"].get("replicas").cloned().unwrap_or_else(|| 0.into());
    jsonpath::set(&mut object, &paths.spec_replicas, replicas);
    let options = WriteOptions {
        now,
        dry_run: request.dry_run()?,
        unknown_fields: UnknownFields::Dropped,
        half: Half::Main,
    };
    let (made, _) = state.update(def, namespace, name, object, options)?;
    let stored = match &made {
        crate::state::Outcome::Stored(stored) => stored.clone(),
        crate::state::Outcome::Dry(_) => return Ok(Reply::value(200, &wanted)),
    };
    Ok(Reply::value(200, &scale_of(def, paths, &stored)))
}

fn scale_of(def: &ResourceDef, paths: &ScalePaths, stored: &Stored) -> Value {
    let object = stored.value();
    let number = |path: &str| jsonpath::first(&object, path).and_then(Value::as_i64).unwrap_or(0);
    let meta = &object["metadata"];
    let selector = match &paths.label_selector {
        Some(path) => jsonpath::first(&object, path)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        None if def.is_custom() => String::new(),
        None => selector_text(&object["spec"]["selector"]),
    };
    let mut status = json!({"replicas": number(&paths.status_replicas)});
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    let mut short = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta.get(field) {
            short[field] = value.clone();
        }
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": short,
        "spec": {"replicas": number(&paths.spec_replicas)},
        "status": status,
    })
}

fn selector_text(selector: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut parts: Vec<String> = labels.map(|(k, v)| format!("{k}={}", text(v))).collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = text(&expression["key"]);
        let mut values: Vec<String> = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        parts.push(match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key,
        });
    }
    parts.sort_unstable();
    parts.join(",")
}
