//! `policy.karmada.io/v1alpha1` PropagationPolicy and ClusterPropagationPolicy: which objects go where, and whether
//! and how they move when a cluster or the application fails.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::placement::Placement;
use crate::second_home;
use crate::two_kinds::two_kinds;

/// What a policy propagates and how. The same for both kinds of policy.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "policy.karmada.io",
    version = "v1alpha1",
    kind = "PropagationPolicy",
    plural = "propagationpolicies",
    singular = "propagationpolicy",
    shortname = "pp",
    category = "karmada-io",
    namespaced,
    derive = "PartialEq",
    printcolumn = r#"{"name":"CONFLICT-RESOLUTION","type":"string","jsonPath":".spec.conflictResolution"}"#,
    printcolumn = r#"{"name":"PRIORITY","type":"integer","jsonPath":".spec.priority"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[x_kube(validation = Rule::new("!(has(self.preemption) && self.preemption == 'Always') || self.resourceSelectors.all(s, has(s.name) && size(s.name) > 0)").message("preemption Always needs a name in every resourceSelector"))]
#[serde(rename_all = "camelCase")]
pub struct PropagationSpec {
    /// The objects; at least one selector.
    #[schemars(length(min = 1, max = 1000))]
    pub resource_selectors: Vec<ResourceSelector>,
    /// Deprecated in favour of `propagateDeps`; kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub association: Option<bool>,
    /// Whether ConfigMaps, Secrets and the like that a workload needs follow it. Default false.
    #[serde(default)]
    pub propagate_deps: bool,
    /// Where to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Among policies that match one object the higher wins. Default 0.
    #[serde(default)]
    pub priority: i32,
    /// Whether this policy may take objects from another. Default Never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(default = "default_preemption")]
    pub preemption: Option<Preemption>,
    /// OverridePolicies to wait for; kept and not acted on here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependent_overrides: Vec<String>,
    /// The scheduler that places the objects. Default `default-scheduler`; cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(default = "default_scheduler_name", length(max = 253))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("schedulerName cannot be changed: delete the policy and create it again"))]
    pub scheduler_name: Option<String>,
    /// Whether and how the workload moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// What to do when a member has such an object already. Default Abort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(default = "default_conflict_resolution")]
    pub conflict_resolution: Option<ConflictResolution>,
    /// When a change of this policy takes effect: at once, or (Lazy) with the next change of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation_preference: Option<ActivationPreference>,
    /// Whether the objects stay in the members when they are deleted here. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// Holds back changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<PolicySuspension>,
    /// Order among bindings that wait for the scheduler and for their eviction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_priority: Option<PolicySchedulePriority>,
}

fn default_preemption() -> Option<Preemption> {
    Some(Preemption::Never)
}
fn default_scheduler_name() -> Option<String> {
    Some("default-scheduler".to_owned())
}
fn default_conflict_resolution() -> Option<ConflictResolution> {
    Some(ConflictResolution::Abort)
}

/// Selects templates.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSelector {
    /// API version, such as `apps/v1`.
    #[schemars(length(min = 1, max = 317))]
    pub api_version: String,
    /// Kind, such as `Deployment`.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Namespace; of a PropagationPolicy its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub namespace: Option<String>,
    /// Name; absent means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub name: Option<String>,
    /// Labels; not looked at when a name is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

open_enum! {
    /// Whether a policy may take objects from another.
    pub enum Preemption {
        /// It may.
        Always = "Always",
        /// It does not.
        Never = "Never",
    }
}

open_enum! {
    /// What to do when a member has such an object already.
    pub enum ConflictResolution {
        /// Leave it and say so.
        Abort = "Abort",
        /// Take it over.
        Overwrite = "Overwrite",
    }
}

open_enum! {
    /// When a change of the policy takes effect.
    pub enum ActivationPreference {
        /// With the next change of the object.
        Lazy = "Lazy",
    }
}

/// Holds back changes on their way to the members.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("!(has(self.dispatching) && has(self.dispatchingOnClusters))").message("dispatching and dispatchingOnClusters exclude each other"))]
#[serde(rename_all = "camelCase")]
pub struct PolicySuspension {
    /// Nothing goes to any member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching: Option<bool>,
    /// Nothing goes to these members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching_on_clusters: Option<SuspendClusters>,
}

/// Names of clusters.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuspendClusters {
    /// Cluster names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_names: Vec<String>,
}

open_enum! {
    /// Where a priority class is defined.
    pub enum PriorityClassSource {
        /// A `scheduling.k8s.io` PriorityClass of the control plane.
        KubePriorityClass = "KubePriorityClass",
    }
}

/// Priority by class.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicySchedulePriority {
    /// Where the class is defined.
    pub priority_class_source: PriorityClassSource,
    /// Name of the class.
    #[schemars(length(min = 1, max = 253))]
    pub priority_class_name: String,
}

/// Whether and how a workload moves.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailoverBehavior {
    /// When the application fails on a healthy cluster. Absent: it never moves for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationFailoverBehavior>,
    /// When the cluster fails. Its presence opts in to PreferNoExecute taints. A NoExecute taint moves a workload
    /// with or without it, unless `placement.clusterTolerations` tolerate the taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterFailoverBehavior>,
}

open_enum! {
    /// What becomes of the copy on the cluster that is left.
    pub enum PurgeMode {
        /// Deleted before the new copy starts.
        Directly = "Directly",
        /// Deleted when the new copy is healthy.
        Gracefully = "Gracefully",
        /// Kept until a person acts.
        Never = "Never",
        /// Old spelling of Directly; stored as written.
        Immediately = "Immediately",
        /// Old spelling of Gracefully; stored as written.
        Graciously = "Graciously",
    }
}

