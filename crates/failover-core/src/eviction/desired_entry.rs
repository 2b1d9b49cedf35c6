//! Which entry of the queue is wanted of one pair of binding and cluster, and why an entry is taken back.

use std::collections::BTreeMap;

use super::queue::{BindingVersions, EntryKey, HoldReason, ProducerHold, Published, TemplateRef, WithdrawReason};
use super::{Cause, NotAffected, Switches, Verdict, stay, verdict};
use crate::taint_policy::{Recovering, TaintId};
use api_types::cluster::Cluster;
use api_types::work::Binding;

/// What is wanted of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An entry in the queue.
    Entry(Box<Published>),
    /// None; the reason is that of an entry that was there before, if one was.
    Nothing(Nothing),
}

/// Why no entry is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// The binding is gone, or is being deleted, or is not on the cluster.
    BindingGone,
    /// The Cluster is gone, or shows no cause.
    NoCause,
    /// The cluster is in the tasks already.
    Leaving,
    /// The binding tolerates what stands on the cluster.
    Tolerated,
    /// A switch is off.
    SwitchedOff,
}

/// Judges one pair. What has no name or UID yet is not there.
#[must_use]
pub fn wanted(
    binding: Option<&Binding>,
    cluster: Option<&Cluster>,
    recovering: &BTreeMap<TaintId, Recovering>,
    switches: &Switches,
) -> Wanted {
    let Some((binding, binding_uid)) = binding.and_then(|b| Some((b, b.metadata.uid.clone()?))) else {
        return Wanted::Nothing(Nothing::BindingGone);
    };
    let Some((cluster, cluster_uid)) = cluster.and_then(|c| Some((c, c.metadata.uid.clone()?))) else {
        return Wanted::Nothing(Nothing::NoCause);
    };
    let affected = match verdict(binding, cluster, switches) {
        Verdict::Affected(affected) => affected,
        Verdict::NotAffected(reason) => return Wanted::Nothing(nothing(&reason)),
    };
    let name = cluster.cluster_name();
    let spec = &binding.spec;
    Wanted::Entry(Box::new(Published {
        hold: hold(binding, cluster, &affected.cause, recovering),
        reason: affected.reason(),
        key: EntryKey {
            cause: affected.cause,
            cluster_uid,
            binding: binding.key(),
            binding_uid,
            cluster: name.clone(),
        },
        due_at: affected.due_at,
        priority: spec.schedule_priority.as_ref().map_or(0, |priority| priority.priority),
        template: TemplateRef {
            api_version: spec.resource.api_version.clone(),
            kind: spec.resource.kind.clone(),
            namespace: spec.resource.namespace.clone(),
            name: spec.resource.name.clone(),
        },
        replicas: spec.target(&name).map_or(0, |target| target.replicas),
        purge_mode: affected.purge_mode,
        grace_period_seconds: affected.grace_period_seconds,
        versions: BindingVersions {
            binding_generation: binding.metadata.generation.unwrap_or_default(),
            binding: binding.metadata.resource_version.clone().unwrap_or_default(),
            cluster: cluster.metadata.resource_version.clone().unwrap_or_default(),
        },
    }))
}

fn nothing(reason: &NotAffected) -> Nothing {
    match reason {
        NotAffected::GateOff | NotAffected::NoExecuteOff => Nothing::SwitchedOff,
        NotAffected::BindingDeleted | NotAffected::NotThere => Nothing::BindingGone,
        NotAffected::AlreadyLeaving => Nothing::Leaving,
        NotAffected::NoCause => Nothing::NoCause,
        NotAffected::NotStamped | NotAffected::Tolerated | NotAffected::NotOptedIn => Nothing::Tolerated,
    }
}

/// A person's word goes before a taint that is about to go.
fn hold(
    binding: &Binding,
    cluster: &Cluster,
    cause: &Cause,
    recovering: &BTreeMap<TaintId, Recovering>,
) -> Option<ProducerHold> {
    let stay = stay::stays(binding, &cluster.cluster_name(), cause);
    if let Some(message) = stay.reason() {
        return Some(ProducerHold {
            reason: HoldReason::Stay,
            message,
            by_drop: stay.by_drop(),
        });
    }
    Some(ProducerHold {
        reason: HoldReason::Recovering,
        message: recovering.get(&cause.taint()?)?.to_string(),
        by_drop: false,
    })
}

/// Why an entry of this key is taken back when this is wanted instead.
#[must_use]
pub fn withdraw_reason(key: &EntryKey, instead: &Wanted, cluster: Option<&Cluster>) -> WithdrawReason {
    match instead {
        Wanted::Entry(entry) if entry.key.binding_uid != key.binding_uid => WithdrawReason::BindingGone,
        Wanted::Entry(entry) if entry.key.cluster_uid != key.cluster_uid => WithdrawReason::ClusterRecovered,
        Wanted::Entry(_) => WithdrawReason::Replaced,
        Wanted::Nothing(Nothing::BindingGone) => WithdrawReason::BindingGone,
        Wanted::Nothing(Nothing::Leaving) => WithdrawReason::Leaving,
        Wanted::Nothing(Nothing::SwitchedOff) => WithdrawReason::SwitchedOff,
        // Something else that is tolerated stays behind: what this entry rests on may be gone all the same.
        Wanted::Nothing(Nothing::Tolerated) if cluster.is_some_and(|c| stands(&key.cause, c)) => {
            WithdrawReason::Tolerated
        }
        Wanted::Nothing(Nothing::Tolerated | Nothing::NoCause) => WithdrawReason::ClusterRecovered,
    }
}

fn stands(cause: &Cause, cluster: &Cluster) -> bool {
    cause
        .taint()
        .is_some_and(|id| cluster.spec.taints.iter().any(|taint| TaintId::of(taint) == id))
}

/// Whether two versions of an entry say the same to the queue. The versions of the objects do not count: they change
/// with every heartbeat. The generation of the binding does: an entry without a target is looked at again then.
#[must_use]
pub fn same(before: &Published, now: &Published) -> bool {
    let generations = before.versions.binding_generation == now.versions.binding_generation;
    generations
        && *before
            == Published {
                versions: before.versions.clone(),
                ..now.clone()
            }
}

#[cfg(test)]
mod tests;
