//! Which entry of the queue is wanted of one pair of binding and cluster, and why an entry is taken back.

use std::collections::BTreeMap;

use super::queue::{BindingVersions, EntryKey, HoldReason, ProducerHold, Published, TemplateRef, WithdrawReason};
use super::{Affected, Cause, CauseKind, NotAffected, Switches, Verdict, stay, verdict};
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
    /// The Cluster is gone, or shows no cause; of an application: it does not fail.
    NoCause,
    /// The cluster is not Ready, so that nobody knows how the application is.
    ClusterNotReady,
    /// The cluster is Ready, and how the application is there now is not known.
    NotKnown,
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
    entry_of(binding, cluster, |binding, cluster| {
        match verdict(binding, cluster, switches) {
            Verdict::Affected(affected) => {
                let hold = hold(binding, cluster, &affected.cause, recovering);
                Ok((affected, hold))
            }
            Verdict::NotAffected(reason) => Err(nothing(&reason)),
        }
    })
}

/// The entry of a pair, whatever the cause: what `judge` says of it, with all that the queue has to know.
pub(crate) fn entry_of(
    binding: Option<&Binding>,
    cluster: Option<&Cluster>,
    judge: impl FnOnce(&Binding, &Cluster) -> Result<(Affected, Option<ProducerHold>), Nothing>,
) -> Wanted {
    let Some((binding, binding_uid)) = binding.and_then(|b| Some((b, b.metadata.uid.clone()?))) else {
        return Wanted::Nothing(Nothing::BindingGone);
    };
    let Some((cluster, cluster_uid)) = cluster.and_then(|c| Some((c, c.metadata.uid.clone()?))) else {
        return Wanted::Nothing(Nothing::NoCause);
    };
    let (affected, hold) = match judge(binding, cluster) {
        Ok(judged) => judged,
        Err(nothing) => return Wanted::Nothing(nothing),
    };
    let name = cluster.cluster_name();
    let spec = &binding.spec;
    Wanted::Entry(Box::new(Published {
        hold: hold.map(Box::new),
        reason: affected.reason().into(),
        key: EntryKey {
            cause: affected.cause.into(),
            cluster_uid: cluster_uid.into(),
            binding: binding.key(),
            binding_uid: binding_uid.into(),
            cluster: name.clone(),
        }
        .into(),
        due_at: affected.due_at,
        priority: spec.schedule_priority.as_ref().map_or(0, |priority| priority.priority),
        template: TemplateRef {
            api_version: spec.resource.api_version.as_str().into(),
            kind: spec.resource.kind.as_str().into(),
            namespace: spec.resource.namespace.as_deref().map(Into::into),
            name: spec.resource.name.as_str().into(),
        },
        replicas: spec.target(&name).map_or(0, |target| target.replicas),
        purge_mode: (&affected.purge_mode).into(),
        grace_period_seconds: affected.grace_period_seconds,
        versions: BindingVersions {
            binding_generation: binding.metadata.generation.unwrap_or_default(),
            binding: binding.metadata.resource_version.as_deref().unwrap_or_default().into(),
            cluster: cluster.metadata.resource_version.as_deref().unwrap_or_default().into(),
        },
        traceparent: None,
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
    by_stay(binding, cluster, cause).or_else(|| {
        Some(ProducerHold {
            reason: HoldReason::Recovering,
            message: recovering.get(&cause.taint()?)?.to_string().into(),
            by_drop: false,
        })
    })
}

/// The hold by the annotation `stay`.
pub(crate) fn by_stay(binding: &Binding, cluster: &Cluster, cause: &Cause) -> Option<ProducerHold> {
    let stay = stay::stays(binding, &cluster.cluster_name(), cause);
    Some(ProducerHold {
        reason: HoldReason::Stay,
        message: stay.reason()?.into(),
        by_drop: stay.by_drop(),
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
        Wanted::Nothing(Nothing::NotKnown) => WithdrawReason::NotPublished,
        Wanted::Nothing(Nothing::SwitchedOff) => WithdrawReason::SwitchedOff,
        // Something else that is tolerated stays behind: what this entry rests on may be gone all the same.
        Wanted::Nothing(Nothing::Tolerated) if cluster.is_some_and(|c| may_stand(&key.cause, c)) => {
            WithdrawReason::Tolerated
        }
        Wanted::Nothing(Nothing::NoCause) if cluster.is_some() && key.cause.kind() == CauseKind::Application => {
            WithdrawReason::ApplicationRecovered
        }
        Wanted::Nothing(Nothing::ClusterNotReady) => WithdrawReason::ClusterNotReady,
        Wanted::Nothing(Nothing::Tolerated | Nothing::NoCause) => WithdrawReason::ClusterRecovered,
    }
}

/// Whether what an entry rests on is still there. An application that need not leave any more may go on failing.
fn may_stand(cause: &Cause, cluster: &Cluster) -> bool {
    let has = |id: TaintId| cluster.spec.taints.iter().any(|taint| TaintId::of(taint) == id);
    cause.kind() == CauseKind::Application || cause.taint().is_some_and(has)
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
