//! What is wanted of a binding: the template, its placement, the clusters that have it, and those that it leaves.

use std::collections::BTreeMap;

use k8s_openapi::api::core;
use k8s_openapi::api::core::v1::{NodeSelector, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::status::ResourceBindingStatus;
use crate::names::ClusterName;
use crate::placement::{Placement, ReplicaSchedulingType};
use crate::policy::{ConflictResolution, FailoverBehavior, PurgeMode, SuspendClusters};
use crate::schema;

/// Reasons and producers of graceful eviction tasks.
pub mod task {
    /// Reason: a taint that the workload does not tolerate.
    pub const TAINT_UNTOLERATED: &str = "TaintUntolerated";
    /// Reason: the application is unhealthy.
    pub const APPLICATION_FAILURE: &str = "ApplicationFailure";
    /// Producer: the evictor, for a taint.
    pub const TAINT_MANAGER: &str = "TaintManager";
    /// Producer: the evictor, for the failure of an application with a binding of a namespace. Stock's name.
    pub const APPLICATION_FAILOVER: &str = "resource-binding-application-failover-controller";
    /// Producer: the evictor, for the failure of an application with a binding of cluster scope. Stock's name.
    pub const CLUSTER_APPLICATION_FAILOVER: &str = "cluster-resource-binding-application-failover-controller";
    /// Producer: the evictor, for a workload that needs the attached object (ours).
    pub const DEPENDENCY_MIRROR: &str = "DependencyMirror";
}

/// Which clusters a template runs on. The same for both kinds of binding.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "work.karmada.io",
    version = "v1alpha2",
    kind = "ResourceBinding",
    plural = "resourcebindings",
    singular = "resourcebinding",
    shortname = "rb",
    category = "karmada-io",
    namespaced,
    status = "ResourceBindingStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"SCHEDULED","type":"string","jsonPath":".status.conditions[?(@.type==\"Scheduled\")].status"}"#,
    printcolumn = r#"{"name":"FULLYAPPLIED","type":"string","jsonPath":".status.conditions[?(@.type==\"FullyApplied\")].status"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"CLUSTERS","type":"string","priority":1,"jsonPath":".spec.clusters[*].name"}"#,
    printcolumn = r#"{"name":"LEAVING","type":"string","priority":1,"jsonPath":".spec.gracefulEvictionTasks[*].fromCluster"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ResourceBindingSpec {
    /// The template.
    pub resource: ObjectReference,
    /// Whether what the workload needs follows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagate_deps: Option<bool>,
    /// What one replica needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_requirements: Option<ReplicaRequirements>,
    /// Replicas of the template; 0 for what has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Parts of a workload with several pod templates; kept, not scheduled by us.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Component>,
    /// The scheduling result: cluster and replicas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
    /// Where the workload may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Copies on their way out, unique by `fromCluster`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub graceful_eviction_tasks: Vec<GracefulEvictionTask>,
    /// Bindings that need this one's object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_by: Vec<BindingSnapshot>,
    /// The scheduler that places the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
    /// Whether and how the workload moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// What to do when a member has such an object already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(default = "default_conflict_resolution")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// When a person asked for a fresh placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reschedule_triggered_at: Option<Time>,
    /// Holds back scheduling or changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<BindingSuspension>,
    /// Whether the objects stay in the members when the template goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// Order among bindings that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_priority: Option<SchedulePriority>,
    /// Clusters that the application left because it failed there, newest last; at most 32 (ours).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub active_eviction_history: Vec<EvictionHistoryItem>,
}

fn default_conflict_resolution() -> Option<ConflictResolution> {
    Some(ConflictResolution::Abort)
}

/// Names a template.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// API version, such as `apps/v1`.
    pub api_version: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
    /// Namespace; absent for cluster scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Resource version that the binding was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

/// What one replica needs.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaRequirements {
    /// Which nodes it may run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_claim: Option<NodeClaim>,
    /// Requested resources of one replica.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub resource_request: BTreeMap<String, Quantity>,
    /// Namespace of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Priority class of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
}

/// Which nodes a replica may run on.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaim {
    /// Node affinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::raw_object")]
    pub hard_node_affinity: Option<NodeSelector>,
    /// Node labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Tolerations of nodes' taints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
}

/// A part of a workload with several pod templates.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Name, at most 32 characters.
    #[schemars(length(max = 32))]
    pub name: String,
    /// Replicas.
    pub replicas: i32,
    /// What one replica needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_requirements: Option<ReplicaRequirements>,
}

/// A cluster of the scheduling result.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetCluster {
    /// Cluster name.
    pub name: String,
    /// Replicas there; 0 or absent for what has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicas: i32,
    /// Replicas of each component; kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<TargetComponent>,
}

/// Replicas of one component on a cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetComponent {
    /// Component name.
    pub name: String,
    /// Replicas.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicas: i32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_zero(count: &i32) -> bool {
    *count == 0
}

