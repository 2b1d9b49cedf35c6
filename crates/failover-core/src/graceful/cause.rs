//! Whether the cause of a graceful eviction task is gone. One function for everybody who asks: graceful eviction (may
//! the copy stay after all?), restore, and the scheduler (may the workload go back there?).

use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, GracefulEvictionTask, ResourceHealth, task as task_words};
use jiff::{SignedDuration, Timestamp};

use crate::eviction::{Cause, NotAffected, Switches, Verdict, cause_on_cluster, stay};

/// Default of `failover.application.blockPredecessorSeconds`.
pub const DEFAULT_BLOCK_PREDECESSOR_SECONDS: i32 = 600;

/// Whether a cause is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CauseState {
    /// It is gone, for this reason.
    Gone(String),
    /// It stands, for this reason.
    Stands {
        /// Why, in words.
        why: String,
        /// When it ends by itself, if a time is known.
        until: Option<Timestamp>,
    },
}

impl CauseState {
    /// Whether the cause is gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone(_))
    }

    fn stands(why: impl Into<String>) -> Self {
        Self::Stands {
            why: why.into(),
            until: None,
        }
    }
}

/// Judges the cause of `task` on `cluster`, the task's own.
///
/// Rules: a task for a taint or a deletion: nothing on the cluster would move this binding now (the gate `Failover` is
/// not considered), and Ready is True. A task for an application failure: Ready is True and the copy there Healthy, or
/// the cluster is not blocked for the application any more.
#[must_use]
pub fn gone(binding: &Binding, task: &GracefulEvictionTask, cluster: &Cluster, now: Timestamp) -> CauseState {
    if task.reason == task_words::APPLICATION_FAILURE {
        application_gone(binding, cluster, now)
    } else {
        cluster_gone(binding, cluster)
    }
}

fn cluster_gone(binding: &Binding, cluster: &Cluster) -> CauseState {
    match cause_on_cluster(binding, cluster, &Switches::all_on(PurgeMode::Gracefully)) {
        Verdict::Affected(affected) => CauseState::stands(affected.reason()),
        // A taint that nobody has stamped yet is a taint all the same.
        Verdict::NotAffected(reason @ NotAffected::NotStamped) => CauseState::stands(reason.to_string()),
        Verdict::NotAffected(_) if !cluster.is_ready() => CauseState::stands("the cluster is not Ready"),
        Verdict::NotAffected(reason) => CauseState::Gone(format!("{reason}, and it is Ready")),
    }
}

fn application_gone(binding: &Binding, cluster: &Cluster, now: Timestamp) -> CauseState {
    let name = cluster.cluster_name();
    let healthy = binding
        .status_on(&name)
        .is_some_and(|item| item.health == Some(ResourceHealth::Healthy));
    if cluster.is_ready() && healthy {
        return CauseState::Gone("the application is healthy there again".to_owned());
    }
    match block(binding, name.as_str(), now) {
        Block::None => CauseState::Gone("the application is not blocked there any more".to_owned()),
        Block::Until(until) => CauseState::Stands {
            why: format!("the application failed there and is blocked until {until}"),
            until: Some(until),
        },
        Block::UntilCleared => CauseState::stands(
            "the application failed there and is blocked until its item in spec.activeEvictionHistory is removed",
        ),
    }
}

/// Whether an application is kept off a cluster that it left because it failed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// It may go there.
    None,
    /// It may go there from then on.
    Until(Timestamp),
    /// It may go there when a person has removed the history item (`blockPredecessorSeconds: 0`).
    UntilCleared,
}

/// The block of `cluster` by `spec.activeEvictionHistory`; of several items the longest counts.
#[must_use]
pub fn block(binding: &Binding, cluster: &str, now: Timestamp) -> Block {
    let seconds = binding
        .spec
        .failover
        .as_ref()
        .and_then(|failover| failover.application.as_ref())
        .and_then(|application| application.block_predecessor_seconds)
        .unwrap_or(DEFAULT_BLOCK_PREDECESSOR_SECONDS);
    let latest = binding
        .spec
        .active_eviction_history
        .iter()
        .filter(|item| item.cluster_name == cluster)
        .map(|item| item.creation_timestamp.0)
        .max();
    match latest {
        None => Block::None,
        Some(_) if seconds <= 0 => Block::UntilCleared,
        Some(at) => {
            let until = at
                .saturating_add(SignedDuration::from_secs(i64::from(seconds)))
                .unwrap_or(Timestamp::MAX);
            if until <= now { Block::None } else { Block::Until(until) }
        }
    }
}

/// Whether a person wants the binding to stay on the task's cluster whatever the cluster's state says now.
#[must_use]
pub fn stay_matches(binding: &Binding, cluster: &Cluster) -> bool {
    match cause_on_cluster(binding, cluster, &Switches::all_on(PurgeMode::Gracefully)) {
        Verdict::Affected(affected) => stay::stays(binding, &cluster.cluster_name(), &affected.cause).holds(),
        Verdict::NotAffected(_) => {
            // Only an item that names no cause can match where there is none to name.
            stay::stays(
                binding,
                &cluster.cluster_name(),
                &Cause::Application {
                    since: Timestamp::UNIX_EPOCH,
                },
            )
            .holds()
        }
    }
}
