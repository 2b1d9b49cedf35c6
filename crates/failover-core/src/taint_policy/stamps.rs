//! Taints that make workloads leave are due by `timeAdded`: one that has none gets it, whoever added it.

use api_types::cluster::{Cluster, effect};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::outcome::TaintChange;
use super::ownership::Owned;
use super::records::TaintId;

/// How many are stamped in one write: API servers refuse a JSON patch of more than 10,000 operations.
const MOST_IN_ONE_WRITE: usize = 1000;

/// The taints that get a time.
pub(super) struct Stamps {
    pub changes: Vec<TaintChange>,
    /// Whether the next look has more of them.
    pub more: More,
}

/// Whether something is left for the next look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    Yes,
    No,
}

/// Ours gets back what we wrote; others get the time of this look.
pub(super) fn stamps(cluster: &Cluster, owned: &Owned, changes: &[TaintChange], wall: Timestamp) -> Stamps {
    let goes = |at: usize| {
        changes
            .iter()
            .any(|c| matches!(c, TaintChange::Remove { index, .. } if *index == at))
    };
    let timeless = cluster.spec.taints.iter().enumerate().filter(|(index, taint)| {
        let moves_workloads = taint.effect == effect::NO_EXECUTE || taint.effect == effect::PREFER_NO_EXECUTE;
        taint.time_added.is_none() && moves_workloads && !goes(*index)
    });
    let mut changes: Vec<TaintChange> = timeless
        .take(MOST_IN_ONE_WRITE + 1)
        .map(|(index, taint)| {
            let id = TaintId::of(taint);
            let written = owned.entry(&id).filter(|entry| entry.is(taint));
            let time_added = written.and_then(|entry| entry.time_added.clone());
            TaintChange::Stamp {
                id,
                index,
                time_added: time_added.unwrap_or(Time(wall)),
            }
        })
        .collect();
    let more = if changes.len() > MOST_IN_ONE_WRITE {
        More::Yes
    } else {
        More::No
    };
    changes.truncate(MOST_IN_ONE_WRITE);
    Stamps { changes, more }
}