/// A copy on its way out of a cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("!(has(self.suppressDeletion) && has(self.gracePeriodSeconds))").message("gracePeriodSeconds and suppressDeletion contradict each other: give one"))]
#[serde(rename_all = "camelCase")]
pub struct GracefulEvictionTask {
    /// The cluster that is left.
    #[schemars(length(min = 1, max = 253))]
    pub from_cluster: String,
    /// What becomes of the copy. Absent means Gracefully.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge_mode: Option<PurgeMode>,
    /// Replicas that ran there; absent for what has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// `TaintUntolerated` or `ApplicationFailure`; one word of at most 32 characters.
    #[schemars(
        length(min = 1, max = 32),
        regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub reason: String,
    /// The cause in words, at most 1024 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// Who wrote the task.
    pub producer: String,
    /// After so many seconds the copy goes although the new one is not healthy. Absent: it waits until it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub grace_period_seconds: Option<i32>,
    /// true keeps the copy, false removes it at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppress_deletion: Option<bool>,
    /// Labels that the new copy gets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub preserved_label_state: BTreeMap<String, String>,
    /// When the task was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// The scheduling result before the eviction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters_before_failover: Vec<String>,
    /// true: the block of the cluster is its item in `spec.activeEvictionHistory`, and lifted when that is removed. Otherwise
    /// this task is the block (ours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_in_history: Option<bool>,
}

/// A binding that needs this one's object.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingSnapshot {
    /// Namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// Its scheduling result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
}

/// Holds back scheduling or changes.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingSuspension {
    /// Nothing goes to any member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching: Option<bool>,
    /// Nothing goes to these members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching_on_clusters: Option<SuspendClusters>,
    /// The scheduler leaves the binding alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<bool>,
}

/// Order among bindings that wait.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulePriority {
    /// Higher goes first. Default 0.
    #[serde(default)]
    pub priority: i32,
}

/// A cluster that the application left because it failed there.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvictionHistoryItem {
    /// The cluster.
    #[schemars(length(min = 1, max = 253))]
    pub cluster_name: String,
    /// When.
    pub creation_timestamp: Time,
}

impl From<&ObjectReference> for core::v1::ObjectReference {
    /// For an Event about the template.
    fn from(template: &ObjectReference) -> Self {
        Self {
            api_version: Some(template.api_version.clone()),
            kind: Some(template.kind.clone()),
            namespace: template.namespace.clone(),
            name: Some(template.name.clone()),
            uid: template.uid.clone(),
            ..Self::default()
        }
    }
}

impl ResourceBindingSpec {
    /// Whether the template has replicas to divide: replicas, requirements or components are given.
    #[must_use]
    pub fn is_workload(&self) -> bool {
        self.replicas.unwrap_or(0) > 0 || self.replica_requirements.is_some() || !self.components.is_empty()
    }

    /// The replicas that the cluster of a task gets when its copy comes back: those that ran there by the task. Of a
    /// workload whose task does not say, what the result lacks where replicas are divided, and all of them otherwise:
    /// a copy that runs is not scaled to nothing by silence.
    #[must_use]
    pub fn replicas_of(&self, task: &GracefulEvictionTask) -> i32 {
        if let Some(replicas) = task.replicas {
            return replicas;
        }
        let wanted = self.replicas.unwrap_or(0).max(0);
        let divided = self
            .placement
            .as_ref()
            .is_some_and(|placement| placement.scheduling_type() == ReplicaSchedulingType::Divided);
        if !divided {
            return wanted;
        }
        let placed = self.clusters.iter().map(|target| target.replicas.max(0));
        placed.fold(wanted, i32::saturating_sub).max(0)
    }

    /// The entry of the scheduling result for `cluster`.
    #[must_use]
    pub fn target(&self, cluster: &ClusterName) -> Option<&TargetCluster> {
        self.clusters.iter().find(|target| target.name == cluster.as_str())
    }

    /// The task by which the workload leaves `cluster`.
    #[must_use]
    pub fn task(&self, cluster: &ClusterName) -> Option<&GracefulEvictionTask> {
        self.graceful_eviction_tasks
            .iter()
            .find(|task| task.from_cluster == cluster.as_str())
    }
}

impl GracefulEvictionTask {
    /// The purge mode with old spellings and absence resolved.
    #[must_use]
    pub fn effective_purge_mode(&self) -> PurgeMode {
        self.purge_mode
            .as_ref()
            .map_or(PurgeMode::Gracefully, PurgeMode::effective)
    }

    /// Whether the task is itself the block of its cluster for the application that failed there.
    ///
    /// A stock controller wrote it, or `blockInHistory` is lost: whoever does not know `spec.activeEvictionHistory` (the CRDs
    /// of a stock Karmada prune it, and its controllers drop it when they write the whole object) drops that field with it.
    /// So a history that nobody could keep is never taken for a block that a person lifted.
    #[must_use]
    pub fn is_itself_the_block(&self) -> bool {
        self.reason == task::APPLICATION_FAILURE && self.block_in_history != Some(true)
    }

    /// Whether both are the same task, whatever the API server kept of `blockInHistory`.
    #[must_use]
    pub fn is_as_written(&self, written: &Self) -> bool {
        let comparable = |task: &Self| Self {
            block_in_history: None,
            ..task.clone()
        };
        comparable(self) == comparable(written)
    }
}
