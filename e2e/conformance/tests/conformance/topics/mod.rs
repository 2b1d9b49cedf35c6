//! The table: one file for each subject.

mod apply;
mod builtin;
mod compaction;
mod custom;
mod definitions;
mod deletion;
mod kube_client;
mod kubectl;
mod lists;
mod objects;
mod patches;
mod refusals;
mod reviews;
mod shapes;
mod status_and_scale;
mod watches;
mod widget;

use e2e_conformance::{Operation, Scenario, get, kubectl, post};
use serde_json::json;

use crate::known;

/// All scenarios with their known differences: first those that do not disturb each other, then those that the others
/// would feel.
pub fn all() -> (Vec<Scenario>, Vec<Scenario>) {
    let alone = alone();
    let mut all = side_by_side();
    let count = all.len();
    all.extend(alone);
    let mut all = known::mark(all);
    let alone = all.split_off(count);
    (all, alone)
}

fn side_by_side() -> Vec<Scenario> {
    vec![
        objects::scenario(),
        refusals::scenario(),
        lists::scenario(),
        watches::scenario(),
        patches::scenario(),
        apply::scenario(),
        custom::scenario(),
        status_and_scale::scenario(),
        deletion::scenario(),
        definitions::scenario(),
        builtin::scenario(),
        shapes::scenario(),
        reviews::scenario(),
        kube_client::scenario(),
        kubectl::scenario(),
    ]
}

fn alone() -> Vec<Scenario> {
    vec![compaction::scenario()]
}

/// The namespace of a scenario.
pub fn namespace(name: &str) -> Option<Operation> {
    Some(post(
        "namespace",
        "/api/v1/namespaces",
        &json!({"metadata": {"name": name}}),
    ))
}

/// What all of them build on.
pub fn preparation() -> Scenario {
    let widgets = format!("{}/namespaces/default/widgets", widget::GROUP_VERSION);
    Scenario::new(
        "preparation",
        vec![
            post(
                "definition",
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                &widget::definition(),
            ),
            kubectl(
                "established",
                "wait --for=condition=Established crd/widgets.conformance.example.com --timeout=30s",
                "",
            ),
            get("served", &widgets).until(200),
            get("documented", format!("/openapi/v3{}", widget::GROUP_VERSION)).until(200),
        ],
    )
}

/// The path of config maps in the namespace of the scenario.
fn config_maps(tail: &str) -> String {
    format!("/api/v1/namespaces/%{{ns}}/configmaps{tail}")
}

/// A config map with one entry.
fn config_map(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": "value"}})
}
