//! What stood in a binding when a task was first seen: what changed since is fresh.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_types::BindingKey;
use api_types::work::Binding;
use failover_core::graceful::Baseline;
use failover_core::graceful::oddities::surplus;
use failover_core::second_owner::Arrival;
use tokio::time::Instant;

/// What stood in each binding when each of its tasks was first seen.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    tasks: Arc<Mutex<HashMap<BindingKey, BTreeMap<String, Known>>>>,
}

#[derive(Clone)]
struct Known {
    baseline: Arc<Baseline>,
    since: Instant,
    arrival: Arrival,
}

impl Seen {
    /// Takes in one change of a binding. The version before a task appeared is the baseline: what changed with the task
    /// or after it is fresh, also when versions in between were never seen.
    pub(crate) fn apply(&self, key: &BindingKey, before: Option<&Binding>, after: Option<&Binding>) {
        let mut all = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let tasks = after.map_or(&[][..], |after| &after.spec.graceful_eviction_tasks);
        let Some(after) = after.filter(|_| !tasks.is_empty()) else {
            all.remove(key);
            return;
        };
        let known = all.remove(key).unwrap_or_default();
        let had = |cluster: &str| {
            before.is_some_and(|before| {
                before
                    .spec
                    .graceful_eviction_tasks
                    .iter()
                    .any(|task| task.from_cluster == cluster)
            })
        };
        // Of several tasks for one cluster the one that is left counts.
        let surplus = surplus(tasks);
        let kept = tasks
            .iter()
            .enumerate()
            .filter(|(index, _)| !surplus.contains(index))
            .map(|(_, task)| {
                let same = known
                    .get(&task.from_cluster)
                    .filter(|known| known.baseline.is_of(task))
                    .cloned();
                let known = same.unwrap_or_else(|| Known {
                    baseline: Arc::new(Baseline::take(before.filter(|_| !had(&task.from_cluster)), after, task)),
                    since: Instant::now(),
                    // A binding is made without tasks: who shows itself with some was there before we looked.
                    arrival: before.map_or(Arrival::Found, |_| Arrival::Seen),
                });
                (task.from_cluster.clone(), known)
            })
            .collect();
        all.insert(key.clone(), kept);
    }

    /// Whether a task was there when we began to look; one that is not known is too new to say.
    pub(crate) fn arrival(&self, key: &BindingKey, cluster: &str) -> Arrival {
        let all = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(key).and_then(|tasks| tasks.get(cluster));
        known.map_or(Arrival::Found, |known| known.arrival)
    }

    /// The baseline of a task, and for how long it has been known.
    pub(crate) fn get(&self, key: &BindingKey, cluster: &str) -> Option<(Arc<Baseline>, Duration)> {
        let all = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(key)?.get(cluster)?;
        Some((Arc::clone(&known.baseline), known.since.elapsed()))
    }
}
