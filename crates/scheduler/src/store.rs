//! What the scheduler knows: bindings of both kinds and clusters, each from one shared informer.

use std::collections::BTreeSet;
use std::sync::Arc;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::work::{AggregatedStatusItem, Binding};
use binding_writer::{BindingInformers, BindingStores, binding_key};
use controller_kit::informer::Stopped;
use controller_kit::{Change, Context, Informer, ObjectKey, Store, WorkQueue};
use parking_lot::Mutex;
use scheduler_filters::last_copy::keeps_a_copy;
use scheduler_filters::wake::{self, Concerned};
use scheduler_filters::{Fleet, Plugins, ours};

use crate::counts::{Counts, Incoming};
use crate::news::{ClusterChange, Heard, Item, News};
use crate::own::{Own, Shown};

/// Reads of what is known; only of what has synced.
#[derive(Clone)]
pub(crate) struct Stores {
    bindings: BindingStores,
    clusters: Store<Cluster>,
    heard: Heard,
}

pub(crate) struct Informers {
    bindings: BindingInformers,
    clusters: Informer<Cluster>,
}

/// What changes are judged by.
#[derive(Clone)]
pub(crate) struct Watching {
    pub(crate) scheduler_name: String,
    pub(crate) plugins: Plugins,
    pub(crate) own: Own,
    pub(crate) counts: Counts,
}

impl Informers {
    pub(crate) fn of(ctx: &Context, scheduler_name: &str) -> Self {
        let bindings = BindingInformers::of(ctx, |informer| {
            let name = scheduler_name.to_owned();
            informer.index(wake::HOLDERS, move |binding| wake::holders(binding, &name));
            let name = scheduler_name.to_owned();
            informer.index(wake::WAKES, move |binding| wake::wakes(binding, &name));
        });
        Self {
            bindings,
            clusters: ctx.informers.of::<Cluster>(),
        }
    }

    pub(crate) async fn synced(&self) -> Result<Stores, Stopped> {
        Ok(Stores {
            clusters: self.clusters.synced().await?,
            bindings: self.bindings.synced().await?,
            heard: Heard::default(),
        })
    }

    /// Puts every binding that a change concerns into the queue.
    pub(crate) fn follow(&self, ctx: &Context, queue: &WorkQueue<BindingKey>, stores: &Stores, watching: &Watching) {
        for informer in self.bindings.each() {
            let (watching, stores) = (watching.clone(), stores.clone());
            queue.follow(ctx, informer.changes(), move |change| {
                let key = to_look_at(change, &watching.scheduler_name, &watching.own, |since, shown| {
                    stores.concerned_since(since, shown, &watching.scheduler_name)
                })?;
                let why = if change.before.is_none() {
                    Incoming::BindingAdded
                } else {
                    Incoming::BindingUpdated
                };
                watching.counts.incoming(why, 1);
                Some(key)
            });
        }
        // What is known now is looked at with the bindings themselves, until it first changes.
        let known: Mutex<BTreeSet<ObjectKey>> = Mutex::new(stores.clusters.keys().into_iter().collect());
        let (stores, watching) = (stores.clone(), watching.clone());
        queue.follow(ctx, self.clusters.changes(), move |change| {
            if known.lock().remove(&change.key) && change.before.is_none() {
                return Vec::new();
            }
            let concerned = stores.concerned_by(change, &watching.plugins);
            watching.counts.incoming(Incoming::ClusterChanged, concerned.len());
            concerned
        });
    }
}

impl Stores {
    pub(crate) fn binding(&self, key: &BindingKey) -> Option<Arc<Binding>> {
        self.bindings.get(key)
    }

    /// How many changes have come so far that concern bindings which are not named in them.
    pub(crate) fn news(&self) -> News {
        self.heard.news()
    }

    /// Whether what was heard of clusters after `since` concerns a binding as it is shown now.
    fn concerned_since(&self, since: News, shown: &Binding, scheduler_name: &str) -> bool {
        let clusters = || self.clusters.list();
        self.heard.concerns_since(since, shown, scheduler_name, clusters)
    }

    pub(crate) fn fleet(&self) -> Fleet {
        self.clusters.list().into_iter().collect()
    }

