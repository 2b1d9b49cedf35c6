//! Where a workload may run and how its replicas are divided: `spec.placement` of policies and bindings.

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::schema;

/// Where to run.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("!(has(self.clusterAffinity) && has(self.clusterAffinities) && size(self.clusterAffinities) > 0)").message("clusterAffinity and clusterAffinities exclude each other"))]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The clusters that may be chosen; absent means every cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_affinity: Option<ClusterAffinity>,
    /// Groups of clusters, tried in order until one fits. Excludes `clusterAffinity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub cluster_affinities: Vec<ClusterAffinityTerm>,
    /// What the workload bears on a cluster. Governs the effects NoSchedule and NoExecute only; whether a workload
    /// leaves on PreferNoExecute is said by `failover.cluster`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::tolerations")]
    pub cluster_tolerations: Vec<Toleration>,
    /// How the workload spreads over groups of clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub spread_constraints: Vec<SpreadConstraint>,
    /// How replicas are divided; absent means Duplicated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_scheduling: Option<ReplicaSchedulingStrategy>,
    /// Co-location of workloads; kept and not acted on here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_affinity: Option<WorkloadAffinity>,
}

/// Which clusters match: excluded names lose first, then every part that is given must match; nothing given matches all.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAffinity {
    /// Labels of the Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Provider, region or zone of the Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<FieldSelector>,
    /// Names; absent means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10_000))]
    pub cluster_names: Vec<String>,
    /// Names that never match.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "exclude")]
    #[schemars(length(max = 10_000))]
    pub exclude_clusters: Vec<String>,
}

/// A named group of clusters.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAffinityTerm {
    /// Name of the group, 1 to 32 characters.
    #[schemars(length(min = 1, max = 32))]
    pub affinity_name: String,
    /// The clusters of the group.
    #[serde(flatten)]
    pub cluster_affinity: ClusterAffinity,
    /// Groups for what does not fit here; kept, and refused by our scheduler with a condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overflow_affinities: Vec<OverflowAffinityTerm>,
}

/// A named group for overflow.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OverflowAffinityTerm {
    /// Name of the group, 1 to 32 characters.
    #[schemars(length(min = 1, max = 32))]
    pub affinity_name: String,
    /// The clusters of the group.
    #[serde(flatten)]
    pub cluster_affinity: ClusterAffinity,
}

/// Selects clusters by provider, region or zone; all expressions must match.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldSelector {
    /// Expressions, ANDed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub match_expressions: Vec<FieldSelectorRequirement>,
}

open_enum! {
    /// Field of a Cluster that a selector looks at.
    pub enum ClusterField {
        /// `spec.provider`.
        Provider = "provider",
        /// `spec.region`.
        Region = "region",
        /// `spec.zones`.
        Zone = "zone",
    }
}

open_enum! {
    /// Whether the value must be among those listed.
    pub enum SetOperator {
        /// One of the values.
        In = "In",
        /// None of the values.
        NotIn = "NotIn",
    }
}

/// One expression over a field of the Cluster.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldSelectorRequirement {
    /// The field.
    pub key: ClusterField,
    /// In or NotIn.
    pub operator: SetOperator,
    /// The values.
    #[schemars(length(min = 1, max = 64))]
    pub values: Vec<String>,
}

open_enum! {
    /// What groups of a spread constraint are made by.
    pub enum SpreadField {
        /// Each cluster is a group.
        Cluster = "cluster",
        /// Clusters of one region are a group.
        Region = "region",
        /// Clusters of one zone are a group.
        Zone = "zone",
        /// Clusters of one provider are a group.
        Provider = "provider",
    }
}

/// How many groups a workload runs in.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("!(has(self.spreadByField) && has(self.spreadByLabel) && size(self.spreadByLabel) > 0)").message("spreadByField and spreadByLabel exclude each other"))]
#[serde(rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// Groups by a field of the Cluster. Both this and `spreadByLabel` absent means cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_by_field: Option<SpreadField>,
    /// Groups by a label of the Cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 316))]
    pub spread_by_label: Option<String>,
    /// At most so many groups. As in stock, not defaulted: 0 selects nothing.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub max_groups: i64,
    /// At least so many groups; 0 is read as 1.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub min_groups: i64,
}

open_enum! {
    /// Whether every cluster gets all replicas or a share.
    pub enum ReplicaSchedulingType {
        /// Each chosen cluster runs all replicas.
        Duplicated = "Duplicated",
        /// The chosen clusters share the replicas.
        Divided = "Divided",
    }
}

open_enum! {
    /// How replicas are shared.
    pub enum ReplicaDivisionPreference {
        /// On as few clusters as can hold them.
        Aggregated = "Aggregated",
        /// By weight.
        Weighted = "Weighted",
    }
}

open_enum! {
    /// Weight that follows the clusters.
    pub enum DynamicWeightFactor {
        /// In proportion to the replicas that each cluster can still hold.
        AvailableReplicas = "AvailableReplicas",
    }
}

/// How replicas are divided.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaSchedulingStrategy {
    /// Duplicated or Divided; default Divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(default = "default_scheduling_type")]
    pub replica_scheduling_type: Option<ReplicaSchedulingType>,
    /// Aggregated or Weighted; default Weighted when Divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_division_preference: Option<ReplicaDivisionPreference>,
    /// Weights when Divided and Weighted; absent means equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_preference: Option<ClusterPreferences>,
}

fn default_scheduling_type() -> Option<ReplicaSchedulingType> {
    Some(ReplicaSchedulingType::Divided)
}

/// Weights of clusters.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPreferences {
    /// Fixed weights; of several rules that match a cluster the largest counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub static_weight_list: Vec<StaticClusterWeight>,
    /// Weight by free capacity; wins over the fixed ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_weight: Option<DynamicWeightFactor>,
}

/// Weight of the clusters that match.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StaticClusterWeight {
    /// The clusters.
    pub target_cluster: ClusterAffinity,
    /// Their weight, at least 1.
    #[schemars(range(min = 1))]
    pub weight: i64,
}

/// Co-location of workloads by a label.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadAffinity {
    /// Together with those of the same label value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<WorkloadAffinityTerm>,
    /// Apart from those of the same label value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anti_affinity: Option<WorkloadAffinityTerm>,
}

/// A label key that makes groups of workloads.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadAffinityTerm {
    /// Label key.
    #[schemars(length(min = 1, max = 316))]
    pub group_by_label_key: String,
}

impl Placement {
    /// How replicas are divided: absent means Duplicated, an empty strategy Divided.
    #[must_use]
    pub fn scheduling_type(&self) -> ReplicaSchedulingType {
        match &self.replica_scheduling {
            None => ReplicaSchedulingType::Duplicated,
            Some(strategy) => strategy
                .replica_scheduling_type
                .clone()
                .unwrap_or(ReplicaSchedulingType::Divided),
        }
    }
}
