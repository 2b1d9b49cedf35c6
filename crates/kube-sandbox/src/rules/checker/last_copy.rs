//! Rule 4: the last running copy stays, but by its owner's word.
//!
//! Of a copy that a task gives up, a word is one on the task: Directly, a grace period, `suppressDeletion: false`. Of one
//! that leaves the result without a task, as a schedule does it, the placement and the workload speak:
//!
//! - a placement that does not name the cluster any more is the owner's word: run nothing there;
//! - so is a workload of no replicas.

use std::collections::BTreeSet;

use api_types::ClusterName;
use api_types::placement::Placement;
use api_types::policy::PurgeMode;
use api_types::work::{AggregatedStatusItem, Binding, GracefulEvictionTask, ResourceHealth, task};
use jiff::Timestamp;

use super::Checker;
use crate::rules::reference;

impl Checker {
    /// Rule 4: a copy leaves for good only while another one runs, unless the owner said otherwise in words. Fewer
    /// replicas, or another division of them, are no such word: they say how many are to run, not that none may.
    pub(super) fn check_departures(&mut self, before: &Binding, after: &Binding, now: Timestamp) {
        if after.is_being_deleted() {
            return;
        }
        let placed = |binding: &Binding| -> BTreeSet<String> {
            let targets = binding.spec.clusters.iter().map(|target| target.name.clone());
            targets
                .chain(
                    binding
                        .spec
                        .graceful_eviction_tasks
                        .iter()
                        .map(|task| task.from_cluster.clone()),
                )
                .collect()
        };
        let remaining = placed(after);
        for cluster in placed(before).difference(&remaining) {
            let name = ClusterName::from(cluster.as_str());
            let was_running = before
                .status_on(&name)
                .is_some_and(|item| item.applied && item.health != Some(ResourceHealth::Unhealthy));
            let exists = self.clusters.contains_key(cluster);
            let word = match before.spec.task(&name) {
                Some(task) => owner_gave_the_word(task),
                None => self.may_be_left_out(before, cluster, now),
            };
            let other_runs = remaining.iter().any(|other| {
                after
                    .status_on(&other.as_str().into())
                    .is_some_and(|item| runs(after, item))
            });
            if was_running && exists && !word && !other_runs {
                self.broken(
                    4,
                    now,
                    format!(
                        "{}: the copy on {cluster} was given up and no other copy is healthy",
                        after.key()
                    ),
                );
            }
        }
    }

    /// Whether a schedule of this binding may leave out the last copy on this cluster: see the head of the file.
    fn may_be_left_out(&self, binding: &Binding, cluster: &str, now: Timestamp) -> bool {
        let anywhere = Placement::default();
        let placement = binding.spec.placement.as_ref().unwrap_or(&anywhere);
        let spec = &binding.spec;
        let is_scaled_to_nothing = spec.is_workload() && binding.replicas() <= 0;
        let present = self.clusters.get(cluster);
        let mut versions = present
            .into_iter()
            .chain(self.old_clusters.of(cluster, now, self.settings.lag));
        is_scaled_to_nothing || versions.any(|cluster| !reference::is_named(placement, cluster))
    }
}

/// Whether the copy is healthy; of kinds that know no health, whether it was applied.
fn runs(binding: &Binding, item: &AggregatedStatusItem) -> bool {
    match item.health {
        Some(ResourceHealth::Healthy) => true,
        Some(ResourceHealth::Unhealthy) => false,
        _ => item.applied && !binding.spec.is_workload(),
    }
}

/// A mirror is nobody's last copy: it goes with the task of the workload that needs the object, and that one is judged.
fn owner_gave_the_word(task: &GracefulEvictionTask) -> bool {
    task.producer == task::DEPENDENCY_MIRROR
        || task.effective_purge_mode() == PurgeMode::Directly
        || task.grace_period_seconds.is_some()
        || task.suppress_deletion == Some(false)
}
