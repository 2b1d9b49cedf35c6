//! What is known: bindings and clusters, and which bindings a change concerns. No network.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::names::depended_by_label;
use api_types::second_home::{Unreadable, history};
use api_types::work::{Binding, condition};
use binding_writer::{BindingInformers, BindingStores, OwnWrites, binding_key};
use controller_kit::informer::Stopped;
use controller_kit::{Change, Context, Informer, ObjectKey, Store, WorkQueue, complaints};
use failover_core::graceful::mirrors::{is_mirror, key_of, owner_labels};
use kube::Resource;
use scheduler_filters::Fleet;

use crate::records::Records;
use crate::seen::Seen;

/// Index of bindings with tasks by every cluster that matters to them.
const BY_CLUSTER: &str = "gracefulEviction/clusters";

/// Index of bindings that leave a cluster by the label by which attached ones name them.
const LEAVING: &str = "gracefulEviction/leaving";
/// Index of attached bindings with tasks by the labels of those that need their object.
const ATTACHED: &str = "gracefulEviction/attached";

/// The informers of this controller.
pub(crate) struct Informers {
    bindings: BindingInformers,
    clusters: Informer<Cluster>,
}

/// Reads of what is known; only of what has synced.
#[derive(Clone)]
pub(crate) struct Index {
    bindings: BindingStores,
    clusters: Store<Cluster>,
    pub(crate) seen: Seen,
}

impl Informers {
    pub(crate) fn of(ctx: &Context) -> Self {
        let bindings = BindingInformers::of(ctx, |informer| {
            informer.index(BY_CLUSTER, clusters_that_matter);
            informer.index(LEAVING, |binding| {
                let leaves = binding.spec.graceful_eviction_tasks.iter().any(|task| !is_mirror(task));
                leaves.then(|| depended_by_label(&binding.key())).into_iter().collect()
            });
            informer.index(ATTACHED, |binding| {
                if binding.spec.graceful_eviction_tasks.is_empty() {
                    Vec::new()
                } else {
                    owner_labels(binding).into_iter().collect()
                }
            });
        });
        Self {
            bindings,
            clusters: ctx.informers.of::<Cluster>(),
        }
    }

    pub(crate) async fn synced(&self) -> Result<Index, Stopped> {
        Ok(Index {
            clusters: self.clusters.synced().await?,
            bindings: self.bindings.synced().await?,
            seen: Seen::default(),
        })
    }

    /// A Warning for each history in an annotation that cannot be read.
    pub(crate) fn tell_unreadable(&self, ctx: &Context) {
        for informer in self.bindings.each() {
            complaints::tell(
                ctx,
                informer.changes(),
                Unreadable::EVENT,
                |binding: &Binding| history::complaint(binding).map(|unreadable| unreadable.to_string()),
                |binding: &Binding| binding.object_ref(&binding.key().kind()),
            );
        }
    }

    /// Puts every binding with tasks that a change concerns into the queue; first all that are there.
    pub(crate) fn follow(
        &self,
        ctx: &Context,
        queue: &WorkQueue<BindingKey>,
        index: &Index,
        records: Option<&Records>,
        own: &OwnWrites,
    ) {
        for informer in self.bindings.each() {
            let (index, records, own) = (index.clone(), records.cloned(), own.clone());
            queue.follow(ctx, informer.changes(), move |change| {
                let key = binding_key(&change.key);
                index
                    .seen
                    .apply(&key, change.before.as_deref(), change.after.as_deref());
                if let Some(records) = &records {
                    records.apply(change);
                }
                let mut concerned = index.followers(change, &key);
                concerned.extend(to_look_at(change, key, &own));
                concerned
            });
        }
        let index = index.clone();
        queue.follow(ctx, self.clusters.changes(), move |change| {
            if matters(change) {
                index.holders(&change.key.name)
            } else {
                Vec::new()
            }
        });
    }
}

impl Index {
    pub(crate) fn binding(&self, key: &BindingKey) -> Option<Arc<Binding>> {
        self.bindings.get(key)
    }

    pub(crate) fn cluster(&self, name: &str) -> Option<Arc<Cluster>> {
        self.clusters.get(&ObjectKey::cluster_scoped(name))
    }

    /// All clusters.
    pub(crate) fn fleet(&self) -> Fleet {
        self.clusters.list().into_iter().collect()
    }

