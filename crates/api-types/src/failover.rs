//! `failover.karmada.io/v1alpha1`, our own group: FailoverPause stops evictions, FailoverRecord remembers one move.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::schema;
use crate::work::{ObjectReference, TargetCluster};

open_enum! {
    /// What a pause covers.
    pub enum PauseScope {
        /// Every eviction.
        All = "All",
        /// Evictions from the clusters named.
        Clusters = "Clusters",
        /// Evictions of bindings in the namespaces named.
        Namespaces = "Namespaces",
    }
}

/// While it is active nothing in its scope leaves the eviction queue; everything is still computed and shown.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "failover.karmada.io",
    version = "v1alpha1",
    kind = "FailoverPause",
    plural = "failoverpauses",
    singular = "failoverpause",
    shortname = "fp",
    category = "karmada-io",
    status = "FailoverPauseStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"SCOPE","type":"string","jsonPath":".spec.scope"}"#,
    printcolumn = r#"{"name":"ACTIVE","type":"boolean","jsonPath":".status.active"}"#,
    printcolumn = r#"{"name":"HELD","type":"integer","jsonPath":".status.heldEntries","description":"Entries that this pause keeps in the queue, alone or together with others."}"#,
    printcolumn = r#"{"name":"UNTIL","type":"string","jsonPath":".spec.until"}"#,
    printcolumn = r#"{"name":"REASON","type":"string","jsonPath":".spec.reason"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[x_kube(
    validation = Rule::new("self.scope != 'Clusters' || (has(self.clusters) && size(self.clusters) > 0)").message("scope Clusters needs clusters"),
    validation = Rule::new("self.scope != 'Namespaces' || (has(self.namespaces) && size(self.namespaces) > 0)").message("scope Namespaces needs namespaces ('-' stands for bindings of cluster scope)"),
    validation = Rule::new("self.scope == 'Clusters' || !has(self.clusters)").message("clusters goes with scope Clusters"),
    validation = Rule::new("self.scope == 'Namespaces' || !has(self.namespaces)").message("namespaces goes with scope Namespaces")
)]
#[serde(rename_all = "camelCase")]
pub struct FailoverPauseSpec {
    /// All, Clusters or Namespaces.
    pub scope: PauseScope,
    /// Cluster names, with scope Clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub clusters: Vec<String>,
    /// Namespaces, with scope Namespaces; `-` stands for bindings of cluster scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub namespaces: Vec<String>,
    /// Why, for those who find evictions stopped.
    #[schemars(length(min = 1, max = 1024))]
    pub reason: String,
    /// When the pause ends by itself; absent: when it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// What a pause does at the moment. Written by the queue.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailoverPauseStatus {
    /// Whether it is in effect: neither over nor without meaning. It may be so without anything to hold back.
    #[serde(default)]
    pub active: bool,
    /// Entries that it keeps in the queue, alone or together with others: what another pause covers, or the regime stops,
    /// counts too.
    #[serde(default)]
    pub held_entries: i64,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// One move: why, from where, to where, and when each phase was passed.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "failover.karmada.io",
    version = "v1alpha1",
    kind = "FailoverRecord",
    plural = "failoverrecords",
    singular = "failoverrecord",
    shortname = "fr",
    category = "karmada-io",
    namespaced,
    status = "FailoverRecordStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"BINDING","type":"string","jsonPath":".spec.binding.name"}"#,
    printcolumn = r#"{"name":"FROM","type":"string","jsonPath":".spec.from"}"#,
    printcolumn = r#"{"name":"TO","type":"string","jsonPath":".status.to[*].name"}"#,
    printcolumn = r#"{"name":"CAUSE","type":"string","jsonPath":".spec.cause.type"}"#,
    printcolumn = r#"{"name":"OUTCOME","type":"string","jsonPath":".status.outcome"}"#,
    printcolumn = r#"{"name":"EVICTED","type":"date","jsonPath":".spec.evictedAt"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct FailoverRecordSpec {
    /// The binding that moved.
    pub binding: RecordedBinding,
    /// Its template.
    pub resource: ObjectReference,
    /// The cluster that was left.
    pub from: String,
    /// Replicas that ran there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Why.
    pub cause: RecordedCause,
    /// Which controller asked the queue for it: taintManager or applicationFailover.
    pub requested_by: String,
    /// When the binding became affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected_at: Option<Time>,
    /// When it was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Time>,
    /// When it entered the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<Time>,
    /// When the queue released it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Time>,
    /// When the task was written.
    pub evicted_at: Time,
    /// W3C traceparent of the trace of this move; absent where nobody traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 55))]
    pub traceparent: Option<String>,
}

/// Names the binding of a record.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedBinding {
    /// Namespace; absent for cluster scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

open_enum! {
    /// Kind of a cause.
    pub enum CauseType {
        /// A NoExecute or PreferNoExecute taint.
        Taint = "Taint",
        /// The Cluster is being deleted.
        Deletion = "Deletion",
        /// The application is unhealthy.
        ApplicationFailure = "ApplicationFailure",
    }
}

/// Why a workload moved.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedCause {
    /// Taint, Deletion or ApplicationFailure.
    #[serde(rename = "type")]
    pub type_: CauseType,
    /// Identity of the verdict: `key:effect@timeAdded`, `deletion@time` or `application@unhealthySince`.
    pub verdict: String,
    /// ClusterTaintPolicies behind the taint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// The conditions of the cluster that these policies ask for, as they were when the workload was evicted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<RecordedCondition>,
    /// The cause in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub message: String,
}

/// A condition of the cluster that was left.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedCondition {
    /// Type.
    #[serde(rename = "type")]
    pub type_: String,
    /// True, False or Unknown.
    pub status: String,
    /// Its reason in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

open_enum! {
    /// How a move ended.
    pub enum RecordOutcome {
        /// The new copy is healthy and the old one gone.
        Completed = "Completed",
        /// The cluster recovered first and the state before was restored.
        Restored = "Restored",
        /// The binding went away.
        BindingGone = "BindingGone",
        /// A person removed the task.
        RemovedByHand = "RemovedByHand",
    }
}

/// How a move went on.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailoverRecordStatus {
    /// Where the workload went.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<TargetCluster>,
    /// When a new placement was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Time>,
    /// When the new copy was healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy_at: Option<Time>,
    /// When the task was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleaned_at: Option<Time>,
    /// How it ended; absent while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RecordOutcome>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub reason: String,
}
