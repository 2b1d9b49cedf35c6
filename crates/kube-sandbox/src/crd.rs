//! CustomResourceDefinitions: checked and completed like the real server does, and turned into resource definitions.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::registry::{CUSTOM_VERBS, Column, Origin, Registry, ResourceDef, ScalePaths};
use crate::schema::Schema;
use crate::status::{FieldError, FieldErrorKind};

/// Fills defaults of names and versions.
pub(crate) fn apply_defaults(crd: &mut Value) {
    let kind = crd["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    let names = &mut crd["spec"]["names"];
    if names["singular"].as_str().unwrap_or_default().is_empty() {
        names["singular"] = kind.to_lowercase().into();
    }
    if names["listKind"].as_str().unwrap_or_default().is_empty() {
        names["listKind"] = format!("{kind}List").into();
    }
    if !crd["spec"]["conversion"].is_object() {
        crd["spec"]["conversion"] = json!({"strategy": "None"});
    }
}

/// What may not change once the CRD is served.
pub(crate) fn validate_update(crd: &Value, old: &Value) -> Vec<FieldError> {
    ["/spec/group", "/spec/scope", "/spec/names/kind", "/spec/names/plural"]
        .into_iter()
        .filter_map(|pointer| {
            let new = crd.pointer(pointer).unwrap_or(&Value::Null);
            let field = pointer.trim_start_matches('/').replace('/', ".");
            (Some(new) != old.pointer(pointer)).then(|| FieldError::invalid(&field, new.clone(), "field is immutable"))
        })
        .collect()
}

/// What is wrong with a CRD, as far as it matters for serving it.
pub(crate) fn validate(crd: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &crd["spec"];
    let (plural, group) = (text(&spec["names"]["plural"]), text(&spec["group"]));
    let expected = format!("{plural}.{group}");
    if crate::meta::name(crd) != expected {
        errors.push(FieldError::invalid(
            "metadata.name",
            crate::meta::name(crd).into(),
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    }
    match text(&spec["scope"]) {
        "Namespaced" | "Cluster" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => errors.push(FieldError::not_supported(
            "spec.scope",
            other.into(),
            &["Cluster".into(), "Namespaced".into()],
        )),
    }
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    if versions.iter().filter(|v| v["storage"] == Value::Bool(true)).count() != 1 {
        errors.push(FieldError::invalid(
            "spec.versions",
            spec["versions"].clone(),
            "must have exactly one version marked as storage version",
        ));
    }
    for (i, version) in versions.iter().enumerate() {
        // Where all versions have one schema, the real server's own form has it above them.
        let path = if versions.len() == 1 && version["schema"]["openAPIV3Schema"].is_object() {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("spec.versions[{i}].schema.openAPIV3Schema")
        };
        match version["schema"].get("openAPIV3Schema") {
            None | Some(Value::Null) => errors.push(FieldError::required(&path, "")),
            Some(schema) => {
                structural_errors(schema, &path, true, &mut errors);
                if let Err(problems) = Schema::compile(schema.clone(), false) {
                    errors.extend(problems.into_iter().map(|mut p| {
                        p.field = p.field.replace("spec.validation.openAPIV3Schema", &path);
                        p
                    }));
                }
            }
        }
    }
    errors
}

/// A structural schema names a type for every node that is not int-or-string or free.
fn structural_errors(schema: &Value, path: &str, root: bool, errors: &mut Vec<FieldError>) {
    let free = crate::schema::flag(schema, "x-kubernetes-int-or-string")
        || crate::schema::flag(schema, "x-kubernetes-preserve-unknown-fields");
    if text(&schema["type"]).is_empty() && (root || !free) {
        errors.push(FieldError::required(
            &format!("{path}.type"),
            if root {
                "must not be empty at the root"
            } else {
                "must not be empty for specified object fields"
            },
        ));
    }
    let types = ["array", "boolean", "integer", "number", "object", "string"];
    match text(&schema["type"]) {
        "array" if !schema["items"].is_object() => {
            errors.push(FieldError::required(&format!("{path}.items"), "must be specified"));
        }
        "" => {}
        other if !types.contains(&other) => errors.push(FieldError::not_supported(
            &format!("{path}.type"),
            other.into(),
            &types.map(Value::from),
        )),
        _ => {}
    }
    if schema["properties"].as_object().is_some_and(|p| !p.is_empty())
        && schema.get("additionalProperties").is_some_and(|a| !a.is_null())
    {
        errors.push(FieldError::new(
            FieldErrorKind::Forbidden,
            &format!("{path}.additionalProperties"),
            None,
            "additionalProperties and properties are mutual exclusive",
        ));
    }
    if schema["uniqueItems"] == Value::Bool(true) {
        errors.push(FieldError::new(
            FieldErrorKind::Forbidden,
            &format!("{path}.uniqueItems"),
            None,
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ));
    }
    for (name, child) in schema["properties"].as_object().into_iter().flatten() {
        structural_errors(child, &format!("{path}.properties[{name}]"), false, errors);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child @ Value::Object(_)) = schema.get(key) {
            structural_errors(child, &format!("{path}.{key}"), false, errors);
        }
    }
    if schema["x-kubernetes-list-type"] == "map"
        && schema["x-kubernetes-list-map-keys"]
            .as_array()
            .is_none_or(Vec::is_empty)
    {
        errors.push(FieldError::required(
            &format!("{path}.x-kubernetes-list-map-keys"),
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
}

/// The status of a CRD that is being served.
pub(crate) fn established_status(crd: &Value, now: &str) -> Value {
    let mut names = crd["spec"]["names"].clone();
    if names["categories"].is_null()
        && let Some(map) = names.as_object_mut()
    {
        map.remove("categories");
    }
    let mut stored: Vec<Value> = crd["status"]["storedVersions"].as_array().cloned().unwrap_or_default();
    if let Some(storage) = storage_version(crd)
        && !stored.iter().any(|v| v == storage)
    {
        stored.push(storage.into());
    }
    let conditions = match crd["status"]["conditions"].as_array() {
        Some(existing) if !existing.is_empty() => Value::Array(existing.clone()),
        _ => json!([
            {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found", "lastTransitionTime": now},
            {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "the initial names have been accepted", "lastTransitionTime": now},
        ]),
    };
    json!({"acceptedNames": names, "conditions": conditions, "storedVersions": stored})
}

/// What the real server notes when a CRD is deleted.
pub(crate) fn mark_terminating(crd: &mut Value, now: &str) {
    if let Some(conditions) = crd["status"]["conditions"].as_array_mut() {
        conditions.push(json!({
            "type": "Terminating",
            "status": "True",
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            "lastTransitionTime": now,
        }));
    }
}

/// Serves the versions of a (valid) CRD, in place of what it said before.
pub(crate) fn register(registry: &mut Registry, crd: &Value) {
    let spec = &crd["spec"];
    let (group, plural, kind) = (
        text(&spec["group"]),
        text(&spec["names"]["plural"]),
        text(&spec["names"]["kind"]),
    );
    registry.remove_resource(group, plural);
    let storage_api_version = format!("{group}/{}", storage_version(crd).unwrap_or_default());
    for version in spec["versions"].as_array().into_iter().flatten() {
        if version["served"] != Value::Bool(true) {
            continue;
        }
        let schema_value = &version["schema"]["openAPIV3Schema"];
        let keeps_all = spec["preserveUnknownFields"] == Value::Bool(true);
        let Ok(schema) = Schema::compile(schema_value.clone(), keeps_all) else {
            continue;
        };
        let subresources = &version["subresources"];
        registry.add(ResourceDef {
            group: group.to_owned(),
            version: text(&version["name"]).to_owned(),
            plural: plural.to_owned(),
            singular: text(&spec["names"]["singular"]).to_owned(),
            kind: kind.to_owned(),
            list_kind: text(&spec["names"]["listKind"]).to_owned(),
            short_names: texts(&spec["names"]["shortNames"]),
            categories: texts(&spec["names"]["categories"]),
            namespaced: spec["scope"] == "Namespaced",
            status_subresource: subresources.get("status").is_some_and(|s| !s.is_null()),
            scale: subresources.get("scale").filter(|s| s.is_object()).map(|s| ScalePaths {
                spec_replicas: text(&s["specReplicasPath"]).to_owned(),
                status_replicas: text(&s["statusReplicasPath"]).to_owned(),
                label_selector: s["labelSelectorPath"].as_str().map(str::to_owned),
            }),
            storage_api_version: storage_api_version.clone(),
            storage: Arc::from(format!("{group}/{plural}")),
            origin: Origin::Custom,
            schema: Some(Arc::new(schema)),
            columns: columns(&version["additionalPrinterColumns"]),
            selectable: version["selectableFields"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|f| f["jsonPath"].as_str())
                .map(str::to_owned)
                .collect(),
            verbs: CUSTOM_VERBS,
        });
    }
}

fn columns(declared: &Value) -> Vec<Column> {
    let column = |c: &Value| Column {
        name: text(&c["name"]).to_owned(),
        type_: text(&c["type"]).to_owned(),
        format: text(&c["format"]).to_owned(),
        description: match text(&c["description"]) {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                text(&c["jsonPath"])
            ),
            given => given.to_owned(),
        },
        priority: c["priority"].as_i64().unwrap_or(0),
        json_path: text(&c["jsonPath"]).to_owned(),
    };
    declared.as_array().into_iter().flatten().map(column).collect()
}

fn storage_version(crd: &Value) -> Option<&str> {
    crd["spec"]["versions"]
        .as_array()?
        .iter()
        .find(|v| v["storage"] == Value::Bool(true))?["name"]
        .as_str()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
