//! What the deletion of a Cluster waits for, binding by binding, and when it waits no longer.
//!
//! What this knows is what is stored: the Cluster, the bindings' own spec, the FailoverPauses, and the Leases of the
//! controllers with what their holders say of themselves there (gates, and the queue why it releases nothing). It does not
//! ask the queue, and reads no other controller's condition; so it names what stands in the way of a binding in the order
//! in which the pipeline would meet it, and "waits for its turn" for one in whose way nothing is seen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api_types::cluster::{Cluster, condition};
use api_types::names::annotation;
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};

use crate::eviction::queue::{EntryKey, PauseView};
use crate::eviction::{Cause, FailoverGate, cause, stay};

/// The controllers that matter here, by the names of `--controllers`.
pub mod controllers {
    /// Publishes the bindings of a Cluster that is being deleted.
    pub const TAINT_MANAGER: &str = "taintManager";
    /// Releases them one by one.
    pub const EVICTION_QUEUE: &str = "evictionQueue";
    /// Turns what is released into tasks.
    pub const EVICTOR: &str = "evictor";
    /// Finds new places; with the gate off, or when no taint manager has been at work for a while, it also takes the cluster
    /// out of the result.
    pub const SCHEDULER: &str = "scheduler";
    /// Ends the tasks.
    pub const GRACEFUL_EVICTION: &str = "gracefulEviction";
    /// Lets a deleted binding go.
    pub const BINDING: &str = "binding";
}

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
    /// It has left, and its old copy waits for the new one.
    Moving,
    /// It is being deleted itself.
    BindingDeleted,
    /// Nothing stands in its way.
    Waiting,
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

/// Why `binding` still names `cluster`, which is being deleted. `no_target` is asked last: why the binding would find no
/// other place, none when it would.
#[must_use]
pub fn hold(
    binding: &Binding,
    cluster: &Cluster,
    operations: &Operations,
    no_target: impl FnOnce() -> Option<String>,
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
            stopped(controllers::SCHEDULER).unwrap_or_else(|| Hold::new(HoldKind::Waiting, ""))
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
        cluster_uid: cluster.metadata.uid.clone().unwrap_or_default(),
        binding: binding.key(),
        binding_uid: binding.metadata.uid.clone().unwrap_or_default(),
        cause,
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
    match no_target() {
        Some(why) => Hold {
            kind: HoldKind::NoTarget,
            what: String::new(),
            detail: format!("{}: {why}", binding.key()),
        },
        None => Hold::new(HoldKind::Waiting, ""),
    }
}

/// How many bindings name the cluster, by what holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// By kind and what, the count and an example's detail.
    counts: BTreeMap<(HoldKind, String), (usize, String)>,
}

impl FromIterator<Hold> for Tally {
    fn from_iter<T: IntoIterator<Item = Hold>>(holds: T) -> Self {
        let mut tally = Self::default();
        for hold in holds {
            let (count, example) = tally.counts.entry((hold.kind, hold.what)).or_default();
            *count += 1;
            // The first by name, so that the same state says the same.
            if example.is_empty() || (!hold.detail.is_empty() && hold.detail < *example) {
                *example = hold.detail;
            }
        }
        tally
    }
}

impl Tally {
    /// How many in all.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.values().map(|(count, _)| count).sum()
    }

    /// How many of one kind.
    #[must_use]
    pub fn of(&self, kind: HoldKind) -> usize {
        let of_kind = self.counts.iter().filter(|((known, _), _)| *known == kind);
        of_kind.map(|(_, (count, _))| count).sum()
    }

    /// Message of the condition `DeletionBlocked`.
    #[must_use]
    pub fn message(&self, ends: &str) -> String {
        let total = self.total();
        let (names, leave) = if total == 1 {
            ("binding names", "it leaves")
        } else {
            ("bindings name", "they leave")
        };
        let parts: Vec<String> = self
            .counts
            .iter()
            .map(|((kind, what), (count, example))| part(*kind, what, *count, example))
            .collect();
        format!(
            "{total} {names} this cluster in spec.clusters or in a graceful eviction task: {}. It is deleted when {leave}; \
             {ends}",
            parts.join(", ")
        )
    }
}

