//! Attached bindings as they follow from those that need their object, as pure functions.
//!
//! An attached binding belongs to an object that propagated workloads need. It has no placement of its own: in `requiredBy`
//! stands where each of its referrers is, and a label names each. A policy may select the same object, too: then only
//! these two are ours on its binding.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::names::{depended_by_label, finalizer, label};
use api_types::policy::ConflictResolution;
use api_types::work::{Binding, BindingSnapshot, ResourceBindingSpec};
use api_types::{BindingKey, ClusterName};
use failover_core::affinity::selects;
use failover_core::graceful::mirrors::{is_mirror, key_of, leaves, owner_labels};
use serde_json::{Value, json};

use crate::detector::matching::Claim;
use crate::detector::reconcile::{owner, resource};
use crate::ids;
use crate::interpreter::DependentObject;
use crate::json::{self, text, text_map};
use crate::kinds::group_of;
use crate::objects::TemplateKey;
use crate::patches::Changes;

/// By whom an attached binding says that it is managed, in [`label::BINDING_MANAGED_BY`].
pub const MANAGED_BY: &str = "dependencies";

/// Fields of an attached binding that are ours.
const FIELDS: [&str; 8] = [
    "/spec/resource",
    "/spec/requiredBy",
    "/spec/conflictResolution",
    "/spec/preserveResourcesOnDeletion",
    "/metadata/labels",
    "/metadata/finalizers",
    "/metadata/ownerReferences",
    "/metadata/annotations",
];

/// An attached binding as it should be.
#[derive(Debug)]
pub struct Attached {
    /// The binding.
    pub binding: Binding,
    /// In words, that its referrers' policies want different things; what counts is in the binding.
    pub conflict: Option<String>,
}

/// The binding of an object that `referrer` needs; of an existing one everything else is kept. `others` are the bindings
/// that need it besides. Of which version and object it is, who owns it and what keeps it is the policy's to say where
/// one claims it.
#[must_use]
pub fn attached(
    key: &TemplateKey,
    object: &Value,
    referrer: &Binding,
    existing: Option<&Binding>,
    others: &[Arc<Binding>],
) -> Attached {
    let binding_key = key.binding();
    let mut binding = existing
        .cloned()
        .unwrap_or_else(|| Binding::new(&binding_key, ResourceBindingSpec::default()));
    let is_claimed = Claim::on(&binding.metadata).is_some();
    require(&mut binding.spec.required_by, referrer);
    let labels = binding.metadata.labels.get_or_insert_default();
    labels.insert(depended_by_label(&referrer.key()), permanent_id(referrer));
    let id_label = binding_key.kind().permanent_id_label();
    if !labels.contains_key(id_label) {
        let uid = text(object, "/metadata/uid");
        labels.insert(id_label.to_owned(), ids::permanent_id(&[uid, &binding_key.to_string()]));
    }
    if existing.is_none() {
        labels.insert(label::BINDING_MANAGED_BY.to_owned(), MANAGED_BY.to_owned());
    }
    if !is_claimed {
        binding.spec.resource = resource(object, existing);
        let finalizers = binding.metadata.finalizers.get_or_insert_default();
        let finalizer = binding_key.kind().finalizer();
        if !finalizers.iter().any(|present| present == finalizer) {
            finalizers.push(finalizer.to_owned());
        }
        binding.metadata.owner_references = Some(vec![owner(object)]);
    }
    let conflict = follow_policies(&mut binding, referrer, others);
    Attached { binding, conflict }
}

/// The object in the version that its binding names. It is the same in each, and of two that name it in different versions
/// each would else undo what the other wrote.
#[must_use]
pub fn in_version_of<'o>(object: &'o Value, binding: &Binding) -> Cow<'o, Value> {
    let version = &binding.spec.resource.api_version;
    if text(object, "/apiVersion") == version {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    json::set(&mut object, &["apiVersion"], version.as_str().into());
    Cow::Owned(object)
}

/// The attached binding while old copies of `referrer`, whose template does not name the object any more, may still use
/// it; `None` when there are none. They do where a task keeps the object and the referrer leaves, too, or may be about to,
/// since a mirror is written first. The referrer stays one of those that need it, for on that its mirrors go by; of its
/// clusters only those are kept that it may be about to leave.
#[must_use]
pub fn held(existing: &Binding, referrer: &Binding) -> Option<Binding> {
    let mut is_held = false;
    let mut about_to_leave: Vec<&str> = Vec::new();
    for task in &existing.spec.graceful_eviction_tasks {
        let cluster = ClusterName::from(task.from_cluster.as_str());
        is_held |= leaves(referrer, &cluster).is_some();
        if is_mirror(task) && referrer.spec.target(&cluster).is_some() {
            about_to_leave.push(&task.from_cluster);
        }
    }
    if !is_held && about_to_leave.is_empty() {
        return None;
    }
    let clusters = referrer.spec.clusters.iter();
    let clusters: Vec<_> = clusters
        .filter(|target| about_to_leave.contains(&target.name.as_str()))
        .cloned()
        .collect();
    let (key, mut binding) = (referrer.key(), existing.clone());
    for snapshot in &mut binding.spec.required_by {
        if key_of(snapshot) == key {
            snapshot.clusters.clone_from(&clusters);
        }
    }
    Some(binding)
}

