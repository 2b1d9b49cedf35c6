//! Who is affected by a cluster's failure, since when it is due, and why: one pure verdict for a pair of binding and
//! cluster. The due time is computed from what is stored (`timeAdded` and tolerations), never kept in memory, so that
//! a restart changes nothing and a longer or shorter toleration takes effect at once.

use std::fmt;

use api_types::cluster::{Cluster, effect};
use api_types::policy::{DEFAULT_CLUSTER_TOLERATION_SECONDS, PurgeMode};
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Taint;

use super::cause::{Cause, to_the_second};
use super::switched_off::Switch;
use super::tolerations::{Tolerance, tolerance};

/// The feature gate `Failover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverGate {
    /// A cluster's failure may cause a move.
    On,
    /// No cluster causes a move, ever. The default.
    Off,
}

impl From<bool> for FailoverGate {
    /// As `--feature-gates` has it, one's own or that of whoever holds a Lease.
    fn from(enabled: bool) -> Self {
        if enabled { Self::On } else { Self::Off }
    }
}

/// The flag `--enable-no-execute-taint-eviction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoExecuteEviction {
    /// NoExecute taints cause moves. The default.
    On,
    /// They do not; PreferNoExecute taints and deletions still do.
    Off,
}

/// Who empties a Cluster that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletedClusters {
    /// The queue: a deletion is a cause of evictions.
    Evicted,
    /// A stock Karmada's scheduler, beside which we run: at once, past queue and rate.
    LeftToStock,
}

/// What the administrator allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Gate over everything.
    pub failover: FailoverGate,
    /// Whether NoExecute taints count.
    pub no_execute: NoExecuteEviction,
    /// Whether the deletion of a Cluster counts.
    pub deleted_clusters: DeletedClusters,
    /// Purge mode of bindings that name none: `--no-execute-taint-eviction-purge-mode`, default Gracefully.
    pub default_purge_mode: PurgeMode,
}

impl Switches {
    /// All on: for judging whether a cause is gone, where the gate is not considered.
    #[must_use]
    pub fn all_on(default_purge_mode: PurgeMode) -> Self {
        Self {
            failover: FailoverGate::On,
            no_execute: NoExecuteEviction::On,
            deleted_clusters: DeletedClusters::Evicted,
            default_purge_mode,
        }
    }
}

/// Whether a binding has to leave a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays.
    NotAffected(NotAffected),
    /// It leaves, at the due time or after it.
    Affected(Affected),
}

/// How a binding is affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affected {
    /// The cause that is due first.
    pub cause: Cause,
    /// When the eviction is due; also the time from which the entry counts as ready.
    pub due_at: Timestamp,
    /// What becomes of the old copy: Directly, Gracefully or Never.
    pub purge_mode: PurgeMode,
    /// Seconds after which the old copy goes although the new one is not healthy; only with Gracefully.
    pub grace_period_seconds: Option<i32>,
    /// Why, with its numbers.
    pub why: Why,
}

/// The rule that made a binding affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// No toleration matches the NoExecute taint.
    Untolerated,
    /// The most permissive toleration ends.
    TolerationEnds {
        /// Seconds after `timeAdded`.
        seconds: i64,
    },
    /// `spec.failover.cluster` opts in to PreferNoExecute taints.
    OptedIn {
        /// `tolerationSeconds`, after `timeAdded`.
        seconds: i64,
    },
    /// The Cluster is being deleted.
    ClusterDeleted,
    /// The application is unhealthy for longer than `spec.failover.application` allows.
    Unhealthy(DueBy),
}

/// Which of the rules of `spec.failover.application` lets a copy go last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DueBy {
    /// `decisionConditions.tolerationSeconds`.
    Toleration {
        /// Seconds since it is unhealthy.
        seconds: i64,
    },
    /// The same, counted from the time at which the cluster became Ready.
    ClusterReady {
        /// Seconds.
        seconds: i64,
        /// Since when it is Ready.
        since: Timestamp,
    },
    /// `preConditions.delaySeconds`.
    Delay {
        /// Seconds.
        seconds: i64,
        /// When a status of it was first collected.
        at: Timestamp,
    },
}

/// Why a binding is not affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAffected {
    /// The gate `Failover` is off, and there is a taint or a deletion that would count.
    GateOff,
    /// `--enable-no-execute-taint-eviction` is off, and nothing but NoExecute taints would count.
    NoExecuteOff,
    /// The binding is being deleted.
    BindingDeleted,
    /// The cluster is not in `spec.clusters`.
    NotThere,
    /// The cluster is in `spec.gracefulEvictionTasks` already.
    AlreadyLeaving,
    /// No NoExecute or PreferNoExecute taint and no deletion.
    NoCause,
    /// Every taint that counts still lacks `timeAdded`: due for nobody until it is stamped.
    NotStamped,
    /// Every NoExecute taint is tolerated for ever, and no PreferNoExecute taint counts.
    Tolerated,
    /// There are PreferNoExecute taints only, and the binding has no `spec.failover.cluster`.
    NotOptedIn,
}

