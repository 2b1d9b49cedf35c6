//! Which entry of the queue is wanted of one copy.

use api_types::cluster::Cluster;
use api_types::work::Binding;

use super::clock::{HealthClock, ReadClock};
use super::verdict::{ApplicationVerdict, NotFailing, verdict_by};
use crate::eviction::desired_entry::{Nothing, Wanted, by_stay, entry_of};

pub use crate::eviction::desired_entry::withdraw_reason;

/// Judges one copy: [`wanted_by`] the clock that the binding carries.
#[must_use]
pub fn wanted(binding: Option<&Binding>, cluster: Option<&Cluster>) -> Wanted {
    let clock = binding.map_or_else(|| Ok(HealthClock::default()), HealthClock::of);
    wanted_by(&clock, binding, cluster)
}

/// Judges one copy by the binding's clock, for those who judge several. What has no name or UID yet is not there.
#[must_use]
pub fn wanted_by(clock: &ReadClock, binding: Option<&Binding>, cluster: Option<&Cluster>) -> Wanted {
    entry_of(binding, cluster, |binding, cluster| {
        match verdict_by(clock, binding, cluster) {
            ApplicationVerdict::Affected(affected) => {
                let hold = by_stay(binding, cluster, &affected.cause);
                Ok((affected, hold))
            }
            ApplicationVerdict::NotAffected(reason) => Err(nothing(reason)),
        }
    })
}

fn nothing(reason: NotFailing) -> Nothing {
    match reason {
        NotFailing::BindingDeleted | NotFailing::NotThere => Nothing::BindingGone,
        NotFailing::AlreadyLeaving => Nothing::Leaving,
        NotFailing::NotAsked => Nothing::Tolerated,
        NotFailing::ClusterNotReady => Nothing::ClusterNotReady,
        NotFailing::Unknown | NotFailing::ReturnNotCounted => Nothing::NotKnown,
        NotFailing::NotReported
        | NotFailing::Healthy
        | NotFailing::NotCounted
        | NotFailing::UnreadableClock
        | NotFailing::NeverHealthy
        | NotFailing::NotCollected => Nothing::NoCause,
    }
}

#[cfg(test)]
#[path = "wanted_tests.rs"]
mod tests;
