//! `work.karmada.io`: bindings (v1alpha2), which say on which clusters a template runs, and Works (v1alpha1), which
//! carry an object to one member.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelector, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use kube::{CustomResource, KubeSchema, Resource};
use serde::{Deserialize, Serialize};

use crate::names::{BindingKey, ClusterName};
use crate::open_enum::open_enum;
use crate::placement::Placement;
use crate::policy::{ConflictResolution, FailoverBehavior, PurgeMode, SuspendClusters};
use crate::schema;
use crate::two_kinds::two_kinds;

/// Condition types on a binding.
pub mod condition {
    /// Written by the scheduler.
    pub const SCHEDULED: &str = "Scheduled";
    /// Written by bindingStatus.
    pub const FULLY_APPLIED: &str = "FullyApplied";
    /// Written by the taint manager (ours): the most urgent entry of the eviction queue.
    pub const EVICTION_PENDING: &str = "EvictionPending";
    /// Written by gracefulEviction (ours): what each task waits for.
    pub const GRACEFUL_EVICTION: &str = "GracefulEviction";
}

/// Reasons and producers of graceful eviction tasks.
pub mod task {
    /// Reason: a taint that the workload does not tolerate.
    pub const TAINT_UNTOLERATED: &str = "TaintUntolerated";
    /// Reason: the application is unhealthy.
    pub const APPLICATION_FAILURE: &str = "ApplicationFailure";
    /// Producer: the evictor, for a taint.
    pub const TAINT_MANAGER: &str = "TaintManager";
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

/// What became of a binding.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceBindingStatus {
    /// The generation that the scheduler acted on last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_observed_generation: Option<i64>,
    /// The affinity group in use.
    #[serde(
        default,
        rename = "schedulerObservingAffinityName",
        skip_serializing_if = "Option::is_none"
    )]
    pub scheduler_observed_affinity_name: Option<String>,
    /// When a placement last succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_scheduled_time: Option<Time>,
    /// One writer per type: Scheduled scheduler, FullyApplied bindingStatus, EvictionPending taint manager,
    /// GracefulEviction gracefulEviction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Status per cluster, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["clusterName".into()]))]
    pub aggregated_status: Vec<AggregatedStatusItem>,
}

open_enum! {
    /// Whether a copy works.
    pub enum ResourceHealth {
        /// It does.
        Healthy = "Healthy",
        /// It does not.
        Unhealthy = "Unhealthy",
        /// Nobody knows.
        Unknown = "Unknown",
    }
}

/// Status of the copy on one cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AggregatedStatusItem {
    /// The cluster.
    #[schemars(length(min = 1, max = 253))]
    pub cluster_name: String,
    /// The reflected part of the object's status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::raw_object")]
    pub status: Option<serde_json::Value>,
    /// Whether the object was applied to the member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub applied: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_message: Option<String>,
    /// Whether the copy works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ResourceHealth>,
    /// Whether the copy was once healthy since it is there (ours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<bool>,
    /// When a status was first collected (ours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    /// When this status was read from the member (ours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected_at: Option<Time>,
}

/// Which of the two kinds of binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BindingKind {
    /// ResourceBinding: the template is namespaced.
    #[default]
    Namespaced,
    /// ClusterResourceBinding: the template is of cluster scope.
    Cluster,
}

impl BindingKind {
    /// Both kinds, in the order in which they are handled.
    pub const ALL: [Self; 2] = [Self::Namespaced, Self::Cluster];

    /// The label by which Works of such a binding are found.
    #[must_use]
    pub fn permanent_id_label(self) -> &'static str {
        match self {
            Self::Namespaced => crate::names::label::RESOURCE_BINDING_ID,
            Self::Cluster => crate::names::label::CLUSTER_RESOURCE_BINDING_ID,
        }
    }

    /// The finalizer that keeps such a binding until its Works are deleted.
    #[must_use]
    pub fn finalizer(self) -> &'static str {
        match self {
            Self::Namespaced => crate::names::finalizer::BINDING,
            Self::Cluster => crate::names::finalizer::CLUSTER_BINDING,
        }
    }
}

/// A ResourceBinding or ClusterResourceBinding: one type, so that no rule is written twice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// `apiVersion` and `kind`, where the server sent them.
    #[serde(flatten, default)]
    pub types: Option<kube::core::TypeMeta>,
    /// Metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// Which clusters the template runs on.
    pub spec: ResourceBindingSpec,
    /// What became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ResourceBindingStatus>,
}

