//! The CRDs of all kinds, as `cargo xtask crds` writes them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResourceExt, Resource};

use crate::cluster::Cluster;
use crate::config::ResourceInterpreterCustomization;
use crate::failover::{FailoverPause, FailoverRecord};
use crate::policy::{Policy, PolicyKind, PropagationPolicy};
use crate::taint_policy::ClusterTaintPolicy;
use crate::work::{Binding, BindingKind, ResourceBinding, Work};

/// Every CRD, ordered by name.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        Cluster::crd(),
        ResourceInterpreterCustomization::crd(),
        FailoverPause::crd(),
        FailoverRecord::crd(),
        PropagationPolicy::crd(),
        of_cluster_scope::<Policy>(PropagationPolicy::crd(), &PolicyKind::Cluster, "cpp"),
        ClusterTaintPolicy::crd(),
        ResourceBinding::crd(),
        of_cluster_scope::<Binding>(ResourceBinding::crd(), &BindingKind::Cluster, "crb"),
        Work::crd(),
    ];
    crds.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    crds
}

/// The same kind with cluster scope: Karmada has both, with one spec.
fn of_cluster_scope<K: Resource>(
    mut crd: CustomResourceDefinition,
    kind: &K::DynamicType,
    short_name: &str,
) -> CustomResourceDefinition {
    let plural = K::plural(kind).into_owned();
    crd.metadata.name = Some(format!("{plural}.{}", K::group(kind)));
    let names = &mut crd.spec.names;
    names.kind = K::kind(kind).into_owned();
    names.singular = Some(names.kind.to_lowercase());
    names.short_names = Some(vec![short_name.to_owned()]);
    names.plural = plural;
    crd.spec.scope = "Cluster".to_owned();
    crd
}