    /// The bindings that need the object of an attached one, as far as they say something about its tasks: those that
    /// it names, and those that leave a cluster and name themselves on it.
    pub(crate) fn owners(&self, attached: &Binding) -> Vec<Arc<Binding>> {
        let named = attached
            .spec
            .required_by
            .iter()
            .filter_map(|owner| self.binding(&key_of(owner)));
        let labels = owner_labels(attached);
        let leaving = labels.iter().flat_map(|label| self.bindings.by_index(LEAVING, label));
        let owners: BTreeMap<BindingKey, Arc<Binding>> =
            named.chain(leaving).map(|owner| (owner.key(), owner)).collect();
        owners.into_values().collect()
    }

    /// The attached bindings whose tasks a change of one that needs them concerns.
    fn followers(&self, change: &Change<Binding>, owner: &BindingKey) -> Vec<BindingKey> {
        let part = |binding: &Binding| {
            let spec = &binding.spec;
            (
                spec.clusters.clone(),
                spec.graceful_eviction_tasks.clone(),
                binding.is_being_deleted(),
            )
        };
        // What is new is followed by nothing yet; after a start every task is looked at anyway.
        let Some(before) = change.before.as_deref() else {
            return Vec::new();
        };
        if change.after.as_deref().map(part) == Some(part(before)) {
            return Vec::new();
        }
        let label = depended_by_label(owner);
        let followers = self.bindings.by_index(ATTACHED, &label);
        followers.map(|attached| attached.key()).collect()
    }

    fn holders(&self, cluster: &str) -> Vec<BindingKey> {
        let holders = self.bindings.by_index(BY_CLUSTER, cluster);
        holders.map(|binding| binding.key()).collect()
    }
}

fn clusters_that_matter(binding: &Binding) -> Vec<String> {
    let tasks = &binding.spec.graceful_eviction_tasks;
    if tasks.is_empty() {
        return Vec::new();
    }
    let leaving = tasks.iter().map(|task| task.from_cluster.clone());
    let targets = binding.spec.clusters.iter().map(|target| target.name.clone());
    leaving.chain(targets).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The binding of a change that it concerns; of another one only what it ends is taken in.
fn to_look_at(change: &Change<Binding>, key: BindingKey, own: &OwnWrites) -> Option<BindingKey> {
    // What is remembered of one that went with open tasks is forgotten by a look.
    let went_with_tasks = change.after.is_none()
        && change
            .before
            .as_ref()
            .is_some_and(|before| !before.spec.graceful_eviction_tasks.is_empty());
    if concerned(change) || went_with_tasks {
        return Some(key);
    }
    own.saw(&key, change.after.as_deref());
    None
}

/// Bindings with tasks, and those whose condition still speaks of one.
fn concerned(change: &Change<Binding>) -> bool {
    change.after.as_ref().is_some_and(|binding| {
        !binding.spec.graceful_eviction_tasks.is_empty()
            || binding
                .condition(condition::GRACEFUL_EVICTION)
                .is_some_and(|c| c.status == "True")
    })
}

/// What of a Cluster the judgement of tasks looks at: whether copies there work, whether what drove them out stands, and
/// whether a scheduler would leave them there.
fn matters(change: &Change<Cluster>) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return true;
    };
    before.is_ready() != after.is_ready()
        || before.is_being_deleted() != after.is_being_deleted()
        || before.spec != after.spec
        || before.metadata.labels != after.metadata.labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(version: &str) -> Arc<Binding> {
        let mut binding = Binding::new(&BindingKey::namespaced("n", "b"), Default::default());
        binding.metadata.resource_version = Some(version.to_owned());
        Arc::new(binding)
    }

    // The last write says in the condition that there is no task any more: what comes back is no reason for a look.
    #[test]
    fn own_writes_are_forgotten_when_the_last_one_comes_back_or_the_binding_goes() {
        let own = OwnWrites::default();
        let look = |after: Option<Arc<Binding>>| {
            let change = Change {
                key: ObjectKey::namespaced("n", "b"),
                before: Some(version("1")),
                after,
            };
            to_look_at(&change, BindingKey::namespaced("n", "b"), &own)
        };
        for after in [Some(version("2")), None] {
            own.wrote(&version("1"));
            assert_eq!(look(after), None);
            assert!(own.is_empty());
        }
    }
}