    /// The bindings that are placed on a cluster that is being deleted.
    pub(crate) fn on_clusters_that_go(&self) -> BTreeSet<BindingKey> {
        self.heard.add(Item::Emptying);
        let mut keys = BTreeSet::new();
        for cluster in self.clusters.list().iter().filter(|cluster| cluster.is_being_deleted()) {
            let name = cluster.cluster_name();
            let holders = self.bindings.by_index(wake::HOLDERS, name.as_str());
            keys.extend(holders.map(|binding| binding.key()));
        }
        keys
    }

    fn concerned_by(&self, change: &Change<Cluster>, plugins: &Plugins) -> Vec<BindingKey> {
        let Some(change) = ClusterChange::of(change, plugins) else {
            return Vec::new();
        };
        let change = Arc::new(change);
        // First, and then who is concerned: whose place is written only now is found by the one or by the other.
        self.heard.add(Item::Cluster(change.clone()));
        let mut keys = BTreeSet::new();
        if change.concerns.holders == Concerned::Yes {
            let holders = self.bindings.by_index(wake::HOLDERS, change.name());
            keys.extend(holders.map(|binding| binding.key()));
        }
        if change.concerns.seekers == Concerned::Yes {
            for group in wake::SEEKERS {
                let seekers = self.bindings.by_index(wake::WAKES, group);
                let concerned = seekers.filter(|binding| change.concerns_seeker(binding));
                keys.extend(concerned.map(|binding| binding.key()));
            }
        }
        if change.concerns.short == Concerned::Yes {
            let clusters = self.clusters.list();
            let short = self.bindings.by_index(wake::WAKES, wake::SHORT);
            let concerned: Vec<BindingKey> = short
                .filter(|binding| !keys.contains(&binding.key()) && change.concerns_short(binding, &clusters))
                .map(|binding| binding.key())
                .collect();
            keys.extend(concerned);
        }
        keys.into_iter().collect()
    }
}

/// The binding of a change that it concerns; of another one only what it ends is taken in.
fn to_look_at(
    change: &Change<Binding>,
    scheduler_name: &str,
    own: &Own,
    is_concerned_since: impl FnOnce(News, &Binding) -> bool,
) -> Option<BindingKey> {
    let key = binding_key(&change.key);
    let Some(after) = change.after.as_deref() else {
        own.forget(&key);
        return None;
    };
    let look = match own.saw(after, |since| is_concerned_since(since, after)) {
        Shown::Superseded | Shown::Own => false,
        Shown::Awaited => true,
        Shown::Others => change.before.as_deref().is_none_or(|before| concerned(before, after)),
    };
    (look && ours(after, scheduler_name).is_ok()).then_some(key)
}

/// What is decided by changed. Statuses of copies change often and concern nobody here, unless a copy is kept until
/// another one works.
fn concerned(before: &Binding, after: &Binding) -> bool {
    let decided_by = |binding: &Binding| {
        (
            binding.metadata.generation,
            binding.metadata.labels.clone(),
            binding.metadata.annotations.clone(),
            binding
                .status
                .as_ref()
                .and_then(|status| status.scheduler_observed_generation),
            binding.condition(api_types::work::condition::SCHEDULED).cloned(),
        )
    };
    decided_by(before) != decided_by(after) || keeps_a_copy(after) && copies(before) != copies(after)
}

fn copies(binding: &Binding) -> Option<&[AggregatedStatusItem]> {
    Some(&binding.status.as_ref()?.aggregated_status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_that_goes_after_its_last_write_leaves_nothing_behind() {
        let own = Own::default();
        let binding = Arc::new(Binding::new(&BindingKey::namespaced("n", "b"), Default::default()));
        let (mut read, mut written) = ((*binding).clone(), (*binding).clone());
        read.metadata.resource_version = Some("1".to_owned());
        written.metadata.resource_version = Some("2".to_owned());
        own.deciding(0).wrote(&read, &written);
        let gone = Change {
            key: ObjectKey::namespaced("n", "b"),
            before: Some(binding),
            after: None,
        };
        assert_eq!(to_look_at(&gone, "default-scheduler", &own, |_, _| false), None);
        assert!(own.is_empty());
    }
}
