//! A control plane as a stock Karmada serves it: fields that stock does not know are pruned or refused.

use kube_sandbox::Sandbox;
use serde_json::{Value, json};

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
        let properties = &mut version["schema"]["openAPIV3Schema"]["properties"];
        match kind.as_str() {
            "Cluster" => {
                let taint = &mut properties["spec"]["properties"]["taints"]["items"]["properties"];
                taint["effect"]["enum"] = json!(["NoSchedule", "NoExecute"]);
            }
            "ClusterTaintPolicy" => {
                let spec = properties["spec"]["properties"].as_object_mut().unwrap();
                spec.retain(|field, _| {
                    ["targetClusters", "addOnConditions", "removeOnConditions", "taints"].contains(&field.as_str())
                });
                properties.as_object_mut().unwrap().remove("status");
                version.as_object_mut().unwrap().remove("subresources");
                version.as_object_mut().unwrap().remove("additionalPrinterColumns");
            }
            "PropagationPolicy" | "ClusterPropagationPolicy" => narrow_failover(&mut properties["spec"]["properties"]),
            "ResourceBinding" | "ClusterResourceBinding" => {
                let spec = &mut properties["spec"]["properties"];
                narrow_failover(spec);
                remove(spec, "activeEvictionHistory");
                remove(
                    &mut spec["gracefulEvictionTasks"]["items"]["properties"],
                    "blockInHistory",
                );
                let item = &mut properties["status"]["properties"]["aggregatedStatus"]["items"]["properties"];
                for field in ["settled", "creationTimestamp", "collectedAt"] {
                    remove(item, field);
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

fn narrow_failover(spec: &mut Value) {
    let failover = &mut spec["failover"]["properties"];
    let application = &mut failover["application"]["properties"];
    for field in ["preConditions", "blockPredecessorSeconds"] {
        remove(application, field);
    }
    let cluster = &mut failover["cluster"]["properties"];
    for field in ["tolerationSeconds", "gracePeriodSeconds"] {
        remove(cluster, field);
    }
    for (part, modes) in PURGE_MODES {
        failover[part]["properties"]["purgeMode"]["enum"] = json!(modes);
    }
}

fn remove(properties: &mut Value, field: &str) {
    assert!(properties.as_object_mut().unwrap().remove(field).is_some(), "{field}");
}
