//! `config.karmada.io/v1alpha1` ResourceInterpreterCustomization: what Lua scripts say about a kind.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Rules in Lua for one kind.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "config.karmada.io",
    version = "v1alpha1",
    kind = "ResourceInterpreterCustomization",
    plural = "resourceinterpretercustomizations",
    singular = "resourceinterpretercustomization",
    shortname = "ric",
    category = "karmada-io",
    derive = "PartialEq",
    printcolumn = r#"{"name":"TARGET-API-VERSION","type":"string","jsonPath":".spec.target.apiVersion"}"#,
    printcolumn = r#"{"name":"TARGET-KIND","type":"string","jsonPath":".spec.target.kind"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct ResourceInterpreterCustomizationSpec {
    /// The kind.
    pub target: CustomizationTarget,
    /// The scripts.
    pub customizations: CustomizationRules,
}

/// The kind that scripts speak of.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomizationTarget {
    /// API version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
}

/// One script for each operation.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomizationRules {
    /// `Retain(desiredObj, observedObj)`: what of the member's object is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<LuaRule>,
    /// `GetReplicas(desiredObj)`: replicas and what one needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_resource: Option<LuaRule>,
    /// `GetComponents(desiredObj)`: the parts of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_resource: Option<LuaRule>,
    /// `ReviseReplica(desiredObj, desiredReplica)`: the object with other replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_revision: Option<LuaRule>,
    /// `ReflectStatus(observedObj)`: the part of the status that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_reflection: Option<LuaRule>,
    /// `AggregateStatus(desiredObj, statusItems)`: the template with its members' status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_aggregation: Option<LuaRule>,
    /// `InterpretHealth(observedObj)`: whether the object works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_interpretation: Option<LuaRule>,
    /// `GetDependencies(desiredObj)`: what the object needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency_interpretation: Option<LuaRule>,
}

/// A Lua script.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LuaRule {
    /// The script.
    #[schemars(length(min = 1, max = 65536))]
    pub lua_script: String,
}
