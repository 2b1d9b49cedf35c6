//! Whether the copy on one cluster works, as far as the binding shows. One reading for everybody who lets a copy go
//! because another one works, or keeps one because none does.
//!
//! The status of a cluster that is not Ready proves nothing, and a status that shows fewer replicas than were assigned
//! is that of an earlier placement (karmada#3735), as one from before the cluster was away may be of a member that is
//! another one now. Doubt counts twice: what is not known to work replaces nothing
//! ([`works`]), and what is not known to have stopped may be the last that runs ([`may_run`]).

use std::fmt;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::{
    AggregatedStatusItem, Binding, GracefulEvictionTask, ObjectReference, ResourceHealth, TargetCluster,
};
use jiff::Timestamp;
use serde_json::Value;

use super::kinds::may_report_health;
use crate::cluster_health::freshness::is_of_this_stay;

/// Why a copy does not count as working.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotWorking {
    /// The Cluster does not exist.
    NoCluster,
    /// The cluster's Ready is not True.
    ClusterNotReady,
    /// No status was collected.
    NoStatus,
    /// The object was not applied.
    NotApplied,
    /// The copy is Unhealthy or Unknown.
    Health(ResourceHealth),
    /// Fewer replicas than assigned.
    Replicas {
        /// Replicas that the status shows.
        shown: i64,
        /// Replicas assigned.
        assigned: i64,
    },
    /// What is known is from before the cluster was away, and it may have come back empty.
    FromBefore {
        /// When it counts again unless another report comes.
        until: Timestamp,
    },
}

impl NotWorking {
    /// When it is worth asking again although nothing changed.
    #[must_use]
    pub const fn look_again_at(&self) -> Option<Timestamp> {
        match self {
            Self::FromBefore { until } => Some(*until),
            _ => None,
        }
    }
}

impl fmt::Display for NotWorking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCluster => f.write_str("does not exist"),
            Self::ClusterNotReady => f.write_str("is not Ready"),
            Self::NoStatus => f.write_str("has not reported the copy yet"),
            Self::NotApplied => f.write_str("has not applied the copy yet"),
            Self::Health(health) => write!(f, "reports the copy as {health}"),
            Self::Replicas { shown, assigned } => write!(f, "shows {shown} of {assigned} replicas"),
            Self::FromBefore { .. } => f.write_str("has not reported the copy since it is Ready again"),
        }
    }
}

/// Whether the copy of `target` works on `cluster`, by a report that is not from before the cluster was away.
///
/// # Errors
/// Why not.
pub fn works(
    binding: &Binding,
    target: &TargetCluster,
    cluster: Option<&Cluster>,
    now: Timestamp,
) -> Result<(), NotWorking> {
    let item = reported_to_work(binding, target, cluster)?;
    let collected_at = item.collected_at.as_ref();
    cluster
        .map_or(Ok(()), |cluster| is_of_this_stay(cluster, collected_at, now))
        .map_err(|until| NotWorking::FromBefore { until })
}

/// The same by what stands in the binding, whenever that was reported. Returns what was reported.
fn reported_to_work<'a>(
    binding: &'a Binding,
    target: &TargetCluster,
    cluster: Option<&Cluster>,
) -> Result<&'a AggregatedStatusItem, NotWorking> {
    let cluster = cluster.ok_or(NotWorking::NoCluster)?;
    if !cluster.is_ready() {
        return Err(NotWorking::ClusterNotReady);
    }
    let item = binding
        .status_on(&ClusterName::from(target.name.as_str()))
        .ok_or(NotWorking::NoStatus)?;
    healthy(binding, item)?;
    match replicas_shown(&binding.spec.resource, item.status.as_ref()) {
        Some(shown) if shown < i64::from(target.replicas) => Err(NotWorking::Replicas {
            shown,
            assigned: i64::from(target.replicas),
        }),
        _ => Ok(item),
    }
}

/// Whether the copy of `target` may be running: it was applied or has reported, and is not known to have stopped. An
/// Unhealthy one still runs while its status shows replicas; one that was assigned none runs nothing.
#[must_use]
pub fn may_run(binding: &Binding, target: &TargetCluster) -> bool {
    if binding.spec.is_workload() && target.replicas <= 0 {
        return false;
    }
    let Some(item) = binding.status_on(&ClusterName::from(target.name.as_str())) else {
        return false;
    };
    match item.health {
        Some(ResourceHealth::Unhealthy) => {
            replicas_shown(&binding.spec.resource, item.status.as_ref()).is_some_and(|shown| shown > 0)
        }
        _ => item.applied || item.status.is_some(),
    }
}

/// Whether the copy that a task takes off its cluster stays until another one works: nobody has said in words that it
/// may go before (Directly, a grace period, `suppressDeletion: false`).
#[must_use]
pub fn waits_for_another(task: &GracefulEvictionTask) -> bool {
    task.effective_purge_mode() != PurgeMode::Directly
        && task.grace_period_seconds.is_none_or(|seconds| seconds < 0)
        && task.suppress_deletion != Some(false)
}

/// Kinds without a status or a health rule count as healthy when they are applied. Of a kind that may have a rule, a script
/// perhaps, nothing is known before something was reported.
fn healthy(binding: &Binding, item: &AggregatedStatusItem) -> Result<(), NotWorking> {
    if !item.applied {
        return Err(NotWorking::NotApplied);
    }
    match item.health.clone().unwrap_or(ResourceHealth::Unknown) {
        ResourceHealth::Healthy => Ok(()),
        ResourceHealth::Unknown if item.status.is_none() && !reports_health(binding) => Ok(()),
        other => Err(NotWorking::Health(other)),
    }
}

/// Also a kind that has no rule as far as is known has one when a copy was found unhealthy by it.
fn reports_health(binding: &Binding) -> bool {
    let resource = &binding.spec.resource;
    let mut items = binding.status.iter().flat_map(|status| &status.aggregated_status);
    binding.spec.is_workload()
        || may_report_health(&resource.api_version, &resource.kind)
        || items.any(|item| item.health == Some(ResourceHealth::Unhealthy))
}

/// The replicas that a reflected status shows, where the kind reports any. Counts of zero are left out by Kubernetes.
///
/// A Job that is complete or held back runs no pods and is not asked for any.
#[must_use]
pub fn replicas_shown(resource: &ObjectReference, status: Option<&Value>) -> Option<i64> {
    let count = |field: &str| status.and_then(|status| status.get(field)).and_then(Value::as_i64);
    match (resource.api_version.as_str(), resource.kind.as_str()) {
        ("apps/v1", "Deployment" | "ReplicaSet" | "StatefulSet") => Some(count("availableReplicas").unwrap_or(0)),
        ("batch/v1", "Job") => (!condition_is_true(status, "Complete") && !condition_is_true(status, "Suspended"))
            .then(|| {
                count("active")
                    .unwrap_or(0)
                    .saturating_add(count("succeeded").unwrap_or(0))
            }),
        _ => count("availableReplicas").or_else(|| count("readyReplicas")),
    }
}

fn condition_is_true(status: Option<&Value>, type_: &str) -> bool {
    let conditions = status.and_then(|status| status.get("conditions")?.as_array());
    conditions.is_some_and(|conditions| conditions.iter().any(|c| c["type"] == type_ && c["status"] == "True"))
}
