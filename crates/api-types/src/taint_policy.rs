//! `policy.karmada.io/v1alpha1` ClusterTaintPolicy: which cluster conditions, held for how long, put which taints on a
//! Cluster. A superset of the proposal's shape (`matchConditions`, `taintsToAdd`) and of stock's (`addOnConditions`,
//! `removeOnConditions`, `taints`).
#![allow(dead_code, reason = "the schema's derive copies a field that is not served")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::placement::{ClusterAffinity, SetOperator};
use crate::schema;
use crate::second_home;

open_enum! {
    /// Effect of a taint that a policy adds.
    pub enum TaintEffect {
        /// Nothing new is placed on the cluster.
        NoSchedule = "NoSchedule",
        /// The cluster gets a lower score (ours).
        PreferNoSchedule = "PreferNoSchedule",
        /// Workloads that do not tolerate the taint leave.
        NoExecute = "NoExecute",
        /// Workloads that opted in by `spec.failover.cluster` leave (ours).
        PreferNoExecute = "PreferNoExecute",
    }
}

/// Which conditions taint which clusters.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "policy.karmada.io",
    version = "v1alpha1",
    kind = "ClusterTaintPolicy",
    root = "ServedClusterTaintPolicy",
    plural = "clustertaintpolicies",
    singular = "clustertaintpolicy",
    shortname = "ctp",
    category = "karmada-io",
    status = "ClusterTaintPolicyStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"TARGETS","type":"integer","jsonPath":".status.targetClusters","description":"Clusters that the policy speaks of."}"#,
    printcolumn = r#"{"name":"MATCHING","type":"integer","jsonPath":".status.matching","description":"Targets whose conditions match now."}"#,
    printcolumn = r#"{"name":"TAINTED","type":"integer","jsonPath":".status.tainted","description":"Targets that carry a taint of this policy."}"#,
    printcolumn = r#"{"name":"PENDING","type":"integer","jsonPath":".status.pending","description":"Targets whose window runs."}"#,
    printcolumn = r#"{"name":"NEXT","type":"string","jsonPath":".status.nextChangeAt","description":"When the next taint is added or removed."}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"READY","type":"string","priority":1,"jsonPath":".status.conditions[?(@.type==\"Ready\")].reason","description":"Whether the policy does what it says, in a word."}"#
)]
#[x_kube(
    validation = Rule::new("!(has(self.targetCluster) && has(self.targetClusters))").message("targetCluster and targetClusters are two spellings of one field: give at most one"),
    validation = Rule::new("!((has(self.matchConditions) || has(self.taintsToAdd)) && (has(self.addOnConditions) || has(self.removeOnConditions) || has(self.taints)))").message("matchConditions/taintsToAdd and addOnConditions/removeOnConditions/taints are two forms of a policy: use one of them"),
    validation = Rule::new("(has(self.taintsToAdd) && size(self.taintsToAdd) > 0) || (has(self.taints) && size(self.taints) > 0)").message("a policy names at least one taint: give taintsToAdd (with windows) or taints (stock's form)")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTaintPolicySpec {
    /// The clusters that the policy speaks of; absent means every cluster (ours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cluster: Option<ClusterAffinity>,
    /// The same in stock's spelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_clusters: Option<ClusterAffinity>,
    /// Conditions that must hold together; an empty list always matches (ours). A cluster that lacks a condition type
    /// never matches, also not by NotIn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub match_conditions: Option<Vec<MatchCondition>>,
    /// Taints to add while the conditions match (ours).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into(), "effect".into()]))]
    #[schemars(length(max = 32))]
    pub taints_to_add: Vec<WindowedTaint>,
    /// Stock's form: the taints are added when these match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub add_on_conditions: Vec<MatchCondition>,
    /// Stock's form: the taints are removed when these match; with `addOnConditions` matching too, removal wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub remove_on_conditions: Vec<MatchCondition>,
    /// Stock's form: the taints, without windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into(), "effect".into()]))]
    #[schemars(length(max = 32))]
    pub taints: Vec<PlainTaint>,
    /// Evaluate and report, but add and remove nothing: tries a policy out. Default false (ours).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// Windows of the taints of stock's form. No field: they come from the policy's annotation
    /// ([`second_home::taint_policy`]).
    #[serde(skip)]
    #[schemars(skip)]
    pub windows: Option<Vec<StockWindow>>,
}

