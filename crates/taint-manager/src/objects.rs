//! How events name the objects that this crate speaks of.

use api_types::cluster::Cluster;
use api_types::work::Binding;
use api_types::{BindingKey, ClusterName};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;

/// The binding of this key, for an event.
pub(crate) fn binding_reference(key: &BindingKey, uid: &str) -> ObjectReference {
    let kind = key.kind();
    ObjectReference {
        api_version: Some(Binding::api_version(&kind).into_owned()),
        kind: Some(Binding::kind(&kind).into_owned()),
        namespace: key.namespace.clone(),
        name: Some(key.name.clone()),
        uid: Some(uid.to_owned()).filter(|uid| !uid.is_empty()),
        ..ObjectReference::default()
    }
}

/// The Cluster of this name, for an event.
pub(crate) fn cluster_reference(name: &ClusterName, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(Cluster::api_version(&()).into_owned()),
        kind: Some(Cluster::kind(&()).into_owned()),
        name: Some(name.to_string()),
        uid: Some(uid.to_owned()).filter(|uid| !uid.is_empty()),
        ..ObjectReference::default()
    }
}
