//! What became of a binding, on each cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::schema;

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
