//! What becomes of one lease: whether the eviction still has to be is the core's verdict; here it meets the places that
//! the workload would find. Pure.

use failover_core::eviction::Affected;
use failover_core::eviction::queue::{Completion, OutcomeKind};
use failover_core::eviction::recheck::{Live, Standing, recheck};
use scheduler_filters::{FewerCopies, Fleet, Outcome, Plugins, PreEvictionCheck, Question, Rules, feasibility};

/// Where a workload may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    /// The clusters.
    pub fleet: &'a Fleet,
    /// The scheduler's plugins.
    pub plugins: &'a Plugins,
    /// What is checked before.
    pub check: PreEvictionCheck,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// Move it, for this reason.
    Evict(Affected),
    /// The lease ends without a write.
    End(Completion),
}

/// Judges a lease.
pub(crate) fn judge(live: &Live<'_>, places: &Places<'_>) -> Decision {
    let Standing {
        binding,
        cluster,
        affected,
    } = match recheck(live) {
        Ok(standing) => standing,
        Err(completion) => return Decision::End(completion),
    };
    let feasibility = feasibility(&Question {
        binding,
        leaving: &live.key.cluster,
        fleet: places.fleet,
        plugins: places.plugins,
        rules: Rules::default(),
        check: places.check,
        fewer_copies: FewerCopies::accepted_by(&affected.cause, cluster),
        now: live.now,
    });
    match feasibility.outcome {
        Outcome::Fits { .. } => Decision::Evict(affected),
        Outcome::NoTarget { why } => Decision::End(Completion {
            outcome: OutcomeKind::NoTarget {
                recheck_at: feasibility.recheck_at,
            },
            reason: "NoTarget".to_owned(),
            message: why,
        }),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
