//! A control plane as a stock Karmada serves it: fields that stock does not know are pruned or refused.

use api_types::our_fields;
use kube_sandbox::Sandbox;
use serde_json::{Map, Value, json};

use super::forms::PURGE_MODES;

/// Serves Karmada's kinds with stock's fields, list types, effects and subresources; ours of `failover.karmada.io` stay.
///
/// # Panics
/// When a schema is not as expected.
pub fn serve_like_stock(plane: &Sandbox) {
    for crd in stocks_crds() {
        plane.apply_crd(crd).unwrap();
    }
}

/// The CustomResourceDefinitions of Karmada's kinds with stock's fields, list types, effects and subresources.
///
/// # Panics
/// When a schema is not as expected.
#[must_use]
pub fn stocks_crds() -> Vec<Value> {
    let mut crds = Vec::new();
    for crd in api_types::crds() {
        if crd.spec.group == "failover.karmada.io" {
            continue;
        }
        let kind = crd.spec.names.kind.clone();
        let mut crd = serde_json::to_value(crd).unwrap();
        let version = &mut crd["spec"]["versions"][0];
        without_rules(&mut version["schema"]["openAPIV3Schema"]);
        let schema = &mut version["schema"]["openAPIV3Schema"];
        for ours in our_fields::all().filter(|ours| ours.kind == kind) {
            remove(schema, ours.field);
        }
        let properties = &mut schema["properties"];
        match kind.as_str() {
            "Cluster" => {
                let taint = &mut properties["spec"]["properties"]["taints"]["items"]["properties"];
                taint["effect"]["enum"] = json!(["NoSchedule", "NoExecute"]);
            }
            "ClusterTaintPolicy" => {
                version.as_object_mut().unwrap().remove("subresources");
                version.as_object_mut().unwrap().remove("additionalPrinterColumns");
            }
            "PropagationPolicy" | "ClusterPropagationPolicy" | "ResourceBinding" | "ClusterResourceBinding" => {
                let failover = &mut properties["spec"]["properties"]["failover"]["properties"];
                for (part, modes) in PURGE_MODES {
                    failover[part]["properties"]["purgeMode"]["enum"] = json!(modes);
                }
            }
            _ => {}
        }
        crds.push(crd);
    }
    crds
}

/// Stock has no CEL rules, and its lists are atomic.
fn without_rules(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                ![
                    "x-kubernetes-validations",
                    "x-kubernetes-list-type",
                    "x-kubernetes-list-map-keys",
                ]
                .contains(&name.as_str())
            });
            fields.values_mut().for_each(without_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(without_rules),
        _ => {}
    }
}

/// Takes a field, as in `spec.taintsToAdd.key`, out of a schema, through lists.
fn remove(schema: &mut Value, field: &str) {
    let mut at = schema;
    let (parents, name) = field.rsplit_once('.').unwrap_or(("", field));
    for parent in parents.split('.').filter(|parent| !parent.is_empty()) {
        at = properties(at).get_mut(parent).unwrap();
    }
    assert!(properties(at).remove(name).is_some(), "{field}");
}

fn properties(schema: &mut Value) -> &mut Map<String, Value> {
    let schema = if schema["items"].is_object() {
        &mut schema["items"]
    } else {
        schema
    };
    schema["properties"].as_object_mut().unwrap()
}
