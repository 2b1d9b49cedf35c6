//! What the scheduler knows: bindings of both kinds and clusters, each from one shared informer.

use std::collections::BTreeSet;
use std::sync::Arc;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::work::{AggregatedStatusItem, Binding};
use binding_writer::{BindingInformers, BindingStores, OwnWrites, binding_key};
use controller_kit::informer::Stopped;
use controller_kit::{Change, Context, Informer, ObjectKey, Store, WorkQueue};
use scheduler_filters::Fleet;

use crate::plan::keeps_a_copy;
use crate::wake::{self, Concerned};

/// Reads of what is known; only of what has synced.
#[derive(Clone)]
pub(crate) struct Stores {
    bindings: BindingStores,
    clusters: Store<Cluster>,
}

pub(crate) struct Informers {
    bindings: BindingInformers,
    clusters: Informer<Cluster>,
}

impl Informers {
    pub(crate) fn of(ctx: &Context) -> Self {
        let bindings = BindingInformers::of(ctx, |informer| {
            informer.index(wake::HOLDERS, wake::holders);
            informer.index(wake::WAKES, wake::wakes);
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
        })
    }

    /// Puts every binding that a change concerns into the queue.
    pub(crate) fn follow(&self, ctx: &Context, queue: &WorkQueue<BindingKey>, stores: &Stores, own: &OwnWrites) {
        for informer in self.bindings.each() {
            let own = own.clone();
            queue.follow(ctx, informer.changes(), move |change| to_look_at(change, &own));
        }
        // What is known now is looked at with the bindings themselves.
        let known: BTreeSet<ObjectKey> = stores.clusters.keys().into_iter().collect();
        let stores = stores.clone();
        queue.follow(ctx, self.clusters.changes(), move |change| {
            if change.before.is_none() && known.contains(&change.key) {
                Vec::new()
            } else {
                stores.concerned_by(change)
            }
        });
    }
}

impl Stores {
    pub(crate) fn binding(&self, key: &BindingKey) -> Option<Arc<Binding>> {
        self.bindings.get(key)
    }

    pub(crate) fn fleet(&self) -> Fleet {
        self.clusters.list().into_iter().collect()
    }

    /// The bindings that are placed on a cluster that is being deleted.
    pub(crate) fn on_clusters_that_go(&self) -> BTreeSet<BindingKey> {
        let mut keys = BTreeSet::new();
        for cluster in self.clusters.list().iter().filter(|cluster| cluster.is_being_deleted()) {
            let name = cluster.cluster_name();
            let holders = self.bindings.by_index(wake::HOLDERS, name.as_str());
            keys.extend(holders.map(|binding| binding.key()));
        }
        keys
    }

    fn concerned_by(&self, change: &Change<Cluster>) -> Vec<BindingKey> {
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        let concerns = wake::concerns(before, after);
        let mut keys = BTreeSet::new();
        if concerns.holders == Concerned::Yes {
            let holders = self.bindings.by_index(wake::HOLDERS, &change.key.name);
            keys.extend(holders.map(|binding| binding.key()));
        }
        if concerns.seekers == Concerned::Yes {
            let could = |binding: &Binding, cluster: Option<&Cluster>| {
                let placement = binding.spec.placement.as_ref();
                cluster.is_some_and(|cluster| placement.is_some_and(|p| wake::could_choose(p, cluster)))
            };
            for group in [wake::UNPLACED, wake::EVERYWHERE, wake::KEEPING] {
                let seekers = self.bindings.by_index(wake::WAKES, group);
                let concerned = seekers.filter(|binding| could(binding, before) || could(binding, after));
                keys.extend(concerned.map(|binding| binding.key()));
            }
        }
        keys.into_iter().collect()
    }
}

/// The binding of a change that it concerns; of another one only what it ends is taken in.
fn to_look_at(change: &Change<Binding>, own: &OwnWrites) -> Option<BindingKey> {
    let key = binding_key(&change.key);
    if concerned(change) {
        return Some(key);
    }
    own.saw(&key, change.after.as_deref());
    None
}

/// Statuses of copies change often and concern nobody here, unless a copy is kept until another one works. What this
/// scheduler itself writes always does: a look that waited for an own write to come back is taken then.
fn concerned(change: &Change<Binding>) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return change.after.is_some();
    };
    let own = |binding: &Binding| {
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
    own(before) != own(after) || keeps_a_copy(after) && copies(before) != copies(after)
}

fn copies(binding: &Binding) -> Option<&[AggregatedStatusItem]> {
    Some(&binding.status.as_ref()?.aggregated_status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_that_goes_after_its_last_write_leaves_nothing_behind() {
        let own = OwnWrites::default();
        let binding = Arc::new(Binding::new(&BindingKey::namespaced("n", "b"), Default::default()));
        let mut written = (*binding).clone();
        written.metadata.resource_version = Some("1".to_owned());
        own.wrote(&written);
        let gone = Change {
            key: ObjectKey::namespaced("n", "b"),
            before: Some(binding),
            after: None,
        };
        assert_eq!(to_look_at(&gone, &own), None);
        assert!(own.is_empty());
    }
}
