//! `cluster.karmada.io/v1alpha1` Cluster: a member of the fleet.
//!
//! Beside a stock Karmada the type is served by its aggregated API server; standalone it is the CRD generated here.
#![allow(
    dead_code,
    reason = "the derived schema has a copy of ClusterSpec, of which nobody reads a field that is not stored"
)]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;
use crate::schema;
use crate::second_home;

/// Effects of a Cluster's taints.
pub mod effect {
    /// Nothing new is placed on the cluster.
    pub const NO_SCHEDULE: &str = "NoSchedule";
    /// The cluster is chosen only if no better one is there (ours; a lower score).
    pub const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";
    /// Workloads that do not tolerate the taint leave the cluster. Governed by `placement.clusterTolerations`.
    pub const NO_EXECUTE: &str = "NoExecute";
    /// Workloads that opted in by `spec.failover.cluster` leave the cluster; tolerations play no part (ours).
    pub const PREFER_NO_EXECUTE: &str = "PreferNoExecute";
}

/// Condition types on a Cluster.
pub mod condition {
    /// Whether the member's API server answers and says that it is healthy.
    pub const READY: &str = "Ready";
    /// Whether the list of the member's APIs is complete.
    pub const COMPLETE_API_ENABLEMENTS: &str = "CompleteAPIEnablements";
    /// Why a Cluster that is being deleted is still there (ours).
    pub const DELETION_BLOCKED: &str = "DeletionBlocked";
    /// Ours, on a Push cluster: nobody probes it, because who would does not renew its Lease.
    pub const REPORTER_DOWN: &str = "ReporterDown";
    /// Ours: all who report are silent, so the silence is taken for the monitor's own and nothing is marked.
    pub const MONITOR_ISOLATED: &str = "MonitorIsolated";
}

open_enum! {
    /// How the control plane and the member talk. Required, no default.
    pub enum ClusterSyncMode {
        /// The control plane calls the member.
        Push = "Push",
        /// An agent in the member calls the control plane.
        Pull = "Pull",
    }
}

/// What is wanted of a member cluster.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "cluster.karmada.io",
    version = "v1alpha1",
    kind = "Cluster",
    root = "ServedCluster",
    plural = "clusters",
    singular = "cluster",
    status = "ClusterStatus",
    derive = "PartialEq",
    category = "karmada-io",
    printcolumn = r#"{"name":"VERSION","type":"string","jsonPath":".status.kubernetesVersion","description":"KubernetesVersion represents version of the member cluster."}"#,
    printcolumn = r#"{"name":"MODE","type":"string","jsonPath":".spec.syncMode","description":"SyncMode describes how a cluster sync resources from karmada control plane."}"#,
    printcolumn = r#"{"name":"READY","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status","description":"The aggregate readiness state of this cluster for accepting workloads."}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"TAINTS","type":"string","priority":1,"jsonPath":".spec.taints[*].effect","description":"Effects of the taints on this cluster."}"#,
    printcolumn = r#"{"name":"ZONES","type":"string","priority":1,"jsonPath":".spec.zones"}"#,
    printcolumn = r#"{"name":"REGION","type":"string","priority":1,"jsonPath":".spec.region"}"#,
    printcolumn = r#"{"name":"PROVIDER","type":"string","priority":1,"jsonPath":".spec.provider"}"#,
    printcolumn = r#"{"name":"API-ENDPOINT","type":"string","priority":1,"jsonPath":".spec.apiEndpoint"}"#,
    validation = Rule::new("size(self.metadata.name) <= 48").message("the name of a Cluster has at most 48 characters: the namespace karmada-es-NAME is made from it"),
    validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')").message("the name of a Cluster is a DNS label: lower case letters, digits and '-'")
)]
#[x_kube(
    validation = Rule::new("!(has(self.zone) && size(self.zone) > 0 && has(self.zones) && size(self.zones) > 0)").message("zone and zones exclude each other: use zones, zone is deprecated")
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Identifies the member across renames: the UID of its kube-system namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128_000))]
    pub id: Option<String>,
    /// How the control plane and the member talk.
    pub sync_mode: ClusterSyncMode,
    /// URL of the member's API server, such as `https://10.0.0.1:6443`: a host, no user, query or fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = r"^(https?://[^/?#@]+(/[^?#]*)?)?$"))]
    pub api_endpoint: Option<String>,
    /// The Secret with `token` and `caBundle` for the member's API server. Needed in push mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalSecretReference>,
    /// The Secret with the token that may impersonate users on the member (read by stock's proxy only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impersonator_secret_ref: Option<LocalSecretReference>,
    /// Whether the member's certificate is taken unseen. Default false; not for production.
    #[serde(
        default,
        rename = "insecureSkipTLSVerification",
        skip_serializing_if = "Option::is_none"
    )]
    pub insecure_skip_tls_verification: Option<bool>,
    /// Proxy towards the member: `http`, `https` or `socks5`.
    #[serde(default, rename = "proxyURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = r"^((http|https|socks5)://.+)?$"))]
    pub proxy_url: Option<String>,
    /// Headers for the proxy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proxy_header: BTreeMap<String, String>,
    /// Cloud provider, a label value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub provider: Option<String>,
    /// Region, a label value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub region: Option<String>,
    /// Deprecated: use `zones`. Readers take it as the only zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub zone: Option<String>,
    /// The zones that the member spans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub zones: Vec<String>,
    /// Taints, unique by key and effect; at most 100. A NoExecute or PreferNoExecute taint without `timeAdded` is
    /// due for nobody until the taint-policy-controller has stamped it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::taints")]
    pub taints: Vec<Taint>,
    /// How many of the taints, at their end, stand in the annotation alone: known of what was read, never stored. Ask
    /// [`by_home`](crate::second_home::cluster::by_home).
    #[serde(skip)]
    #[allow(
        dead_code,
        reason = "the derived schema has a copy of this struct, which nobody reads"
    )]
    pub taints_of_annotation: usize,
    /// Grades of node sizes for the capacity estimate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_models: Vec<ResourceModel>,
}