/// What remains of an attached binding when `referrer` needs it no more; `None` when nothing changes.
#[must_use]
pub fn detached(existing: &Binding, referrer: &BindingKey, others: &[Arc<Binding>]) -> Option<Binding> {
    let mut binding = existing.clone();
    if let Some(labels) = &mut binding.metadata.labels {
        labels.remove(&depended_by_label(referrer));
    }
    binding
        .spec
        .required_by
        .retain(|snapshot| key_of(snapshot) != *referrer);
    if binding == *existing {
        return None;
    }
    if let Some((first, rest)) = others.split_first() {
        follow_policies(&mut binding, first, rest);
    }
    Some(binding)
}

/// Whether a binding was made for those that need its object, and nobody does any more. While it still has tasks, old
/// copies may use the object.
#[must_use]
pub fn is_left(binding: &Binding) -> bool {
    let labels = binding.metadata.labels.as_ref();
    let managed_by = labels.and_then(|labels| labels.get(label::BINDING_MANAGED_BY));
    managed_by.is_some_and(|by| by == MANAGED_BY)
        && !binding.is_being_deleted()
        && owner_labels(binding).is_empty()
        && Claim::on(&binding.metadata).is_none()
        && binding.spec.graceful_eviction_tasks.is_empty()
}

/// Whether a binding goes and is kept by the finalizer by which stock sees to what is attached to it.
#[must_use]
pub fn is_kept_by_stock(binding: &Binding) -> bool {
    let mut finalizers = binding.metadata.finalizers.iter().flatten();
    binding.is_being_deleted() && finalizers.any(|name| name == finalizer::DEPENDENCIES)
}

/// Whether a dependency means the object of a binding, in whatever version. `object` is that object; when it is not there, whatever may have
/// meant it does.
#[must_use]
pub fn means(dependency: &DependentObject, binding: &Binding, object: Option<&Value>) -> bool {
    let resource = &binding.spec.resource;
    let is_near = group_of(&dependency.api_version) == group_of(&resource.api_version)
        && dependency.kind == resource.kind
        && dependency.namespace == resource.namespace.as_deref().unwrap_or_default();
    is_near
        && match &dependency.name {
            Some(name) => *name == resource.name,
            None => object.is_none_or(|object| has_labels(dependency, object)),
        }
}

/// Whether an object has the labels that a dependency without a name asks for. One that asks for nothing means none.
#[must_use]
pub fn has_labels(dependency: &DependentObject, object: &Value) -> bool {
    let labels = text_map(object, "/metadata/labels");
    dependency
        .label_selector
        .as_ref()
        .is_some_and(|selector| selects(selector, Some(&labels)))
}

/// Changes from one version of an attached binding to another, of our fields.
#[must_use]
pub fn changes(present: &Binding, wanted: &Binding) -> Changes {
    let (before, after) = (json!(present), json!(wanted));
    let mut changes = Changes::new();
    for path in FIELDS {
        changes.field(path, before.pointer(path), after.pointer(path));
    }
    changes
}

/// Where the referrer is, in an order that does not depend on who came first.
fn require(required_by: &mut Vec<BindingSnapshot>, referrer: &Binding) {
    let key = referrer.key();
    required_by.retain(|snapshot| key_of(snapshot) != key);
    required_by.push(BindingSnapshot {
        namespace: key.namespace,
        name: key.name,
        clusters: referrer.spec.clusters.clone(),
    });
    required_by.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
}

/// By what a label on the attached binding names a referrer.
fn permanent_id(referrer: &Binding) -> String {
    let labels = referrer.metadata.labels.as_ref();
    let id = labels.and_then(|labels| labels.get(referrer.key().kind().permanent_id_label()));
    id.or(referrer.metadata.uid.as_ref()).cloned().unwrap_or_default()
}

/// What the referrers' policies say beside the placement, where no policy of its own does. If any says Overwrite it is
/// Overwrite, and if any preserves it is preserved. Returns in words that they differ.
fn follow_policies(binding: &mut Binding, referrer: &Binding, others: &[Arc<Binding>]) -> Option<String> {
    if Claim::on(&binding.metadata).is_some() {
        return None;
    }
    let said: BTreeMap<BindingKey, (ConflictResolution, bool)> = others
        .iter()
        .map(AsRef::as_ref)
        .chain([referrer])
        .map(|by| {
            let conflict_resolution = by.spec.conflict_resolution.clone().unwrap_or(ConflictResolution::Abort);
            (
                by.key(),
                (
                    conflict_resolution,
                    by.spec.preserve_resources_on_deletion == Some(true),
                ),
            )
        })
        .collect();
    let overwrite = said
        .values()
        .any(|(resolution, _)| *resolution == ConflictResolution::Overwrite);
    let preserve = said.values().any(|(_, preserve)| *preserve);
    let resolution = if overwrite {
        ConflictResolution::Overwrite
    } else {
        ConflictResolution::Abort
    };
    binding.spec.conflict_resolution = Some(resolution.clone());
    binding.spec.preserve_resources_on_deletion = preserve.then_some(true);
    let agreed = (resolution, preserve);
    let differing: Vec<String> = said
        .iter()
        .filter(|(_, said)| **said != agreed)
        .map(|(key, _)| key.to_string())
        .collect();
    (!differing.is_empty()).then(|| {
        let (resolution, preserve) = &agreed;
        format!(
            "those that need it want different things: conflictResolution {} and preserveResourcesOnDeletion {preserve} count, which is not \
             what the policies of {} say",
            json!(resolution).as_str().unwrap_or_default(),
            differing.join(", ")
        )
    })
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
