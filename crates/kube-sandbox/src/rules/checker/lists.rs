//! Rule 3: a cluster is in spec.clusters or in the tasks; at most one task for a cluster.

use std::collections::BTreeSet;

use api_types::work::Binding;
use jiff::Timestamp;

use super::Checker;

impl Checker {
    /// Rule 3: at most one task for a cluster; not in both lists for longer than it takes to settle.
    pub(super) fn check_lists(&mut self, binding: &Binding, now: Timestamp) {
        let key = binding.key();
        let mut left = BTreeSet::new();
        for task in &binding.spec.graceful_eviction_tasks {
            if !left.insert(task.from_cluster.clone()) {
                self.broken(3, now, format!("{key}: two tasks for {}", task.from_cluster));
            }
        }
        for cluster in binding.spec.clusters.iter().map(|target| &target.name) {
            let entry = (key.clone(), cluster.clone());
            if left.contains(cluster) {
                let since = *self.in_both_since.entry(entry).or_insert(now);
                if now.duration_since(since) > self.settings.settle {
                    self.broken(
                        3,
                        now,
                        format!("{key}: {cluster} stands in spec.clusters and in the tasks since {since}"),
                    );
                }
            } else {
                self.in_both_since.remove(&entry);
            }
        }
        self.in_both_since.retain(|(of, cluster), _| {
            *of != key || binding.spec.clusters.iter().any(|target| target.name == *cluster) && left.contains(cluster)
        });
    }
}
