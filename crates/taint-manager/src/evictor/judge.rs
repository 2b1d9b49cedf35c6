//! What becomes of one lease, given what was read live. Pure.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::work::Binding;
use failover_core::eviction::queue::{Completion, OutcomeKind, Published};
use failover_core::eviction::{Affected, CauseKind, Stay, Switches, Verdict, stay, verdict};
use failover_core::taint_policy::{Recovering, TaintId};
use jiff::{SignedDuration, Timestamp};
use scheduler_filters::{FewerCopies, Fleet, Outcome, Plugins, PreEvictionCheck, Question, Rules, feasibility};

use crate::manager::reconcile::{recovering_message, taint_of};

/// While a taint is about to go, the producer holds the entry; an evictor that sees it first looks again so much later.
const RECOVERING_AGAIN: SignedDuration = SignedDuration::from_secs(10);

/// What was read for one lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live<'a> {
    /// The entry of the lease.
    pub entry: &'a Published,
    /// The binding; absent: there is none.
    pub binding: Option<&'a Binding>,
    /// The Cluster; absent: there is none.
    pub cluster: Option<&'a Cluster>,
    /// Taints of the Cluster that are about to go.
    pub recovering: &'a BTreeMap<TaintId, Recovering>,
    /// The other clusters, as places.
    pub fleet: &'a Fleet,
    /// The scheduler's plugins.
    pub plugins: &'a Plugins,
    /// What the administrator allows.
    pub switches: &'a Switches,
    /// What is checked before.
    pub check: PreEvictionCheck,
    /// The time.
    pub now: Timestamp,
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
pub(crate) fn judge(live: &Live<'_>) -> Decision {
    let Live { entry, now, .. } = *live;
    let not_needed = |reason: &str, message: String| end(not_needed(live), reason, message);
    if entry.key.cause.kind() == CauseKind::Application {
        let message = "this evictor carries out no failovers of applications".to_owned();
        return end(OutcomeKind::Failed, "UnknownCause", message);
    }
    let Some(cluster) = live.cluster else {
        return not_needed("ClusterGone", format!("Cluster {} is gone", entry.key.cluster));
    };
    if cluster.metadata.uid.as_deref() != Some(&entry.key.cluster_uid) {
        let message = format!("Cluster {} is another one of this name", entry.key.cluster);
        return not_needed("ClusterReplaced", message);
    }
    let Some(binding) = live.binding else {
        return not_needed("BindingGone", format!("binding {} is gone", entry.key.binding));
    };
    if binding.metadata.uid.as_deref() != Some(&entry.key.binding_uid) {
        let message = format!("binding {} is another one of this name", entry.key.binding);
        return not_needed("BindingReplaced", message);
    }
    let affected = match verdict(binding, cluster, live.switches) {
        Verdict::NotAffected(reason) => return not_needed(reason.word(), reason.to_string()),
        Verdict::Affected(affected) => affected,
    };
    if affected.cause != entry.key.cause {
        let message = format!("the cause is another one now: {}", affected.reason());
        return not_needed("OtherCause", message);
    }
    match stay::stays(binding, &entry.key.cluster, &affected.cause) {
        Stay::NotAsked => {}
        Stay::Asked(_) | Stay::Unreadable(_) => {
            let message = "the annotation failover.karmada.io/stay keeps the workload on the cluster".to_owned();
            return not_needed("Stay", message);
        }
    }
    if affected.due_at > now {
        let until = affected.due_at;
        return end(
            OutcomeKind::Wait { until },
            "NotDue",
            format!("it is due at {until} now"),
        );
    }
    if let Some(recovering) = taint_of(&affected.cause).and_then(|id| live.recovering.get(&id)) {
        let until = now.saturating_add(RECOVERING_AGAIN).unwrap_or(Timestamp::MAX);
        return end(
            OutcomeKind::Wait { until },
            "Recovering",
            recovering_message(recovering),
        );
    }
    place(live, binding, cluster, affected)
}

/// Whether the workload would find a place.
fn place(live: &Live<'_>, binding: &Binding, cluster: &Cluster, affected: Affected) -> Decision {
    let feasibility = feasibility(&Question {
        binding,
        leaving: &live.entry.key.cluster,
        fleet: live.fleet,
        plugins: live.plugins,
        rules: Rules::default(),
        check: live.check,
        fewer_copies: FewerCopies::accepted_by(&affected.cause, cluster),
        now: live.now,
    });
    match feasibility.outcome {
        Outcome::Fits { .. } => Decision::Evict(affected),
        Outcome::NoTarget { why } => {
            let recheck_at = feasibility.recheck_at;
            end(OutcomeKind::NoTarget { recheck_at }, "NoTarget", why)
        }
    }
}

/// Not needed, by these versions.
fn not_needed(live: &Live<'_>) -> OutcomeKind {
    let version = |version: Option<&String>| version.cloned().unwrap_or_default();
    OutcomeKind::NotNeeded {
        binding_version: version(live.binding.and_then(|b| b.metadata.resource_version.as_ref())),
        cluster_version: version(live.cluster.and_then(|c| c.metadata.resource_version.as_ref())),
    }
}

/// The end of a lease.
fn end(outcome: OutcomeKind, reason: &str, message: String) -> Decision {
    Decision::End(Completion {
        outcome,
        reason: reason.to_owned(),
        message,
    })
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