/// A Secret by namespace and name.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalSecretReference {
    /// Namespace of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub namespace: String,
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// One grade of node sizes.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceModel {
    /// Index of the grade, from 0.
    pub grade: u32,
    /// Range of each resource in this grade.
    #[schemars(length(max = 32))]
    pub ranges: Vec<ResourceModelRange>,
}

/// Range `[min, max)` of a resource.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceModelRange {
    /// Resource name, such as `cpu`.
    pub name: String,
    /// Lower bound, included.
    #[schemars(schema_with = "schema::one_quantity")]
    pub min: Quantity,
    /// Upper bound, excluded.
    #[schemars(schema_with = "schema::one_quantity")]
    pub max: Quantity,
}

/// What was last seen of a member cluster.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The member's version, such as `v1.36.3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// The APIs that the member serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_enablements: Vec<ApiEnablement>,
    /// Conditions; each writer touches only its own types.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::conditions::as_written"
    )]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Nodes in all and ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_summary: Option<NodeSummary>,
    /// Resources allocatable, being allocated and allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_summary: Option<ResourceSummary>,
    /// Actions of stock's remedy controller; kept, never read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedy_actions: Vec<String>,
}

/// One group version and its resources.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiEnablement {
    /// `group/version`, or `version` for the core group.
    pub group_version: String,
    /// Resources, without subresources, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ApiResource>,
}

/// A resource that a member serves.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ApiResource {
    /// Plural name.
    pub name: String,
    /// Kind.
    pub kind: String,
}

/// Count of nodes.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSummary {
    /// All nodes.
    #[serde(default)]
    pub total_num: i32,
    /// Nodes with Ready=True.
    #[serde(default)]
    pub ready_num: i32,
}

/// Resources of a member.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSummary {
    /// Sum over ready nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub allocatable: BTreeMap<String, Quantity>,
    /// Requested by pods that wait for a node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub allocating: BTreeMap<String, Quantity>,
    /// Requested by pods that have a node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::quantities")]
    pub allocated: BTreeMap<String, Quantity>,
    /// Nodes per grade of `spec.resourceModels`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocatable_modelings: Vec<AllocatableModeling>,
}

/// Count of nodes of one grade.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocatableModeling {
    /// Index of the grade.
    pub grade: u32,
    /// Number of nodes.
    pub count: i32,
}

second_home::adopting_root! {
    /// A member cluster. Read, it has the PreferNoExecute taints of its annotation in `spec.taints`, too
    /// ([`second_home::cluster`]).
    Cluster { spec: ClusterSpec, status: ClusterStatus } served as ServedCluster, second_home::cluster::adopt
}

impl Cluster {
    /// The name of this cluster; empty only for an object that was never stored.
    #[must_use]
    pub fn cluster_name(&self) -> crate::ClusterName {
        crate::ClusterName::from(self.metadata.name.as_deref().unwrap_or_default())
    }

    /// The condition of this type, if it was ever written.
    #[must_use]
    pub fn condition(&self, condition_type: &str) -> Option<&Condition> {
        self.status
            .as_ref()?
            .conditions
            .iter()
            .find(|c| c.type_ == condition_type)
    }

    /// Whether the Ready condition is True. A cluster without the condition is not ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.condition(condition::READY).is_some_and(|c| c.status == "True")
    }

    /// Whether somebody deleted this Cluster and it waits for its finalizers.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The zones, with the deprecated `zone` read as the only one.
    #[must_use]
    pub fn zones(&self) -> Vec<&str> {
        match (&self.spec.zones[..], &self.spec.zone) {
            ([], Some(zone)) if !zone.is_empty() => vec![zone],
            (zones, _) => zones.iter().map(String::as_str).collect(),
        }
    }
}
