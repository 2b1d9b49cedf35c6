//! OpenAPI v3, as far as kubectl reads it: schemas for `explain`, and the paths by which it learns that the server
//! validates fields itself.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::builtin_types;
use crate::registry::{Registry, ResourceDef};
use crate::service::Reply;

/// Answers the paths below `/openapi/v3`; `None` for all others (there is no OpenAPI v2).
pub(crate) fn serve(registry: &Registry, path: &str) -> Option<Reply> {
    let rest = path.trim_end_matches('/').strip_prefix("/openapi/v3")?;
    let document = match rest.strip_prefix('/') {
        None => index(registry),
        Some(group_version) => document(registry, group_version)?,
    };
    Some(Reply::value(200, &document))
}

fn path_of(def: &ResourceDef) -> String {
    if def.group.is_empty() {
        format!("api/{}", def.version)
    } else {
        format!("apis/{}/{}", def.group, def.version)
    }
}

fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for def in registry.all() {
        let path = path_of(def);
        let url = format!("/openapi/v3/{path}?hash={:016X}", registry.revision);
        paths.entry(path).or_insert_with(|| json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

fn document(registry: &Registry, group_version: &str) -> Option<Value> {
    let defs: Vec<_> = registry.all().filter(|d| path_of(d) == group_version).collect();
    if defs.is_empty() {
        return None;
    }
    let settings = SchemaSettings::openapi3().with(|s| {
        s.definitions_path = "/components/schemas".into();
        s.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut schemas = Map::new();
    let mut marks = Vec::new();
    let mut paths = Map::new();
    for def in defs {
        let gvk = json!({"group": def.group, "version": def.version, "kind": def.kind});
        let name = schema_name(def);
        match &def.schema {
            Some(schema) => {
                let mut schema = schema.structural.clone();
                complete_root(&mut schema);
                schema["x-kubernetes-group-version-kind"] = json!([gvk]);
                schemas.insert(name.clone(), schema);
                // The metadata of custom resources refers to this definition.
                generator.subschema_for::<k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta>();
            }
            None => {
                if let Some(schema) = builtin_types::schema(&def.group, &def.kind, &mut generator) {
                    let reference = schema.get("$ref").and_then(Value::as_str).unwrap_or_default();
                    marks.push((reference.rsplit('/').next().unwrap_or_default().to_owned(), gvk.clone()));
                }
            }
        }
        paths.extend(paths_of(def, &gvk, &name));
    }
    for (key, schema) in generator.take_definitions(true) {
        schemas.entry(key).or_insert(schema);
    }
    for (name, gvk) in marks {
        if let Some(schema) = schemas.get_mut(&name) {
            schema["x-kubernetes-group-version-kind"] = json!([gvk]);
        }
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.3-sandbox"},
        "paths": paths,
        "components": {"schemas": schemas},
    }))
}

fn schema_name(def: &ResourceDef) -> String {
    let mut parts: Vec<&str> = def.group.split('.').rev().filter(|p| !p.is_empty()).collect();
    parts.extend([def.version.as_str(), def.kind.as_str()]);
    parts.join(".")
}

/// A CRD's schema does not say what every object has.
fn complete_root(schema: &mut Value) {
    let text = |what: &str| json!({"type": "string", "description": what});
    schema["properties"]["apiVersion"] =
        text("APIVersion defines the versioned schema of this representation of an object.");
    schema["properties"]["kind"] =
        text("Kind is a string value representing the REST resource this object represents.");
    schema["properties"]["metadata"] = json!({
        "description": "Standard object's metadata.",
        "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}],
        "default": {},
    });
}

fn paths_of(def: &ResourceDef, gvk: &Value, schema: &str) -> Vec<(String, Value)> {
    let root = if def.namespaced {
        format!("/{}/namespaces/{{namespace}}", path_of(def))
    } else {
        format!("/{}", path_of(def))
    };
    let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation"]
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
        .collect();
    let operation = |action: &str| {
        json!({
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
            "parameters": parameters,
            "responses": {"200": {"description": "OK", "content": {"application/json": {
                "schema": {"$ref": format!("#/components/schemas/{schema}")}
            }}}},
        })
    };
    vec![
        (format!("{root}/{}", def.plural), json!({"post": operation("post")})),
        (
            format!("{root}/{}/{{name}}", def.plural),
            json!({"get": operation("get"), "put": operation("put"), "patch": operation("patch")}),
        ),
    ]
}
