//! The two kinds of binding as one type.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use serde::{Deserialize, Serialize};

use super::spec::ResourceBindingSpec;
use super::status::{AggregatedStatusItem, ResourceBindingStatus};
use crate::names::{BindingKey, ClusterName};
use crate::second_home;
use crate::two_kinds::two_kinds;

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

/// A ResourceBinding or ClusterResourceBinding: one type, so that no rule is written twice. Read, it has in `spec.failover` and
/// `spec.activeEvictionHistory` what its annotations say of them, too ([`second_home`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Served")]
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

/// As the server has it.
#[derive(Deserialize)]
struct Served {
    #[serde(flatten, default)]
    types: Option<kube::core::TypeMeta>,
    #[serde(default)]
    metadata: ObjectMeta,
    spec: ResourceBindingSpec,
    #[serde(default)]
    status: Option<ResourceBindingStatus>,
}

impl From<Served> for Binding {
    fn from(served: Served) -> Self {
        let Served {
            types,
            metadata,
            spec,
            status,
        } = served;
        let mut binding = Self {
            types,
            metadata,
            spec,
            status,
        };
        second_home::failover::adopt_into_binding(&mut binding);
        second_home::history::adopt(&mut binding);
        binding
    }
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

two_kinds! {
    Binding by BindingKind in "work.karmada.io" "v1alpha2":
    Namespaced => "ResourceBinding", "resourcebindings";
    Cluster => "ClusterResourceBinding", "clusterresourcebindings";
}
