//! What is stored about the health of one copy.

use api_types::ClusterName;
use api_types::cluster::{Cluster, condition};
use api_types::work::{AggregatedStatusItem, Binding, ResourceHealth};
use jiff::Timestamp;

use crate::eviction::cause::to_the_second;

/// What was last said about a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Nothing: no status of it is there.
    Nothing,
    /// It works.
    Healthy,
    /// It does not.
    Unhealthy,
    /// Nobody knows whether it works.
    Unknown,
}

impl Reported {
    /// Of the copy on `cluster`. A value that this version does not know says nothing about health.
    #[must_use]
    pub fn of(binding: &Binding, cluster: &ClusterName) -> Self {
        match binding.status_on(cluster).map(|item| item.health.as_ref()) {
            None => Self::Nothing,
            Some(Some(ResourceHealth::Healthy)) => Self::Healthy,
            Some(Some(ResourceHealth::Unhealthy)) => Self::Unhealthy,
            Some(Some(ResourceHealth::Unknown | ResourceHealth::Other(_)) | None) => Self::Unknown,
        }
    }
}

/// Whether a status of the copy was ever collected, by what is stored of it.
#[must_use]
pub fn is_collected(item: &AggregatedStatusItem) -> bool {
    let is_known = matches!(item.health, Some(ResourceHealth::Healthy | ResourceHealth::Unhealthy));
    item.creation_timestamp.is_some() || item.status.is_some() || is_known
}

/// The earliest time at which the copy on `cluster` can have been seen, as far as that is stored: what is older speaks of
/// another copy, or of another binding of this name.
#[must_use]
pub fn seen_since(binding: &Binding, cluster: &ClusterName) -> Option<Timestamp> {
    let created = binding.metadata.creation_timestamp.as_ref();
    let collected = binding
        .status_on(cluster)
        .and_then(|item| item.creation_timestamp.as_ref());
    created
        .into_iter()
        .chain(collected)
        .map(|time| to_the_second(time.0))
        .max()
}

/// What the cluster writes beside a Ready that is True, to the second: another value for each time that it returned. Nothing
/// where it is not Ready. It is the time of a clock that may be anybody's.
#[must_use]
pub fn ready_mark(cluster: &Cluster) -> Option<Timestamp> {
    let ready = cluster.condition(condition::READY)?;
    (ready.status == "True").then(|| to_the_second(ready.last_transition_time.0))
}