/// Whether anything on a Cluster can make a binding leave it. Where nothing can, its bindings need not be asked.
#[must_use]
pub fn shows_a_cause(cluster: &Cluster) -> bool {
    let moves = |taint: &Taint| matches!(taint.effect.as_str(), effect::NO_EXECUTE | effect::PREFER_NO_EXECUTE);
    cluster.is_being_deleted() || cluster.spec.taints.iter().any(moves)
}

/// Whether a change of a Cluster changes nothing for evictions: heartbeats and resource figures do not.
#[must_use]
pub fn same_for_evictions(before: &Cluster, after: &Cluster) -> bool {
    before.metadata.uid == after.metadata.uid
        && before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
        && before.metadata.annotations == after.metadata.annotations
        && before.spec.taints == after.spec.taints
}

/// Judges `binding` on `cluster`.
///
/// Rules: NoExecute taints count unless `placement.clusterTolerations` tolerate them for ever; PreferNoExecute taints
/// count only with `spec.failover.cluster`, and tolerations play no part; deletion of the Cluster counts as an
/// untolerated NoExecute taint, whatever the NoExecute switch says. Of several the earliest due one is the verdict.
#[must_use]
pub fn verdict(binding: &Binding, cluster: &Cluster, switches: &Switches) -> Verdict {
    let name = cluster.cluster_name();
    let not_affected = if binding.is_being_deleted() {
        Some(NotAffected::BindingDeleted)
    } else if binding.spec.task(&name).is_some() {
        Some(NotAffected::AlreadyLeaving)
    } else if binding.spec.target(&name).is_none() {
        Some(NotAffected::NotThere)
    } else {
        None
    };
    not_affected.map_or_else(|| cause_on_cluster(binding, cluster, switches), Verdict::NotAffected)
}

/// The same without asking whether the binding is on the cluster at all: what the cluster's state would mean for it.
/// For tasks that are written already, and for previews.
#[must_use]
pub fn cause_on_cluster(binding: &Binding, cluster: &Cluster, switches: &Switches) -> Verdict {
    let deleted_at = cluster
        .metadata
        .deletion_timestamp
        .as_ref()
        .filter(|_| switches.deleted_clusters == DeletedClusters::Evicted)
        .map(|time| to_the_second(time.0));
    let counting = |wanted: &'static str| cluster.spec.taints.iter().filter(move |taint| taint.effect == wanted);
    let no_execute = counting(effect::NO_EXECUTE).count();
    let prefer_no_execute = counting(effect::PREFER_NO_EXECUTE).count();
    if no_execute + prefer_no_execute == 0 && deleted_at.is_none() {
        return Verdict::NotAffected(NotAffected::NoCause);
    }
    // The gate is over everything: one answer for all causes.
    if switches.failover == FailoverGate::Off {
        return Verdict::NotAffected(NotAffected::GateOff);
    }

    let opted_in = binding
        .spec
        .failover
        .as_ref()
        .and_then(|failover| failover.cluster.as_ref());
    let deletion = deleted_at.map(|at| (at, Cause::Deletion { at }, Why::ClusterDeleted));
    let no_execute_due = counting(effect::NO_EXECUTE)
        .filter(|taint| switches.against_taints(&taint.effect).is_none())
        .filter_map(|taint| no_execute_due(binding, taint));
    let prefer_due = counting(effect::PREFER_NO_EXECUTE).filter_map(|taint| {
        let seconds = i64::from(
            opted_in?
                .toleration_seconds
                .unwrap_or(DEFAULT_CLUSTER_TOLERATION_SECONDS),
        );
        due(taint, seconds, Why::OptedIn { seconds })
    });
    let earliest = deletion
        .into_iter()
        .chain(no_execute_due)
        .chain(prefer_due)
        .min_by(|(a_due, a_cause, _), (b_due, b_cause, _)| (a_due, a_cause).cmp(&(b_due, b_cause)));

    let Some((due_at, cause, why)) = earliest else {
        // What would count and is due for nobody yet lacks its stamp: that one goes before what does not count.
        return Verdict::NotAffected(if prefer_no_execute > 0 && opted_in.is_some() {
            NotAffected::NotStamped
        } else if no_execute == 0 {
            NotAffected::NotOptedIn
        } else if switches.against_taints(effect::NO_EXECUTE).is_some() {
            NotAffected::NoExecuteOff
        } else if counting(effect::NO_EXECUTE).all(|taint| tolerance_of(binding, taint) == Tolerance::Forever) {
            NotAffected::Tolerated
        } else {
            NotAffected::NotStamped
        });
    };
    let purge_mode = opted_in
        .and_then(|behavior| behavior.purge_mode.as_ref())
        .unwrap_or(&switches.default_purge_mode)
        .effective();
    let grace_period_seconds = opted_in
        .and_then(|behavior| behavior.grace_period_seconds)
        .filter(|_| purge_mode == PurgeMode::Gracefully);
    Verdict::Affected(Affected {
        cause,
        due_at,
        purge_mode,
        grace_period_seconds,
        why,
    })
}

