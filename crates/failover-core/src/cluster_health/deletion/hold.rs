//! Why one binding still names a Cluster that is being deleted.
//!
//! What this knows is what is stored: the Cluster, the bindings' own spec, the FailoverPauses, and the Leases of the
//! controllers with what their holders say of themselves there (gates, and the queue why it releases nothing). It does not
//! ask the queue, and reads no other controller's condition; so it names what stands in the way of a binding in the order
//! in which the pipeline would meet it, and "waits for its turn" for one in whose way nothing is seen.

use std::collections::BTreeSet;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::names::annotation;
use api_types::work::{Binding, TargetCluster};
use jiff::Timestamp;

use super::controllers;
use crate::eviction::queue::{EntryKey, PauseView};
use crate::eviction::{Cause, FailoverGate, cause, stay};
use crate::graceful::copies::works;

/// What the rest of the control plane is doing.
#[derive(Clone, Debug)]
pub struct Operations {
    /// Controllers whose Lease is held and renewed.
    pub running: BTreeSet<String>,
    /// The gate as the taint manager has it; none when it does not run.
    pub failover: Option<FailoverGate>,
    /// Why the queue releases nothing at all, in its own words; absent while it does.
    pub standstill: Option<String>,
    /// Pauses that are in effect.
    pub pauses: Vec<PauseView>,
}

/// Kinds of reasons why a binding still names the cluster, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HoldKind {
    /// A controller that it needs does not run.
    NotRunning,
    /// A FailoverPause covers it.
    Paused,
    /// The queue releases nothing.
    Halted,
    /// It would find no other place.
    NoTarget,
    /// A person wants it to stay: the annotation `stay`, scheduling that is suspended, a task that must not end.
    KeptByHand,
    /// It has left, or other clusters were chosen beside this one, and its old copy waits for one there to work.
    Moving,
    /// It is being deleted itself.
    BindingDeleted,
    /// Nothing stands in its way.
    Waiting,
    /// Nothing is seen in its way, but it was not looked for another place for it.
    NotLookedAt,
}

/// Whether a binding would find another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherPlace {
    /// It would.
    Found,
    /// It would not, for this reason.
    None(String),
    /// Nobody looked: that costs a dry run of the scheduler, and there are many bindings.
    NotLookedFor,
}

/// Why one binding still names the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hold {
    /// Kind.
    pub kind: HoldKind,
    /// What holds it, the same for all bindings that the same thing holds; empty where the kind says it all.
    pub what: String,
    /// More about this binding, for an example; may be empty.
    pub detail: String,
}

impl Hold {
    fn new(kind: HoldKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            detail: String::new(),
        }
    }
}

/// Why `binding` still names `cluster`, which is being deleted. `fleet` finds the other clusters by name; `other_place` is
/// asked last: whether the binding would find one.
#[must_use]
pub fn hold<'fleet>(
    binding: &Binding,
    cluster: &Cluster,
    operations: &Operations,
    fleet: impl Fn(&str) -> Option<&'fleet Cluster>,
    now: Timestamp,
    other_place: impl FnOnce() -> OtherPlace,
) -> Hold {
    let name = cluster.cluster_name();
    let stopped =
        |needed: &'static str| (!operations.running.contains(needed)).then(|| Hold::new(HoldKind::NotRunning, needed));
    if binding.is_being_deleted() {
        return stopped(controllers::BINDING).unwrap_or_else(|| Hold::new(HoldKind::BindingDeleted, ""));
    }
    if let Some(task) = binding.spec.task(&name) {
        return if task.suppress_deletion == Some(true) {
            Hold::new(HoldKind::KeptByHand, "suppressDeletion in the task")
        } else {
            stopped(controllers::GRACEFUL_EVICTION).unwrap_or_else(|| Hold::new(HoldKind::Moving, ""))
        };
    }
    let Some(failover) = operations.failover else {
        return Hold::new(HoldKind::NotRunning, controllers::TAINT_MANAGER);
    };
    if failover == FailoverGate::Off {
        let suspended = binding
            .spec
            .suspension
            .as_ref()
            .and_then(|suspension| suspension.scheduling);
        return if suspended == Some(true) {
            Hold::new(HoldKind::KeptByHand, "spec.suspension.scheduling")
        } else {
            let kind = if waits_for_others(binding, &name, fleet, now) {
                HoldKind::Moving
            } else {
                HoldKind::Waiting
            };
            stopped(controllers::SCHEDULER).unwrap_or_else(|| Hold::new(kind, ""))
        };
    }
    let deleted_at = cluster
        .metadata
        .deletion_timestamp
        .as_ref()
        .map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    let cause = Cause::Deletion {
        at: cause::to_the_second(deleted_at),
    };
    if stay::stays(binding, &name, &cause).holds() {
        return Hold::new(HoldKind::KeptByHand, format!("the annotation {}", annotation::STAY));
    }
    if let Some(hold) = [controllers::EVICTION_QUEUE, controllers::EVICTOR]
        .into_iter()
        .find_map(stopped)
    {
        return hold;
    }
    let entry = EntryKey {
        cluster: name,
        cluster_uid: cluster.metadata.uid.as_deref().unwrap_or_default().into(),
        binding: binding.key(),
        binding_uid: binding.metadata.uid.as_deref().unwrap_or_default().into(),
        cause: cause.into(),
    };
    if let Some(pause) = operations.pauses.iter().find(|pause| pause.covers(&entry)) {
        return Hold::new(
            HoldKind::Paused,
            format!("FailoverPause {}: {}", pause.name, pause.reason),
        );
    }
    if let Some(why) = &operations.standstill {
        return Hold::new(HoldKind::Halted, why.as_str());
    }
    match other_place() {
        OtherPlace::None(why) => Hold {
            kind: HoldKind::NoTarget,
            what: String::new(),
            detail: format!("{}: {why}", binding.key()),
        },
        OtherPlace::Found => Hold::new(HoldKind::Waiting, ""),
        OtherPlace::NotLookedFor => Hold::new(HoldKind::NotLookedAt, ""),
    }
}

/// Whether others are chosen beside the cluster and none of them works yet: so long the scheduler keeps the last copy there.
/// Where one works, it has only not looked yet.
fn waits_for_others<'fleet>(
    binding: &Binding,
    name: &ClusterName,
    fleet: impl Fn(&str) -> Option<&'fleet Cluster>,
    now: Timestamp,
) -> bool {
    let others: Vec<_> = binding
        .spec
        .clusters
        .iter()
        .filter(|target| target.name != name.as_str())
        .collect();
    let runs = |target: &TargetCluster| {
        (target.replicas > 0 || !binding.spec.is_workload()) && works(binding, target, fleet(&target.name), now).is_ok()
    };
    !others.is_empty() && !others.into_iter().any(runs)
}
