//! Whether a copy has to leave its cluster because it fails there, since when that is due, and why.

use std::fmt;

use api_types::cluster::Cluster;
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};

use super::clock::HealthClock;
use super::health::{Reported, ready_since};
use super::rules::{Counting, Rules};
use crate::eviction::verdict::DueBy;
use crate::eviction::{Affected, Cause, Why};

/// Whether a copy has to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplicationVerdict {
    /// It stays.
    NotAffected(NotFailing),
    /// It leaves, at the due time or after it.
    Affected(Affected),
}

/// Why a copy stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFailing {
    /// The binding is being deleted.
    BindingDeleted,
    /// The cluster is not in `spec.clusters`.
    NotThere,
    /// The cluster is in `spec.gracefulEvictionTasks` already.
    AlreadyLeaving,
    /// There is no `spec.failover.application`.
    NotAsked,
    /// The cluster is not Ready: what is stored of the copy's health is old, and the cluster's failure is another matter.
    ClusterNotReady,
    /// No status of the copy is there.
    NotReported,
    /// It works.
    Healthy,
    /// Nobody knows whether it works, and it was not known to be unhealthy.
    Unknown,
    /// It is unhealthy, and since when is not written down yet.
    NotCounted,
    /// Since when it is unhealthy cannot be read, and will be counted anew.
    UnreadableClock,
    /// `preConditions.healthyState` asks for copies that were healthy once.
    NeverHealthy,
    /// `preConditions.delaySeconds` counts from a time that is not written down yet.
    NotCollected,
}

/// Judges the copy of `binding` on `cluster`, by what is stored.
///
/// Rules: unhealthy for `tolerationSeconds` without having been healthy in between, and for as long on a cluster that is
/// Ready without interruption; not before `delaySeconds` after its status was first collected; with `healthyState` only
/// if it was healthy once. What nobody knows in between does not count as healthy.
#[must_use]
pub fn verdict(binding: &Binding, cluster: &Cluster) -> ApplicationVerdict {
    match judge(binding, cluster) {
        Ok(affected) => ApplicationVerdict::Affected(affected),
        Err(reason) => ApplicationVerdict::NotAffected(reason),
    }
}

fn judge(binding: &Binding, cluster: &Cluster) -> Result<Affected, NotFailing> {
    let name = cluster.cluster_name();
    if binding.is_being_deleted() {
        return Err(NotFailing::BindingDeleted);
    }
    if binding.spec.task(&name).is_some() {
        return Err(NotFailing::AlreadyLeaving);
    }
    if binding.spec.target(&name).is_none() {
        return Err(NotFailing::NotThere);
    }
    let rules = Rules::of(binding).ok_or(NotFailing::NotAsked)?;
    let ready_since = ready_since(cluster).ok_or(NotFailing::ClusterNotReady)?;
    let reported = Reported::of(binding, &name);
    match reported {
        Reported::Nothing => return Err(NotFailing::NotReported),
        Reported::Healthy => return Err(NotFailing::Healthy),
        Reported::Unhealthy | Reported::Unknown => {}
    }
    let clock = HealthClock::of(binding).map_err(|_| NotFailing::UnreadableClock)?;
    let copy = clock.current(binding, &name);
    let since = copy.unhealthy_since().ok_or(match reported {
        Reported::Unhealthy => NotFailing::NotCounted,
        _ => NotFailing::Unknown,
    })?;
    let item = binding.status_on(&name);
    let settled = copy.settled() || item.is_some_and(|item| item.settled == Some(true));
    if rules.counting == Counting::OnceHealthy && !settled {
        return Err(NotFailing::NeverHealthy);
    }
    let tolerated = rules.toleration_seconds;
    let mut bounds = vec![
        (after(since, tolerated), DueBy::Toleration { seconds: tolerated }),
        (
            after(ready_since, tolerated),
            DueBy::ClusterReady {
                seconds: tolerated,
                since: ready_since,
            },
        ),
    ];
    if let Some(seconds) = rules.delay_seconds {
        let collected = item
            .and_then(|item| item.creation_timestamp.as_ref())
            .map(|time| time.0);
        let at = collected.or(copy.first_collected()).ok_or(NotFailing::NotCollected)?;
        bounds.push((after(at, seconds), DueBy::Delay { seconds, at }));
    }
    // The last of them; of several at one time the first that is named here.
    let (due_at, by) = bounds
        .into_iter()
        .reduce(|latest, bound| if bound.0 > latest.0 { bound } else { latest })
        .unwrap_or((since, DueBy::Toleration { seconds: tolerated }));
    Ok(Affected {
        cause: Cause::Application { since },
        due_at,
        purge_mode: rules.purge_mode,
        grace_period_seconds: rules.grace_period_seconds,
        why: Why::Unhealthy(by),
    })
}

/// A time beyond the calendar is its end: for ever, for us.
fn after(at: Timestamp, seconds: i64) -> Timestamp {
    at.saturating_add(SignedDuration::from_secs(seconds))
        .unwrap_or(Timestamp::MAX)
}

impl NotFailing {
    /// One word in CamelCase.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::BindingDeleted => "BindingDeleted",
            Self::NotThere => "NotOnCluster",
            Self::AlreadyLeaving => "AlreadyLeaving",
            Self::NotAsked => "NotAskedFor",
            Self::ClusterNotReady => "ClusterNotReady",
            Self::NotReported => "NotReported",
            Self::Healthy => "Healthy",
            Self::Unknown => "HealthUnknown",
            Self::NotCounted => "NotCounted",
            Self::UnreadableClock => "UnreadableClock",
            Self::NeverHealthy => "NeverHealthy",
            Self::NotCollected => "NotCollected",
        }
    }
}

impl fmt::Display for NotFailing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BindingDeleted => "the binding is being deleted",
            Self::NotThere => "the cluster is not in spec.clusters",
            Self::AlreadyLeaving => "the cluster is in spec.gracefulEvictionTasks already",
            Self::NotAsked => "the binding has no spec.failover.application",
            Self::ClusterNotReady => "the cluster is not Ready, so that the application's health there is not known",
            Self::NotReported => "no status of the application there is reported",
            Self::Healthy => "the application is healthy there",
            Self::Unknown => "whether the application is healthy there is not known",
            Self::NotCounted => "since when the application is unhealthy is not written down yet",
            Self::UnreadableClock => {
                return write!(
                    f,
                    "the annotation {} cannot be read",
                    api_types::names::annotation::HEALTH_CLOCK
                );
            }
            Self::NeverHealthy => {
                "the application was never healthy there, and preConditions.healthyState asks for that"
            }
            Self::NotCollected => "when the application's status was first collected is not written down yet",
        })
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
