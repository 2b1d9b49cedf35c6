//! What becomes of one lease: whether the eviction still has to be is the core's verdict; here it meets the places that
//! the workload would find, and the state that is kept of it. Pure.

use std::time::Duration;

use failover_core::eviction::Affected;
use failover_core::eviction::preservation::{Leaving, Preservation, State, of_cause, preserve};
use failover_core::eviction::queue::{Completion, OutcomeKind};
use failover_core::eviction::recheck::{Live, Standing, recheck};
use scheduler_filters::{Feasibility, FewerCopies, Fleet, PreEvictionCheck, Question, Rules, Schedulers, feasibility};

/// On what an eviction is decided beside what was read for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis<'a> {
    /// The clusters.
    pub fleet: &'a Fleet,
    /// The schedulers' plugins.
    pub schedulers: &'a Schedulers,
    /// What is checked before.
    pub check: PreEvictionCheck,
    /// How long after the due time state that is missing is waited for.
    pub state_wait: Duration,
    /// How the lease ends if somebody else does the same job there.
    pub second_owner: Option<&'a Completion>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// Move it.
    Evict(Eviction),
    /// The lease ends without a write.
    End(Completion),
}

/// An eviction that may go on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Eviction {
    /// Why, and how.
    pub affected: Affected,
    /// What is kept of the copy.
    pub state: State,
}

/// Judges a lease.
pub(crate) fn judge(live: &Live<'_>, basis: &Basis<'_>) -> Decision {
    let Standing {
        binding,
        cluster,
        affected,
    } = match recheck(live) {
        Ok(standing) => standing,
        Err(completion) => return Decision::End(completion),
    };
    if let Some(held) = basis.second_owner {
        return Decision::End(held.clone());
    }
    let scheduler = basis.schedulers.of(binding);
    let feasibility = feasibility(&Question {
        binding,
        leaving: &live.key.cluster,
        fleet: basis.fleet,
        plugins: scheduler.plugins,
        rules: Rules::default(),
        check: basis.check,
        fewer_copies: FewerCopies::accepted_by(&affected.cause, cluster),
        now: live.now,
    });
    if !feasibility.fits() {
        return Decision::End(no_target(&feasibility, scheduler.unknown));
    }
    let leaving = Leaving {
        binding,
        cluster: &live.key.cluster,
        due_at: affected.due_at,
        wait: basis.state_wait,
        now: live.now,
    };
    match preserve(&leaving, of_cause(binding, &affected.cause)) {
        Preservation::Kept(state) => Decision::Evict(Eviction { affected, state }),
        Preservation::Wait { until, why } => Decision::End(Completion {
            outcome: OutcomeKind::Wait { until },
            reason: "StateMissing".to_owned(),
            message: why,
        }),
    }
}

fn no_target(feasibility: &Feasibility, unknown_scheduler: Option<&str>) -> Completion {
    let asked = unknown_scheduler.map_or_else(String::new, |name| {
        format!(
            " (asked with the default plugins: those of scheduler {name} are not known, --scheduler-plugins names them)"
        )
    });
    Completion {
        outcome: OutcomeKind::NoTarget {
            recheck_at: feasibility.recheck_at,
            rests_on: feasibility.rests_on,
        },
        reason: "NoTarget".to_owned(),
        message: format!("{}{asked}", feasibility.why()),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