second_home::adopting_root! {
    /// A policy. Read, it has the windows of its annotation ([`second_home::taint_policy`]).
    ClusterTaintPolicy { spec: ClusterTaintPolicySpec, status: ClusterTaintPolicyStatus } served as
    ServedClusterTaintPolicy, second_home::taint_policy::adopt
}

/// One condition of a Cluster.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchCondition {
    /// Condition type on the Cluster, such as `Ready`.
    #[schemars(length(min = 1, max = 316))]
    pub condition_type: String,
    /// In or NotIn.
    pub operator: SetOperator,
    /// Values of the condition's status: True, False, Unknown.
    #[schemars(length(min = 1, max = 3))]
    pub status_values: Vec<ConditionStatus>,
}

open_enum! {
    /// Status of a condition.
    pub enum ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not.
        False = "False",
        /// Nobody knows.
        Unknown = "Unknown",
    }
}

/// A taint and the time that its conditions must hold, or not, before it is added or removed.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowedTaint {
    /// Key.
    #[schemars(schema_with = "schema::taint_key")]
    pub key: String,
    /// Value. Default empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::taint_value")]
    pub value: Option<String>,
    /// Effect.
    pub effect: TaintEffect,
    /// Seconds that the conditions must match before the taint is added. Default 300, at least 1.
    #[serde(default = "default_add_seconds")]
    #[schemars(range(min = 1))]
    pub add_on_match_seconds: i32,
    /// Seconds that the conditions must not match before the taint is removed. Default 180, at least 1.
    #[serde(default = "default_remove_seconds")]
    #[schemars(range(min = 1))]
    pub remove_on_mismatch_seconds: i32,
}

fn default_add_seconds() -> i32 {
    300
}
fn default_remove_seconds() -> i32 {
    180
}

/// A taint in stock's form.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlainTaint {
    /// Key.
    #[schemars(schema_with = "schema::taint_key")]
    pub key: String,
    /// Value. Default empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::taint_value")]
    pub value: Option<String>,
    /// Effect.
    pub effect: TaintEffect,
}

/// The windows of a taint of stock's form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StockWindow {
    /// Key of the taint.
    pub key: String,
    /// Effect of the taint.
    pub effect: TaintEffect,
    /// Seconds that the conditions must match before the taint is added. Default 300, at least 1.
    #[serde(default = "default_add_seconds")]
    pub add_on_match_seconds: i32,
    /// Seconds that the conditions must not match, or those that remove it match, before the taint is removed. Default
    /// 180, at least 1.
    #[serde(default = "default_remove_seconds")]
    pub remove_on_mismatch_seconds: i32,
}

/// What a policy does at the moment: a projection; the windows themselves live on the Clusters.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTaintPolicyStatus {
    /// The generation that this speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready`, `Conflicting`, `Suspended`.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::conditions::as_written"
    )]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Clusters that the policy speaks of.
    #[serde(default)]
    pub target_clusters: i32,
    /// Of them, those whose conditions match now.
    #[serde(default)]
    pub matching: i32,
    /// Of them, those that carry a taint of this policy.
    #[serde(default)]
    pub tainted: i32,
    /// Of them, those whose window runs.
    #[serde(default)]
    pub pending: i32,
    /// When the next of these windows ends and a taint is added or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_change_at: Option<Time>,
    /// Clusters that are not quiet, by name; at most 500.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[schemars(length(max = 500))]
    pub clusters: Vec<PolicyClusterStatus>,
    /// How many more clusters are not quiet than `clusters` names.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clusters_omitted: i32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_zero(count: &i32) -> bool {
    *count == 0
}

open_enum! {
    /// Where a cluster stands with a policy.
    pub enum PolicyClusterState {
        /// The conditions match and the window runs.
        PendingAdd = "PendingAdd",
        /// A taint of this policy stands.
        Tainted = "Tainted",
        /// The conditions no longer match and the removal window runs.
        PendingRemove = "PendingRemove",
        /// A person took the taint back.
        Dismissed = "Dismissed",
    }
}

/// One cluster under a policy.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyClusterStatus {
    /// Cluster name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Where it stands.
    pub state: PolicyClusterState,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// When the next window ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fires_at: Option<Time>,
    /// A sentence with the conditions behind it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub message: String,
}
