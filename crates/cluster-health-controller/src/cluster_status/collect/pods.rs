//! A Pod, reduced to what it asks for: a big member has thousands of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Deserializer};

/// The parts of a Pod that count for its member's resources.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct SlimPod {
    #[serde(deserialize_with = "identity")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: SlimPodSpec,
    #[serde(default)]
    pub status: SlimPodStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SlimPodSpec {
    pub node_name: Option<String>,
    #[serde(default)]
    pub containers: Vec<SlimContainer>,
    #[serde(default)]
    pub init_containers: Vec<SlimContainer>,
    #[serde(default)]
    pub overhead: BTreeMap<String, Quantity>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct SlimContainer {
    #[serde(default)]
    pub resources: SlimResources,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct SlimResources {
    #[serde(default)]
    pub requests: BTreeMap<String, Quantity>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct SlimPodStatus {
    pub phase: Option<String>,
}

/// Only what tells Pods apart; labels and annotations are the bulk of metadata.
fn identity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let full = ObjectMeta::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: full.name,
        namespace: full.namespace,
        uid: full.uid,
        resource_version: full.resource_version,
        ..ObjectMeta::default()
    })
}

impl Resource for SlimPod {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Pod".into()
    }
    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }
    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }
    fn plural((): &()) -> Cow<'_, str> {
        "pods".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
