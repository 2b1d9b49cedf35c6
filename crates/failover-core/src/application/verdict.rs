//! Whether a copy has to leave its cluster because it fails there, since when that is due, and why.

use std::fmt;

use api_types::cluster::Cluster;
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};

use super::clock::{HealthClock, ReadClock, ReadyCount};
use super::health::{Reported, ready_mark};
use super::rules::{Counting, RETURN_SECONDS, Rules};
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
    /// Nobody knows whether it works now. Its clock goes on if it was unhealthy before.
    Unknown,
    /// The cluster returned, and when is not written down yet.
    ReturnNotCounted,
    /// It is unhealthy, and since when is not written down yet.
    NotCounted,
    /// Since when it is unhealthy cannot be read, and will be counted anew.
    UnreadableClock,
    /// `preConditions.healthyState` asks for copies that were healthy once.
    NeverHealthy,
    /// `preConditions.delaySeconds` counts from a time that is not written down yet.
    NotCollected,
}

/// Judges the copy of `binding` on `cluster`, by what is stored: [`verdict_by`] the clock that the binding carries.
#[must_use]
pub fn verdict(binding: &Binding, cluster: &Cluster) -> ApplicationVerdict {
    verdict_by(&HealthClock::of(binding), binding, cluster)
}

/// Judges the copy of `binding` on `cluster`, by the binding's clock, for those who judge several copies.
///
/// Rules: unhealthy now, and for `tolerationSeconds` without having been healthy in between; after the cluster was not
/// Ready, for as long again and at least [`RETURN_SECONDS`] since it is back, so that nothing leaves for a health of before
/// the outage; not before `delaySeconds` after its status was first collected; with `healthyState` only if it was healthy
/// once. What nobody knows in between does not count as healthy, and what nobody knows now moves nothing.
#[must_use]
pub fn verdict_by(clock: &ReadClock, binding: &Binding, cluster: &Cluster) -> ApplicationVerdict {
    match judge(clock, binding, cluster) {
        Ok(affected) => ApplicationVerdict::Affected(affected),
        Err(reason) => ApplicationVerdict::NotAffected(reason),
    }
}

fn judge(clock: &ReadClock, binding: &Binding, cluster: &Cluster) -> Result<Affected, NotFailing> {
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
    let mark = ready_mark(cluster).ok_or(NotFailing::ClusterNotReady)?;
    match Reported::of(binding, &name) {
        Reported::Nothing => return Err(NotFailing::NotReported),
        Reported::Healthy => return Err(NotFailing::Healthy),
        Reported::Unknown => return Err(NotFailing::Unknown),
        Reported::Unhealthy => {}
    }
    let clock = clock.as_ref().map_err(|_| NotFailing::UnreadableClock)?;
    let copy = clock.current(binding, &name);
    let since = copy.unhealthy_since().ok_or(NotFailing::NotCounted)?;
    let item = binding.status_on(&name);
    let settled = copy.settled() || item.is_some_and(|item| item.settled == Some(true));
    if rules.counting == Counting::OnceHealthy && !settled {
        return Err(NotFailing::NeverHealthy);
    }
    let tolerated = rules.toleration_seconds;
    let mut bounds = vec![(after(since, tolerated), DueBy::Toleration { seconds: tolerated })];
    match copy.ready(mark) {
        ReadyCount::Throughout => {}
        ReadyCount::NotCounted => return Err(NotFailing::ReturnNotCounted),
        ReadyCount::Since(back) => {
            let seconds = tolerated.max(RETURN_SECONDS);
            bounds.push((after(back, seconds), DueBy::ClusterReady { seconds, since: back }));
        }
    }
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
            Self::ReturnNotCounted => "ReturnNotCounted",
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
            Self::ReturnNotCounted => "the cluster is Ready again, and since when is not written down yet",
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
