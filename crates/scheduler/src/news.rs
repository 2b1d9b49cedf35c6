//! What was heard of clusters lately: whom a change concerns, also where his place is only being written.
//!
//! A binding whose result or condition is on its way stands in the indexes as it was before, so that a change of a cluster
//! may not find it there. When it is shown, what was heard since its decision began is asked again, by the same rule.

use std::collections::VecDeque;
use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::work::Binding;
use controller_kit::Change;
use parking_lot::Mutex;
use scheduler_filters::Plugins;
use scheduler_filters::wake::{self, Concerned, Concerns};

/// How much was heard so far.
pub(crate) type News = u64;

/// Changes that are remembered. Who decided before the first of them is looked at again whatever they were.
const REMEMBERED: usize = 64;

/// Clones share what they heard.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    log: Arc<Mutex<Log>>,
}

#[derive(Default)]
struct Log {
    /// How many were heard so far.
    count: News,
    /// The last of them.
    last: VecDeque<Item>,
}

/// Something that concerns bindings which it does not name.
#[derive(Clone)]
pub(crate) enum Item {
    /// A cluster changed.
    Cluster(Arc<ClusterChange>),
    /// Somebody else empties clusters that are being deleted than before.
    Emptying,
}

/// A change of a cluster that concerns somebody.
pub(crate) struct ClusterChange {
    name: String,
    before: Option<Arc<Cluster>>,
    after: Option<Arc<Cluster>>,
    /// The groups of bindings that it concerns.
    pub(crate) concerns: Concerns,
}

impl Heard {
    /// How much was heard so far. What is decided by less, and not shown by the cache yet, may be concerned.
    pub(crate) fn news(&self) -> News {
        self.log.lock().count
    }

    pub(crate) fn add(&self, item: Item) {
        let mut log = self.log.lock();
        log.count += 1;
        log.last.push_back(item);
        if log.last.len() > REMEMBERED {
            log.last.pop_front();
        }
    }

    /// What was heard after `since`; absent where not all of it is remembered.
    fn after(&self, since: News) -> Option<Vec<Item>> {
        let log = self.log.lock();
        let count = usize::try_from(log.count.saturating_sub(since)).ok()?;
        let skipped = log.last.len().checked_sub(count)?;
        Some(log.last.iter().skip(skipped).cloned().collect())
    }

    /// Whether a binding as it is shown now is concerned by something that was heard after `since`.
    pub(crate) fn concerns_since(
        &self,
        since: News,
        binding: &Binding,
        scheduler_name: &str,
        clusters: impl FnOnce() -> Vec<Arc<Cluster>>,
    ) -> bool {
        let Some(items) = self.after(since) else {
            return true;
        };
        if items.is_empty() {
            return false;
        }
        let clusters = clusters();
        items.iter().any(|item| match item {
            Item::Cluster(change) => change.concerns(binding, scheduler_name, &clusters),
            Item::Emptying => {
                let mut going = clusters.iter().filter(|cluster| cluster.is_being_deleted());
                going.any(|cluster| binding.spec.target(&cluster.cluster_name()).is_some())
            }
        })
    }
}

impl ClusterChange {
    /// The cluster.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// None where it concerns nobody.
    pub(crate) fn of(change: &Change<Cluster>, plugins: &Plugins) -> Option<Self> {
        let concerns = wake::concerns(change.before.as_deref(), change.after.as_deref(), plugins);
        (concerns != Concerns::default()).then(|| Self {
            name: change.key.name.clone(),
            before: change.before.clone(),
            after: change.after.clone(),
            concerns,
        })
    }

    /// Whether one that seeks a place could choose the cluster, before or after.
    pub(crate) fn concerns_seeker(&self, binding: &Binding) -> bool {
        let mut each = [&self.before, &self.after].into_iter().flatten();
        each.any(|cluster| wake::could_choose(binding, cluster))
    }

    /// Whether one that waits for room may find enough now, with what all clusters have.
    pub(crate) fn concerns_short(&self, binding: &Binding, clusters: &[Arc<Cluster>]) -> bool {
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return false;
        };
        wake::could_choose(binding, after)
            && wake::has_more_room(binding, before, after)
            && wake::may_hold(binding, clusters.iter().map(AsRef::as_ref))
    }

    fn concerns(&self, binding: &Binding, scheduler_name: &str, clusters: &[Arc<Cluster>]) -> bool {
        let wakes = wake::wakes(binding, scheduler_name);
        let is_in = |groups: &[&str]| wakes.iter().any(|group| groups.contains(&group.as_str()));
        self.concerns.holders == Concerned::Yes && wake::holders(binding, scheduler_name).contains(&self.name)
            || self.concerns.seekers == Concerned::Yes && is_in(&wake::SEEKERS) && self.concerns_seeker(binding)
            || self.concerns.short == Concerned::Yes && is_in(&[wake::SHORT]) && self.concerns_short(binding, clusters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_remembered_concerns_everybody() {
        let heard = Heard::default();
        let binding = Binding::new(&api_types::BindingKey::namespaced("n", "b"), Default::default());
        let concerned = |since| heard.concerns_since(since, &binding, "default-scheduler", Vec::new);
        assert!(!concerned(0));
        for _ in 0..REMEMBERED {
            heard.add(Item::Emptying);
        }
        assert!(!concerned(0), "it is on no cluster that goes");
        heard.add(Item::Emptying);
        assert!(concerned(0));
        assert!(!concerned(1));
        assert!(!concerned(heard.news()));
    }
}
