//! The CRDs of all kinds, as `cargo xtask crds` writes them.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::{CustomResourceExt, Resource};

use crate::cluster::ServedCluster;
use crate::config::ResourceInterpreterCustomization;
use crate::failover::{FailoverPause, FailoverRecord};
use crate::policy::{Policy, PolicyKind, PropagationPolicy};
use crate::taint_policy::ServedClusterTaintPolicy;
use crate::work::{Binding, BindingKind, ResourceBinding, Work};

/// Every CRD, ordered by name. They are made once in a process: that takes much longer than to copy them.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    CRDS.clone()
}

static CRDS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(generate);

fn generate() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        ServedCluster::crd(),
        ResourceInterpreterCustomization::crd(),
        FailoverPause::crd(),
        FailoverRecord::crd(),
        PropagationPolicy::crd(),
        of_cluster_scope::<Policy>(PropagationPolicy::crd(), &PolicyKind::Cluster, "cpp"),
        ServedClusterTaintPolicy::crd(),
        ResourceBinding::crd(),
        of_cluster_scope::<Binding>(ResourceBinding::crd(), &BindingKind::Cluster, "crb"),
        Work::crd(),
    ];
    crds.iter_mut().for_each(explain_kind);
    crds.iter_mut().filter_map(schema_of).for_each(list_values_only);
    crds.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    crds
}

/// Says what the kind is for, instead of which Rust type it is made from.
fn explain_kind(crd: &mut CustomResourceDefinition) {
    let meaning = match crd.spec.names.kind.as_str() {
        "Cluster" => "A member cluster: how it is reached, its taints, and what is known of its health and capacity.",
        "ResourceInterpreterCustomization" => "How objects of one kind are read and changed, as rules in Lua.",
        "FailoverPause" => {
            "Holds evictions back: while it is active nothing in its scope leaves the eviction queue, and everything is \
             still computed and shown."
        }
        "FailoverRecord" => "One move of a workload: why, from where, to where, and when each phase was passed.",
        "PropagationPolicy" => {
            "Which objects of its own namespace go to which member clusters, and whether and how they move when a \
             cluster or the application fails."
        }
        "ClusterPropagationPolicy" => {
            "Which objects, of any namespace or of cluster scope, go to which member clusters, and whether and how they \
             move when a cluster or the application fails. A PropagationPolicy that selects an object comes first."
        }
        "ClusterTaintPolicy" => "Which conditions of a Cluster, after which time, add taints to it and remove them.",
        "ResourceBinding" => {
            "Which member clusters an object of a namespace runs on, the copies on their way out, and the status of all \
             copies. Made from the object and its policy; written by the controllers."
        }
        "ClusterResourceBinding" => {
            "Which member clusters an object of cluster scope is on, the copies on their way out, and the status of all \
             copies. Made from the object and its policy; written by the controllers."
        }
        "Work" => {
            "An object on its way to one member cluster, in the namespace karmada-es-MEMBER, and its status there."
        }
        _ => return,
    };
    let kind = crd.spec.names.kind.clone();
    if let Some(schema) = schema_of(crd) {
        schema.title = Some(kind);
        schema.description = Some(meaning.to_owned());
    }
}

/// The schema of the kind; each kind has one version.
fn schema_of(crd: &mut CustomResourceDefinition) -> Option<&mut JSONSchemaProps> {
    crd.spec
        .versions
        .first_mut()?
        .schema
        .as_mut()?
        .open_api_v3_schema
        .as_mut()
}

/// An enumeration that may be absent lists the values that it may have, as in Karmada's CRDs: not `null`, which
/// `kubectl explain` and refusals would show as a value to choose.
fn list_values_only(schema: &mut JSONSchemaProps) {
    if let Some(values) = &mut schema.enum_ {
        let before = values.len();
        values.retain(|value| !value.0.is_null());
        if values.len() < before {
            schema.nullable = None;
        }
    }
    schema
        .properties
        .iter_mut()
        .flatten()
        .for_each(|(_, field)| list_values_only(field));
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        list_values_only(items);
    }
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
