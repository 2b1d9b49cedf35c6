//! Rule 1, the rate of evictions, and rule 2: none before its due time, none without a cause.

use api_types::work::{Binding, task};
use jiff::Timestamp;

use super::Checker;
use crate::rules::reference;

impl Checker {
    /// Rules 1 (rate) and 2 (no eviction before its due time, none without a cause).
    pub(super) fn check_evictions(&mut self, before: &Binding, after: &Binding, now: Timestamp) {
        let key = after.key();
        let new_tasks = after.spec.graceful_eviction_tasks.iter().filter(|task| {
            task.producer != task::DEPENDENCY_MIRROR && before.spec.task(&task.from_cluster.as_str().into()).is_none()
        });
        for task in new_tasks {
            self.evictions.push((now, key.clone(), task.from_cluster.clone()));
            let at = self.time_of(task.creation_timestamp.as_ref(), now);
            // What is seen late may be from before what was seen already.
            let place = self.eviction_times.partition_point(|time| *time <= at);
            self.eviction_times.insert(place, at);
            self.check_rate(now);
            if task.reason != task::TAINT_UNTOLERATED {
                continue;
            }
            let due = self
                .clusters
                .get(&task.from_cluster)
                .into_iter()
                .chain(self.old_clusters.of(&task.from_cluster, now, self.settings.lag))
                .filter_map(|cluster| reference::earliest_eviction(before, cluster))
                .min();
            let shown = format!("{key} was evicted from {}", task.from_cluster);
            match due {
                None => self.broken(2, now, format!("{shown} without a cause on the cluster")),
                Some(due) if now < due - self.settings.slack => {
                    self.broken(2, now, format!("{shown} before it was due at {due}"));
                }
                Some(_) => {}
            }
        }
    }

    fn check_rate(&mut self, now: Timestamp) {
        let slack = (self.settings.slack + self.settings.write_delay).as_secs_f64();
        let last = self.eviction_times.last().copied().unwrap_or(now);
        let broken = self.eviction_times.iter().enumerate().find_map(|(index, start)| {
            let count = self.eviction_times.len() - index;
            let window = last.duration_since(*start).as_secs_f64() + slack;
            #[expect(clippy::cast_precision_loss, reason = "counts of evictions are small")]
            let too_many = count as f64 > self.settings.evictions_per_second * window + 1.0 + 1e-6;
            too_many.then(|| {
                format!(
                    "{count} evictions within {window:.1} s at {} a second",
                    self.settings.evictions_per_second
                )
            })
        });
        if let Some(what) = broken {
            self.broken(1, now, what);
        }
    }
}