fn part(kind: HoldKind, what: &str, count: usize, example: &str) -> String {
    match kind {
        HoldKind::NotRunning if what == controllers::TAINT_MANAGER => {
            format!("{count} because {what} is not running (without it the scheduler acts in the end)")
        }
        HoldKind::NotRunning => format!("{count} because {what} is not running"),
        HoldKind::Paused => format!("{count} paused ({what})"),
        HoldKind::Halted => format!("{count} halted ({what})"),
        HoldKind::NoTarget => format!("{count} without a target ({})", shorten(example)),
        HoldKind::KeptByHand => format!("{count} kept by hand ({what})"),
        HoldKind::Moving => format!("{count} moving, until the new copy is healthy"),
        HoldKind::BindingDeleted => format!("{count} being deleted"),
        HoldKind::Waiting => format!("{count} waiting for a turn"),
    }
}

fn shorten(text: &str) -> String {
    const LONGEST: usize = 240;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Who takes workloads off a cluster that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emptied {
    /// The taint manager, through the eviction queue.
    ByTheQueue,
    /// The scheduler: deleting a cluster is a person's act, and nobody else would act on it.
    ByTheScheduler,
}

/// What the Lease of the taint manager shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaintManager {
    /// The gate `Failover` as its holder has it; none when it does not say.
    pub gate: Option<FailoverGate>,
    /// How long nobody has renewed it, or how long there has been none, by the time of who looks.
    pub silent_for: Duration,
}

/// For how long a taint manager may be away before it counts as not at work: a restart, an upgrade or the back-off of a
/// container that crashes must not send workloads off a cluster past the queue.
#[must_use]
pub fn may_be_away() -> Duration {
    Duration::from_mins(5)
}

/// Who empties a cluster that is being deleted. `gate` is that of the process that asks; without a look at the taint
/// manager it alone decides.
#[must_use]
pub fn emptied_by(gate: FailoverGate, taint_manager: Option<TaintManager>) -> Emptied {
    let nobody = taint_manager.is_some_and(|taint_manager| {
        taint_manager.gate == Some(FailoverGate::Off) || taint_manager.silent_for >= may_be_away()
    });
    if gate == FailoverGate::Off || nobody {
        Emptied::ByTheScheduler
    } else {
        Emptied::ByTheQueue
    }
}

/// Why a deletion waits no longer for the bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A person said so by the annotation.
    ByForce,
    /// `--cluster-deletion-timeout` has passed, and the member is not Ready.
    ByTimeout,
}

/// Whether a deletion waits, and for how long at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It waits no longer.
    Over(Ended),
    /// It waits, and ends then if the member is not Ready; none: as long as it takes.
    Until(Option<Timestamp>),
}

/// How long the deletion of `cluster` waits. The time counts from when our own condition `DeletionBlocked` became True;
/// `timeout` zero is none.
#[must_use]
pub fn patience(cluster: &Cluster, timeout: Duration, now: Timestamp) -> Patience {
    let annotations = cluster.metadata.annotations.as_ref();
    let forced = annotations
        .and_then(|all| all.get(annotation::FORCE_DELETE))
        .is_some_and(|value| value == "true");
    if forced {
        return Patience::Over(Ended::ByForce);
    }
    if timeout.is_zero() {
        return Patience::Until(None);
    }
    let blocked = cluster
        .condition(condition::DELETION_BLOCKED)
        .filter(|blocked| blocked.status == "True");
    let timeout = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
    let ends_at = blocked.map(|blocked| {
        let since = blocked.last_transition_time.0;
        since.saturating_add(timeout).unwrap_or(Timestamp::MAX)
    });
    match ends_at {
        Some(at) if at <= now && !cluster.is_ready() => Patience::Over(Ended::ByTimeout),
        ends_at => Patience::Until(ends_at),
    }
}

/// How a person, or time, ends a deletion that waits: the last words of `DeletionBlocked`.
#[must_use]
pub fn how_it_ends(timeout: Duration) -> String {
    let by_hand = format!(
        "to end this at once, annotate the Cluster with {}=true",
        annotation::FORCE_DELETE
    );
    if timeout.is_zero() {
        return by_hand;
    }
    let shown = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
    format!("{by_hand}; if the member is not Ready it ends by itself after {shown:#} (--cluster-deletion-timeout)")
}

#[cfg(test)]
#[path = "deletion_tests.rs"]
mod tests;