impl PurgeMode {
    /// The mode with old spellings read as the new ones. An unknown value is read as Gracefully, which deletes least.
    ///
    /// Source: karmada PR#6387 renamed the values; stored objects may carry either.
    #[must_use]
    pub fn effective(&self) -> Self {
        match self {
            Self::Directly | Self::Immediately => Self::Directly,
            Self::Never => Self::Never,
            Self::Gracefully | Self::Graciously | Self::Other(_) => Self::Gracefully,
        }
    }
}

/// When and how a workload leaves a cluster on which it is unhealthy.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("!has(self.gracePeriodSeconds) || !has(self.purgeMode) || self.purgeMode in ['Gracefully', 'Graciously']").message("gracePeriodSeconds goes only with purgeMode Gracefully"))]
#[serde(rename_all = "camelCase")]
pub struct ApplicationFailoverBehavior {
    /// What must hold before the application is judged at all (ours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_conditions: Option<PreConditions>,
    /// How long it must be unhealthy.
    pub decision_conditions: DecisionConditions,
    /// What becomes of the old copy. Default Gracefully.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(default = "default_purge_mode")]
    pub purge_mode: Option<PurgeMode>,
    /// How long, in seconds, the old copy waits for the new one to become healthy. Absent and graceful is read as 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub grace_period_seconds: Option<i32>,
    /// For how many seconds the workload is kept off the cluster that it left. Default 600, 0 = until a person clears
    /// the history (ours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub block_predecessor_seconds: Option<i32>,
    /// Values of the old copy's status that labels of the new one carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

fn default_purge_mode() -> Option<PurgeMode> {
    Some(PurgeMode::Gracefully)
}

/// What must hold before an application is judged.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreConditions {
    /// Seconds after its status was first collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub delay_seconds: Option<i32>,
    /// `Healthy`: only after it was once healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthy_state: Option<crate::work::ResourceHealth>,
}

/// How long a workload must be unhealthy.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionConditions {
    /// Seconds without interruption. Default 10 here (stock: 300); what is stored counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(default = "default_application_toleration", range(min = 0))]
    pub toleration_seconds: Option<i32>,
}

fn default_application_toleration() -> Option<i32> {
    Some(10)
}

/// How a workload leaves a failed cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("!has(self.gracePeriodSeconds) || !has(self.purgeMode) || self.purgeMode in ['Gracefully', 'Graciously']").message("gracePeriodSeconds goes only with purgeMode Gracefully"))]
#[serde(rename_all = "camelCase")]
pub struct ClusterFailoverBehavior {
    /// What becomes of the old copy. Default Gracefully.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(default = "default_purge_mode")]
    pub purge_mode: Option<PurgeMode>,
    /// How many seconds after a PreferNoExecute taint the workload stays. Default 300. Tolerations play no part in
    /// that, and this plays none for NoExecute (ours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(default = "default_cluster_toleration", range(min = 0))]
    pub toleration_seconds: Option<i32>,
    /// How long, in seconds, the old copy waits for the new one to become healthy. Absent: until it is. Only with
    /// Gracefully (ours).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub grace_period_seconds: Option<i32>,
    /// Values of the old copy's status that labels of the new one carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// Default of `failover.cluster.tolerationSeconds`.
pub const DEFAULT_CLUSTER_TOLERATION_SECONDS: i32 = 300;

fn default_cluster_toleration() -> Option<i32> {
    Some(DEFAULT_CLUSTER_TOLERATION_SECONDS)
}

/// What of the old copy's status the new copy is told.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatePreservation {
    /// Rules; at least one.
    #[schemars(length(min = 1, max = 64))]
    pub rules: Vec<StatePreservationRule>,
}

/// One value of the status as one label.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatePreservationRule {
    /// Label key on the new copy.
    #[schemars(length(min = 1, max = 316))]
    pub alias_label_name: String,
    /// JSONPath in kubectl's dialect over the reflected status, such as `{.replicas}`.
    #[schemars(length(min = 1, max = 1024))]
    pub json_path: String,
}

/// Which of the two kinds of policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyKind {
    /// PropagationPolicy: objects of its own namespace.
    #[default]
    Namespaced,
    /// ClusterPropagationPolicy: objects of any namespace and of cluster scope.
    Cluster,
}

/// A PropagationPolicy or ClusterPropagationPolicy: one type, so that no rule is written twice. Read, it has in
/// `spec.failover` what its annotation says of it, too ([`second_home::failover`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Served")]
pub struct Policy {
    /// `apiVersion` and `kind`, where the server sent them.
    #[serde(flatten, default)]
    pub types: Option<kube::core::TypeMeta>,
    /// Metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What is propagated and how.
    pub spec: PropagationSpec,
}

/// As the server has it.
#[derive(Deserialize)]
struct Served {
    #[serde(flatten, default)]
    types: Option<kube::core::TypeMeta>,
    #[serde(default)]
    metadata: ObjectMeta,
    spec: PropagationSpec,
}

impl From<Served> for Policy {
    fn from(served: Served) -> Self {
        let Served { types, metadata, spec } = served;
        let mut policy = Self { types, metadata, spec };
        second_home::failover::adopt_into_policy(&mut policy);
        policy
    }
}

two_kinds! {
    Policy by PolicyKind in "policy.karmada.io" "v1alpha1":
    Namespaced => "PropagationPolicy", "propagationpolicies";
    Cluster => "ClusterPropagationPolicy", "clusterpropagationpolicies";
}
