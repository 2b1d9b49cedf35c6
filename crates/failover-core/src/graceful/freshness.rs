//! Whether a status was collected after the eviction.
//!
//! A new target may still carry the status of an earlier stay there. It counts as fresh when it appeared or changed
//! since the task was first seen, compared by content, not by clocks. A baseline keeps what stood there then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api_types::work::{AggregatedStatusItem, Binding, GracefulEvictionTask};
use jiff::Timestamp;

/// After so long a status that a process found when it started counts as fresh although it did not change: whoever
/// collects statuses would have dropped or changed a stale one by then.
pub const SETTLED_AFTER: Duration = Duration::from_secs(60);

/// How a task came to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The binding was known before the task was written: the baseline is from before the task.
    Live,
    /// The task was there when the binding was first seen: nobody knows what is older than the task.
    WithTheBinding,
}

/// What stood in a binding when one of its tasks was first seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    found: Found,
    created_at: Option<Timestamp>,
    items: BTreeMap<String, AggregatedStatusItem>,
    /// Clusters that held a copy in use: in the result or on their way out.
    holders: BTreeSet<String>,
}

impl Baseline {
    /// The baseline of `task`, first seen in `after`; `before` is the version that was known until then.
    #[must_use]
    pub fn take(before: Option<&Binding>, after: &Binding, task: &GracefulEvictionTask) -> Self {
        let known = before.unwrap_or(after);
        let items = known.status.iter().flat_map(|status| &status.aggregated_status);
        let targets = known.spec.clusters.iter().map(|target| target.name.clone());
        let leaving = known
            .spec
            .graceful_eviction_tasks
            .iter()
            .map(|task| task.from_cluster.clone());
        Self {
            found: if before.is_some() {
                Found::Live
            } else {
                Found::WithTheBinding
            },
            created_at: task.creation_timestamp.as_ref().map(|time| time.0),
            items: items.map(|item| (item.cluster_name.clone(), item.clone())).collect(),
            // Found with the binding, the result may hold the replacement already: only what the task says counts.
            holders: if before.is_some() {
                targets.chain(leaving).collect()
            } else {
                leaving.collect()
            },
        }
    }

    /// Whether this is the baseline of `task` and not of an earlier one for the same cluster.
    #[must_use]
    pub fn is_of(&self, task: &GracefulEvictionTask) -> bool {
        let created_at = task.creation_timestamp.as_ref().map(|time| time.0);
        self.created_at.is_none() || self.created_at == created_at
    }

    /// Whether the status of the copy on `cluster` counts as fresh for `task`.
    ///
    /// Of clusters that held a copy before the failure freshness is not asked: the copy is the same. A status whose
    /// first collection is younger than the task is fresh too: both times were written by the control plane.
    #[must_use]
    pub fn is_fresh(&self, binding: &Binding, task: &GracefulEvictionTask, cluster: &str, seen_for: Duration) -> bool {
        if self.holders.contains(cluster) || task.clusters_before_failover.iter().any(|before| before == cluster) {
            return true;
        }
        let items = binding.status.iter().flat_map(|status| &status.aggregated_status);
        let Some(item) = items.into_iter().find(|item| item.cluster_name == cluster) else {
            return false;
        };
        if self.items.get(cluster) != Some(item) {
            return true;
        }
        let collected_after = match (&item.creation_timestamp, &task.creation_timestamp) {
            (Some(collected), Some(written)) => collected.0 > written.0,
            _ => false,
        };
        collected_after || (self.found == Found::WithTheBinding && seen_for >= SETTLED_AFTER)
    }

    /// How long from now an unchanged status becomes fresh by itself, if it does.
    #[must_use]
    pub fn settles_in(&self, seen_for: Duration) -> Option<Duration> {
        (self.found == Found::WithTheBinding).then(|| SETTLED_AFTER.saturating_sub(seen_for))
    }
}
