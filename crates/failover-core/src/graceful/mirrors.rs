//! Mirror tasks: what a workload needs (its ConfigMaps and so on) stays on the old cluster for as long as its old copy.
//!
//! An attached binding has no placement of its own; it follows its owners, who are named by `requiredBy` and by
//! depended-by labels. When an owner leaves a cluster, the attached binding would lose it at once, while the old copy still
//! runs. So before the owner's task a task is written on each attached binding: one a cluster, purge mode Gracefully, no
//! grace period. It stays while any owner has a task for that cluster, while an owner is there again and the attached
//! binding does not say so yet, and for [`KEPT_FOR`] after it was written, which is longer than it takes to write the owner's
//! task. Where the attached binding has the cluster in its own result there is none: it stays there by itself; and when
//! it leaves by a task of its own, that one stays, too, for as long as an owner's.

use std::collections::BTreeSet;

use api_types::names::{depended_by_label, label};
use api_types::policy::PurgeMode;
use api_types::work::{Binding, BindingSnapshot, GracefulEvictionTask, task};
use api_types::{BindingKey, ClusterName};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::eviction::cause::to_the_second;

/// How long a mirror stays at least.
pub const KEPT_FOR: SignedDuration = SignedDuration::from_secs(60);
/// A mirror that is older is written anew before one relies on it.
pub const FRESH_FOR: SignedDuration = SignedDuration::from_secs(15);
/// How long one may take, after a mirror was found fresh, to write the owner's task: then a quarter of a minute is left
/// for clocks that differ.
pub const RELIED_ON_FOR: SignedDuration = SignedDuration::from_secs(30);

/// The labels of the owners of an attached binding, whichever way they are named; none for a binding that nobody needs.
#[must_use]
pub fn owner_labels(attached: &Binding) -> BTreeSet<String> {
    let labels = attached.metadata.labels.iter().flatten();
    let named = labels
        .map(|(key, _)| key)
        .filter(|key| key.starts_with(label::DEPENDED_BY_PREFIX));
    let required = attached
        .spec
        .required_by
        .iter()
        .map(|owner| depended_by_label(&key_of(owner)));
    named.cloned().chain(required).collect()
}

/// The binding that a snapshot is of.
#[must_use]
pub fn key_of(owner: &BindingSnapshot) -> BindingKey {
    BindingKey {
        namespace: owner.namespace.clone().filter(|namespace| !namespace.is_empty()),
        name: owner.name.clone(),
    }
}

/// The mirror that has to be written on `attached` before `owner` leaves `cluster`, whether there is none or one that is
/// too old; nothing where none is needed.
#[must_use]
pub fn needed(
    attached: &Binding,
    owner: &BindingKey,
    cluster: &ClusterName,
    now: Timestamp,
) -> Option<GracefulEvictionTask> {
    if attached.is_being_deleted() || attached.spec.target(cluster).is_some() {
        return None;
    }
    match attached.spec.task(cluster) {
        // The object leaves by itself, or somebody else keeps it there.
        Some(task) if !is_mirror(task) => None,
        Some(mirror) if is_fresh(mirror, now) => None,
        _ => Some(GracefulEvictionTask {
            from_cluster: cluster.to_string(),
            purge_mode: Some(PurgeMode::Gracefully),
            reason: task::TAINT_UNTOLERATED.to_owned(),
            message: Some(format!("{owner} needs it there until its copy has gone")),
            producer: task::DEPENDENCY_MIRROR.to_owned(),
            creation_timestamp: Some(Time(to_the_second(now))),
            ..GracefulEvictionTask::default()
        }),
    }
}

/// Whether a task is a mirror.
#[must_use]
pub fn is_mirror(task: &GracefulEvictionTask) -> bool {
    task.producer == task::DEPENDENCY_MIRROR
}

/// A time that lies ahead is another clock's, and says nothing.
fn is_fresh(mirror: &GracefulEvictionTask, now: Timestamp) -> bool {
    let age = mirror
        .creation_timestamp
        .as_ref()
        .map(|time| now.duration_since(time.0));
    age.is_some_and(|age| age < FRESH_FOR && age > -FRESH_FOR)
}

/// Whether a mirror may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorState {
    /// It stays.
    Needed {
        /// Why, in words.
        why: String,
        /// When to look again although nothing changed.
        until: Option<Timestamp>,
    },
    /// The attached binding has the cluster in its own result.
    PlacedThere,
    /// No owner leaves the cluster any more.
    OwnersLeft,
}

/// Whether `mirror` on `attached` may go. `owners` are the owners that exist, as they are stored.
#[must_use]
pub fn state<'o>(
    attached: &Binding,
    mirror: &GracefulEvictionTask,
    owners: impl IntoIterator<Item = &'o Binding>,
    now: Timestamp,
) -> MirrorState {
    let cluster = ClusterName::from(mirror.from_cluster.as_str());
    if attached.spec.target(&cluster).is_some() {
        return MirrorState::PlacedThere;
    }
    for owner in owners {
        let key = owner.key();
        if let Some(why) = leaves(owner, &cluster) {
            return MirrorState::needed(why);
        }
        let is_there = owner.spec.target(&cluster).is_some() && !owner.is_being_deleted();
        if is_there && !says_so(attached, &key, &cluster) {
            return MirrorState::needed(format!(
                "{key} is on {cluster} again, and the object does not follow yet"
            ));
        }
    }
    let written_at = mirror.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let until = written_at.saturating_add(KEPT_FOR).unwrap_or(Timestamp::MAX);
    if now < until {
        return MirrorState::Needed {
            why: format!("an owner may be about to leave {cluster}, until {until}"),
            until: Some(until),
        };
    }
    MirrorState::OwnersLeft
}

/// In words, that `owner` of an object leaves `cluster` and its old copy there still needs the object.
#[must_use]
pub fn leaves(owner: &Binding, cluster: &ClusterName) -> Option<String> {
    let is_leaving = owner.spec.task(cluster).is_some_and(|task| !is_mirror(task));
    is_leaving.then(|| format!("{} needs the object and leaves {cluster}", owner.key()))
}

impl MirrorState {
    fn needed(why: String) -> Self {
        Self::Needed { why, until: None }
    }
}

/// Whether the attached binding shows that `owner` is on `cluster`.
fn says_so(attached: &Binding, owner: &BindingKey, cluster: &ClusterName) -> bool {
    let shown = attached.spec.required_by.iter().filter(|shown| key_of(shown) == *owner);
    shown
        .flat_map(|shown| &shown.clusters)
        .any(|target| target.name == cluster.as_str())
}

#[cfg(test)]
mod tests;
