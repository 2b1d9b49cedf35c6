//! Objects whose kind is only known from the table of kinds.

use api_types::ClusterName;
use api_types::cluster::Cluster;
use controller_kit::ObjectKey;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Client, Resource};
use serde_json::Value;

use crate::json;
use crate::kinds::Kind;

/// The complete object as JSON: lists leave out what kind their items are.
#[must_use]
pub fn to_value(kind: &Kind, object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    json::set(&mut value, &["apiVersion"], kind.api_version().into());
    json::set(&mut value, &["kind"], kind.kind().into());
    value
}

/// Requests about objects of a kind, in a namespace or of cluster scope.
#[must_use]
pub fn api(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}

/// Namespace and name of a manifest.
#[must_use]
pub fn key_of(manifest: &Value) -> ObjectKey {
    ObjectKey {
        namespace: json::some_text(manifest, "/metadata/namespace").map(str::to_owned),
        name: json::text(manifest, "/metadata/name").to_owned(),
    }
}

/// A manifest as the object of an event.
#[must_use]
pub fn reference(object: &Value) -> ObjectReference {
    let some = |pointer: &str| json::some_text(object, pointer).map(str::to_owned);
    ObjectReference {
        api_version: some("/apiVersion"),
        kind: some("/kind"),
        name: some("/metadata/name"),
        namespace: some("/metadata/namespace"),
        uid: some("/metadata/uid"),
        ..ObjectReference::default()
    }
}

/// A Cluster as the object of an event.
#[must_use]
pub fn reference_of_cluster(cluster: &ClusterName) -> ObjectReference {
    ObjectReference {
        api_version: Some(Cluster::api_version(&()).into_owned()),
        kind: Some(Cluster::kind(&()).into_owned()),
        name: Some(cluster.to_string()),
        ..ObjectReference::default()
    }
}

/// Names one template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateKey {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace and name.
    pub object: ObjectKey,
}

impl TemplateKey {
    /// The key of an object of `kind`.
    #[must_use]
    pub fn new(kind: Kind, object: ObjectKey) -> Self {
        Self { kind, object }
    }

    /// The binding of this template.
    #[must_use]
    pub fn binding(&self) -> api_types::BindingKey {
        self.kind
            .binding_of(self.object.namespace.as_deref(), &self.object.name)
    }
}

impl std::fmt::Display for TemplateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.kind(), self.object)
    }
}
