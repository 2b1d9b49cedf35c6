//! How events and reads name the objects that this crate speaks of.

use api_types::cluster::Cluster;
use api_types::work::Binding;
use api_types::{BindingKey, ClusterName};
use controller_kit::ObjectKey;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Api, Client, Resource};

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

/// The template that a binding places, for an event.
pub(crate) fn template_reference(binding: &Binding) -> ObjectReference {
    let template = &binding.spec.resource;
    ObjectReference {
        api_version: Some(template.api_version.clone()),
        kind: Some(template.kind.clone()),
        namespace: template.namespace.clone(),
        name: Some(template.name.clone()),
        uid: template.uid.clone(),
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

/// The key by which stores know a binding.
pub(crate) fn store_key(key: &BindingKey) -> ObjectKey {
    match &key.namespace {
        Some(namespace) => ObjectKey::namespaced(namespace.clone(), key.name.clone()),
        None => ObjectKey::cluster_scoped(key.name.clone()),
    }
}

/// The API that serves the binding of this key.
pub(crate) fn binding_api(client: &Client, key: &BindingKey) -> Api<Binding> {
    match &key.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &key.kind()),
        None => Api::all_with(client.clone(), &key.kind()),
    }
}
