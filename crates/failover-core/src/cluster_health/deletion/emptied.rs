//! Who acts on a deletion: the taint manager through the queue, or the scheduler when nobody feeds the queue.

use std::time::Duration;

use crate::eviction::FailoverGate;

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
