//! Rule 7, of tasks: what another producer wrote stays as it is.

use api_types::work::{Binding, task};
use jiff::Timestamp;

use super::Checker;

impl Checker {
    /// Rule 7: the content of a task that another producer wrote does not change; that it ends is our job.
    pub(super) fn check_foreign_tasks(&mut self, before: &Binding, after: &Binding, now: Timestamp) {
        let ours = [
            task::TAINT_MANAGER,
            task::DEPENDENCY_MIRROR,
            task::APPLICATION_FAILOVER,
            task::CLUSTER_APPLICATION_FAILOVER,
        ];
        for old in before
            .spec
            .graceful_eviction_tasks
            .iter()
            .filter(|task| !ours.contains(&task.producer.as_str()))
        {
            let Some(new) = after.spec.task(&old.from_cluster.as_str().into()) else {
                continue;
            };
            let mut stamped = old.clone();
            stamped.creation_timestamp = old
                .creation_timestamp
                .clone()
                .or_else(|| new.creation_timestamp.clone());
            if stamped != *new {
                self.broken(
                    7,
                    now,
                    format!(
                        "{}: the task of {} for {} was changed",
                        after.key(),
                        old.producer,
                        old.from_cluster
                    ),
                );
            }
        }
    }
}