impl Binding {
    /// An object to create.
    #[must_use]
    pub fn new(key: &BindingKey, spec: ResourceBindingSpec) -> Self {
        let kind = key.kind();
        Self {
            types: Some(kube::core::TypeMeta {
                api_version: Self::api_version(&kind).into_owned(),
                kind: Self::kind(&kind).into_owned(),
            }),
            metadata: ObjectMeta {
                namespace: key.namespace.clone(),
                name: Some(key.name.clone()),
                ..ObjectMeta::default()
            },
            spec,
            status: None,
        }
    }

    /// Which binding this is.
    #[must_use]
    pub fn key(&self) -> BindingKey {
        BindingKey {
            namespace: self.metadata.namespace.clone().filter(|n| !n.is_empty()),
            name: self.metadata.name.clone().unwrap_or_default(),
        }
    }

    /// Replicas wanted in all; 0 for what has none.
    #[must_use]
    pub fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(0)
    }

    /// Whether somebody deleted this binding and it waits for its finalizers.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The condition of this type.
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        crate::conditions::get(&self.status.as_ref()?.conditions, type_)
    }

    /// The reflected status of the copy on `cluster`.
    #[must_use]
    pub fn status_on(&self, cluster: &ClusterName) -> Option<&AggregatedStatusItem> {
        self.status
            .as_ref()?
            .aggregated_status
            .iter()
            .find(|item| item.cluster_name == cluster.as_str())
    }
}

impl ResourceBindingSpec {
    /// Whether the template has replicas to divide: replicas, requirements or components are given.
    #[must_use]
    pub fn is_workload(&self) -> bool {
        self.replicas.unwrap_or(0) > 0 || self.replica_requirements.is_some() || !self.components.is_empty()
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
}

two_kinds! {
    Binding by BindingKind in "work.karmada.io" "v1alpha2":
    Namespaced => "ResourceBinding", "resourcebindings";
    Cluster => "ClusterResourceBinding", "clusterresourcebindings";
}

/// An object on its way to one member, in the namespace `karmada-es-MEMBER`.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "work.karmada.io",
    version = "v1alpha1",
    kind = "Work",
    plural = "works",
    singular = "work",
    shortname = "wk",
    category = "karmada-io",
    namespaced,
    status = "WorkStatus",
    derive = "PartialEq",
    printcolumn = r#"{"name":"WORKLOAD-KIND","type":"string","jsonPath":".spec.workload.manifests[*].kind"}"#,
    printcolumn = r#"{"name":"APPLIED","type":"string","jsonPath":".status.conditions[?(@.type==\"Applied\")].status"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct WorkSpec {
    /// The objects; in practice one.
    #[serde(default)]
    pub workload: WorkloadTemplate,
    /// true holds changes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend_dispatching: Option<bool>,
    /// true leaves the object in the member when the Work goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
}

/// Objects of a Work.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadTemplate {
    /// Complete objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<Manifest>,
}

/// A complete Kubernetes object.
#[derive(schemars::JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Manifest(#[schemars(schema_with = "schema::embedded_object")] pub serde_json::Value);

/// Condition types on a Work.
pub mod work_condition {
    /// Whether the object was applied to the member.
    pub const APPLIED: &str = "Applied";
    /// Whether changes go to the member.
    pub const DISPATCHING: &str = "Dispatching";
}

/// What became of a Work.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkStatus {
    /// `Applied`, `Dispatching`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Status of each object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifest_statuses: Vec<ManifestStatus>,
}

/// Status of one object of a Work.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestStatus {
    /// Which object.
    pub identifier: ResourceIdentifier,
    /// The reflected part of its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::raw_object")]
    pub status: Option<serde_json::Value>,
    /// Whether it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ResourceHealth>,
}

/// Names one object of a Work.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceIdentifier {
    /// Index in `manifests`.
    pub ordinal: i32,
    /// API group, empty for the core group.
    #[serde(default)]
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Plural name; stock leaves it empty.
    #[serde(default)]
    pub resource: String,
    /// Namespace.
    #[serde(default)]
    pub namespace: String,
    /// Name.
    pub name: String,
}
