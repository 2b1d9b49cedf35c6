//! The Works of a cluster, by which one sees what is still on it.

use std::ops::ControlFlow;

use api_types::names::{annotation, execution_namespace};
use api_types::work::Work;
use api_types::{BindingKey, ClusterName};
use controller_kit::api_errors;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams};

use crate::control_plane::{ControlPlane, each_page};
use crate::failure::Failure;

/// The binding of every Work on its way to the Cluster, or from it: for as long as there is a Work, nobody has seen that its
/// object is gone from the member. Works of no binding are none of it. Only their metadata is read.
///
/// # Errors
/// They cannot be listed.
pub(super) async fn bindings_of_works(
    control_plane: &ControlPlane,
    cluster: &ClusterName,
) -> Result<Vec<BindingKey>, Failure> {
    let namespace = execution_namespace(cluster);
    let api = Api::<Work>::namespaced(control_plane.client(), &namespace);
    let mut found = Vec::new();
    let read = each_page(
        ListParams::default(),
        async |params| api.list_metadata(params).await,
        |page| {
            found.extend(page.iter().filter_map(|work| binding_of(&work.metadata)));
            ControlFlow::Continue(())
        },
    );
    match read.await {
        Ok(()) => Ok(found),
        // A server that does not know the kind has none.
        Err(error) if api_errors::is_not_found(&error) => Ok(Vec::new()),
        Err(error) => Err(Failure::of_api_needing(
            &format!("cannot list works in namespace {namespace}"),
            &error,
            &format!(
                "use a kubeconfig whose user may list works.work.karmada.io in namespace {namespace}, or do not follow: \
                 --detach"
            ),
        )),
    }
}

/// The binding that a Work says it belongs to.
fn binding_of(work: &ObjectMeta) -> Option<BindingKey> {
    let annotations = work.annotations.as_ref()?;
    let told = |name: &str| annotations.get(name);
    match told(annotation::RESOURCE_BINDING_NAME) {
        Some(name) => Some(BindingKey::namespaced(
            told(annotation::RESOURCE_BINDING_NAMESPACE)?,
            name,
        )),
        None => told(annotation::CLUSTER_RESOURCE_BINDING_NAME).map(BindingKey::cluster),
    }
}
