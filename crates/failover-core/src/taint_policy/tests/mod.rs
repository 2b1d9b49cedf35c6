//! The engine, rule by rule.

mod answers;
mod bad_input;
mod clocks;
mod dismissal;
mod flapping;
mod forecast;
mod lost_record;
mod ownership;
mod policy_status;
mod restless;
mod stock_form;
mod switches;
mod windows;
mod world;

use std::collections::BTreeMap;

use api_types::names::annotation;
use api_types::taint_policy::{ClusterTaintPolicy, PolicyClusterState};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::*;
pub(super) use world::World;

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_225_600_000 + second * 1000).unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "specs are written in place")]
pub(super) fn policy(name: &str, created: i64, spec: Value) -> ClusterTaintPolicy {
    serde_json::from_value(json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "generation": 1, "creationTimestamp": at(created - 10_000)},
        "spec": spec
    }))
    .unwrap()
}

fn edit(world: &mut World, name: &str, spec: Value) {
    let policy = world
        .policies
        .iter_mut()
        .find(|p| p.metadata.name.as_deref() == Some(name))
        .unwrap();
    policy.spec = serde_json::from_value(spec).unwrap();
    policy.metadata.generation = policy.metadata.generation.map(|g| g + 1);
}

fn not_ready_spec(value: &str, effect: &str) -> Value {
    json!({
        "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
        "taintsToAdd": [{"key": "not-ready", "value": value, "effect": effect, "addOnMatchSeconds": 300, "removeOnMismatchSeconds": 180}]
    })
}

/// NoExecute after 300 s, away after 180 s.
fn not_ready(name: &str, created: i64) -> ClusterTaintPolicy {
    policy(name, created, not_ready_spec("", "NoExecute"))
}

fn stock(name: &str) -> ClusterTaintPolicy {
    policy(
        name,
        0,
        json!({
            "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
            "removeOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
            "taints": [{"key": "not-ready", "effect": "NoExecute"}]
        }),
    )
}

const TAINT: &str = "not-ready:NoExecute";

/// A world in which `not-ready` has put its taint at second 310.
fn tainted(policies: &[ClusterTaintPolicy]) -> World {
    let mut world = World::new(policies);
    world.condition("Ready", "True");
    world.look();
    world.now = at(10);
    world.condition("Ready", "False");
    world.look();
    world.until(310);
    assert_eq!(world.taints(), [TAINT]);
    world
}
