//! One binding under its names: our key, the key by which stores know it, and the API that serves its kind.

use api_types::BindingKey;
use api_types::work::Binding;
use controller_kit::ObjectKey;
use kube::{Api, Client};

/// The binding that a store's change is about.
#[must_use]
pub fn binding_key(object: &ObjectKey) -> BindingKey {
    BindingKey {
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    }
}

/// The key by which stores know a binding.
#[must_use]
pub fn object_key(binding: &BindingKey) -> ObjectKey {
    ObjectKey {
        namespace: binding.namespace.clone(),
        name: binding.name.clone(),
    }
}

/// The API that serves the binding of this key, and others of its kind and namespace.
#[must_use]
pub fn api(client: &Client, binding: &BindingKey) -> Api<Binding> {
    match &binding.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &binding.kind()),
        None => Api::all_with(client.clone(), &binding.kind()),
    }
}