fn tolerance_of(binding: &Binding, taint: &Taint) -> Tolerance {
    let tolerations = binding
        .spec
        .placement
        .as_ref()
        .map_or(&[][..], |placement| &placement.cluster_tolerations);
    tolerance(tolerations, taint)
}

fn no_execute_due(binding: &Binding, taint: &Taint) -> Option<(Timestamp, Cause, Why)> {
    match tolerance_of(binding, taint) {
        Tolerance::Forever => None,
        Tolerance::Seconds(seconds) => due(taint, seconds, Why::TolerationEnds { seconds }),
        Tolerance::None => due(taint, 0, Why::Untolerated),
    }
}

/// Nothing for a taint that nobody has stamped yet. A time beyond the calendar is its end: for ever, for us.
fn due(taint: &Taint, seconds: i64, why: Why) -> Option<(Timestamp, Cause, Why)> {
    let added_at = to_the_second(taint.time_added.as_ref()?.0);
    let due_at = added_at
        .saturating_add(SignedDuration::from_secs(seconds.max(0)))
        .unwrap_or(Timestamp::MAX);
    Some((
        due_at,
        Cause::Taint {
            key: taint.key.clone(),
            effect: taint.effect.clone(),
            added_at,
        },
        why,
    ))
}

impl Affected {
    /// The verdict as one sentence without the subject, such as `taint k:NoExecute of 12:00:00 is not tolerated`.
    #[must_use]
    pub fn reason(&self) -> String {
        let Self { cause, why, due_at, .. } = self;
        match (cause, why) {
            (Cause::Taint { key, effect, added_at }, Why::Untolerated) => {
                format!("taint {key}:{effect}, added at {added_at}, is not tolerated")
            }
            (Cause::Taint { key, effect, added_at }, Why::TolerationEnds { seconds }) => {
                format!("taint {key}:{effect}, added at {added_at}, is tolerated for {seconds} s, until {due_at}")
            }
            (Cause::Taint { key, effect, added_at }, Why::OptedIn { seconds }) => format!(
                "taint {key}:{effect}, added at {added_at}: spec.failover.cluster moves the workload after {seconds} s, at {due_at}"
            ),
            (Cause::Deletion { at }, _) => format!("the Cluster is being deleted since {at}"),
            (Cause::Application { since }, Why::Unhealthy(by)) => match by {
                DueBy::Toleration { seconds } => {
                    format!("the application is unhealthy since {since}, tolerated for {seconds} s, until {due_at}")
                }
                DueBy::ClusterReady { seconds, since: ready } => format!(
                    "the application is unhealthy since {since}, tolerated for {seconds} s since the cluster is Ready, \
                     {ready}, until {due_at}"
                ),
                DueBy::Delay { seconds, at } => format!(
                    "the application is unhealthy since {since}, and spec.failover.application lets it go {seconds} s \
                     after its status was first collected at {at}, at {due_at}"
                ),
            },
            (Cause::Application { since }, _) => format!("the application is unhealthy since {since}"),
            (Cause::Taint { key, effect, added_at }, Why::ClusterDeleted | Why::Unhealthy(_)) => {
                format!("taint {key}:{effect}, added at {added_at}")
            }
        }
    }
}

impl NotAffected {
    /// One word in CamelCase.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::GateOff => "FailoverGateOff",
            Self::NoExecuteOff => "NoExecuteEvictionOff",
            Self::BindingDeleted => "BindingDeleted",
            Self::NotThere => "NotOnCluster",
            Self::AlreadyLeaving => "AlreadyLeaving",
            Self::NoCause => "NoCause",
            Self::NotStamped => "TaintNotStamped",
            Self::Tolerated => "Tolerated",
            Self::NotOptedIn => "NotOptedIn",
        }
    }
}

impl fmt::Display for NotAffected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GateOff => return write!(f, "{} is off", Switch::Failover),
            Self::NoExecuteOff => return write!(f, "{} is off", Switch::NoExecute),
            Self::BindingDeleted => "the binding is being deleted",
            Self::NotThere => "the cluster is not in spec.clusters",
            Self::AlreadyLeaving => "the cluster is in spec.gracefulEvictionTasks already",
            Self::NoCause => "the cluster has no NoExecute or PreferNoExecute taint and is not being deleted",
            Self::NotStamped => "the taint has no timeAdded yet",
            Self::Tolerated => "every NoExecute taint is tolerated without a time limit",
            Self::NotOptedIn => {
                "the cluster has PreferNoExecute taints only, and the binding has no spec.failover.cluster"
            }
        })
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
