//! Discovery in both forms (per group, and aggregated), version and health.

use serde_json::{Value, json};

use crate::registry::{Registry, ResourceDef};
use crate::request::Query;
use crate::service::Reply;
use crate::state::bytes_of;

/// The version that the server reports: that of the API it imitates.
pub(crate) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "gitVersion": "v1.36.3-sandbox",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": "linux/amd64",
    })
}

pub(crate) fn health(path: &str, query: &Query) -> Reply {
    if query.has("verbose") {
        return Reply::text(format!("[+]ping ok\n{} check passed\n", path.trim_start_matches('/')));
    }
    Reply::text("ok")
}

const AGGREGATED_V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const AGGREGATED_BETA: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// Answers the discovery paths; `None` for all others.
pub(crate) fn serve(registry: &Registry, path: &str, accept: &str) -> Option<Reply> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').filter(|p| !p.is_empty()).collect();
    let offers: Vec<String> = accept.split(',').map(|o| o.replace(' ', "")).collect();
    let wants = |version: &str| {
        offers
            .iter()
            .any(|o| o.contains("as=APIGroupDiscoveryList") && o.split(';').any(|p| p == format!("v={version}")))
    };
    let aggregated = if wants("v2") {
        Some((AGGREGATED_V2, "v2"))
    } else if wants("v2beta1") {
        Some((AGGREGATED_BETA, "v2beta1"))
    } else {
        None
    };
    match (parts.as_slice(), aggregated) {
        ([root @ ("api" | "apis")], Some((content_type, version))) => {
            let body = bytes_of(&aggregate(registry, *root == "api", version));
            Some(Reply::Body {
                code: 200,
                content_type,
                body,
            })
        }
        ([], _) => Some(Reply::value(200, &root_paths(registry))),
        (["api"], None) => Some(Reply::value(
            200,
            &json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
        )),
        (["apis"], None) => {
            let groups: Vec<Value> = registry.groups().iter().map(|(g, v)| group(g, v, false)).collect();
            Some(Reply::value(
                200,
                &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}),
            ))
        }
        (["apis", name], _) => {
            let versions = registry.groups().remove(*name)?;
            Some(Reply::value(200, &group(name, &versions, true)))
        }
        (["api", version], _) => resources(registry, "", version),
        (["apis", name, version], _) => resources(registry, name, version),
        _ => None,
    }
}

fn root_paths(registry: &Registry) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".into(), "/apis".into()];
    for (group, versions) in registry.groups() {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|v| format!("/apis/{group}/{v}")));
    }
    paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    json!({"paths": paths})
}

fn group(name: &str, versions: &[String], alone: bool) -> Value {
    let entry = |v: &String| json!({"groupVersion": format!("{name}/{v}"), "version": v});
    let mut group = json!({
        "name": name,
        "versions": versions.iter().map(entry).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(entry),
    });
    if alone {
        group["kind"] = "APIGroup".into();
        group["apiVersion"] = "v1".into();
    }
    group
}

fn resources(registry: &Registry, group: &str, version: &str) -> Option<Reply> {
    let defs: Vec<_> = registry
        .all()
        .filter(|d| d.group == group && d.version == version)
        .collect();
    if defs.is_empty() {
        return None;
    }
    let mut list = Vec::new();
    for def in defs {
        let mut entry = json!({
            "name": def.plural,
            "singularName": def.singular,
            "namespaced": def.namespaced,
            "kind": def.kind,
            "verbs": def.verbs,
        });
        if !def.short_names.is_empty() {
            entry["shortNames"] = json!(def.short_names);
        }
        if !def.categories.is_empty() {
            entry["categories"] = json!(def.categories);
        }
        list.push(entry);
        for (name, kind) in subresources(def) {
            let mut entry = json!({
                "name": format!("{}/{name}", def.plural),
                "singularName": "",
                "namespaced": def.namespaced,
                "kind": kind.2,
                "verbs": ["get", "patch", "update"],
            });
            if name == "scale" {
                entry["group"] = kind.0.into();
                entry["version"] = kind.1.into();
            }
            list.push(entry);
        }
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let mut document = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": list});
    if !group.is_empty() {
        document["apiVersion"] = "v1".into();
    }
    Some(Reply::value(200, &document))
}

type GroupVersionKind<'a> = (&'a str, &'a str, &'a str);

fn subresources(def: &ResourceDef) -> Vec<(&'static str, GroupVersionKind<'_>)> {
    let mut all = Vec::new();
    if def.scale.is_some() {
        all.push(("scale", ("autoscaling", "v1", "Scale")));
    }
    if def.status_subresource {
        all.push(("status", (def.group.as_str(), def.version.as_str(), def.kind.as_str())));
    }
    if def.is_custom() {
        all.reverse();
    }
    all
}

fn aggregate(registry: &Registry, core: bool, api_version: &str) -> Value {
    let groups = if core {
        std::iter::once((String::new(), vec!["v1".to_owned()])).collect()
    } else {
        registry.groups()
    };
    let mut items = Vec::new();
    for (name, versions) in groups {
        let version_entry = |version: &String| {
            let defs = registry.all().filter(|d| d.group == name && d.version == *version);
            json!({"version": version, "freshness": "Current", "resources": defs.map(|d| aggregated(d)).collect::<Vec<_>>()})
        };
        let mut item = json!({
            "metadata": {},
            "versions": versions.iter().map(version_entry).collect::<Vec<_>>(),
        });
        if !name.is_empty() {
            item["metadata"]["name"] = name.clone().into();
        }
        items.push(item);
    }
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{api_version}"),
        "metadata": {},
        "items": items,
    })
}

fn aggregated(def: &ResourceDef) -> Value {
    let kind = |(group, version, kind): GroupVersionKind<'_>| json!({"group": group, "version": version, "kind": kind});
    let mut entry = json!({
        "resource": def.plural,
        "responseKind": kind((&def.group, &def.version, &def.kind)),
        "scope": if def.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": def.singular,
        "verbs": def.verbs,
    });
    if !def.short_names.is_empty() {
        entry["shortNames"] = json!(def.short_names);
    }
    if !def.categories.is_empty() {
        entry["categories"] = json!(def.categories);
    }
    let subresources: Vec<Value> = subresources(def)
        .into_iter()
        .map(|(name, gvk)| json!({"subresource": name, "responseKind": kind(gvk), "verbs": ["get", "patch", "update"]}))
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}
