//! What is known, and the published set that follows from it. No network.
//!
//! Watched bindings are found by the clusters in their `spec.clusters`: a change of a cluster costs as much as there are
//! watched bindings on it, and a heartbeat nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use api_types::cluster::{Cluster, condition};
use api_types::work::{Binding, BindingKind};
use api_types::{BindingKey, ClusterName};
use binding_writer::{binding_key, object_key};
use controller_kit::informer::Stopped;
use controller_kit::{Changes, Context, Informer, ObjectKey, Store};
use eviction_queue_api::producer::{self, Changed, Ledger, Pair, Producer};
use failover_core::application::{HealthClock, ReadClock, wanted_by, withdraw_reason};

use crate::kept_part::{self, KeptPart};

const BY_CLUSTER: &str = "applicationFailover/spec.clusters";

/// The informers of this controller.
pub(crate) struct Informers {
    clusters: Informer<Cluster>,
    bindings: [Informer<KeptPart>; 2],
}

/// What changes, in streams.
pub(crate) struct Streams {
    pub clusters: Changes<Cluster>,
    pub namespaced: Changes<KeptPart>,
    pub cluster_wide: Changes<KeptPart>,
}

impl Informers {
    pub(crate) fn of(ctx: &Context) -> Self {
        let bindings = kept_part::informers(ctx);
        for informer in &bindings {
            informer.index(BY_CLUSTER, KeptPart::clusters);
        }
        Self {
            clusters: ctx.informers.of::<Cluster>(),
            bindings,
        }
    }

    pub(crate) fn streams(&self) -> Streams {
        let [namespaced, cluster_wide] = &self.bindings;
        Streams {
            clusters: self.clusters.changes(),
            namespaced: namespaced.changes(),
            cluster_wide: cluster_wide.changes(),
        }
    }

    /// Waits until all of them have synced.
    pub(crate) async fn synced(&self) -> Result<Stores, Stopped> {
        let [namespaced, cluster_wide] = &self.bindings;
        Ok(Stores {
            clusters: self.clusters.synced().await?,
            namespaced: namespaced.synced().await?,
            cluster_wide: cluster_wide.synced().await?,
        })
    }
}

/// What is stored, as far as this process has seen.
#[derive(Clone)]
pub(crate) struct Stores {
    clusters: Store<Cluster>,
    namespaced: Store<KeptPart>,
    cluster_wide: Store<KeptPart>,
}

impl Stores {
    pub(crate) fn binding(&self, key: &BindingKey) -> Option<Arc<KeptPart>> {
        let store = match key.kind() {
            BindingKind::Namespaced => &self.namespaced,
            BindingKind::Cluster => &self.cluster_wide,
        };
        store.get(&object_key(key))
    }

    pub(crate) fn cluster(&self, name: &ClusterName) -> Option<Arc<Cluster>> {
        self.clusters.get(&ObjectKey::cluster_scoped(name.to_string()))
    }

    /// The watched bindings on a cluster.
    pub(crate) fn watched_on(&self, cluster: &ClusterName) -> BTreeSet<BindingKey> {
        let on = |store: &Store<KeptPart>| store.entries_by_index(BY_CLUSTER, cluster.as_str());
        let entries = on(&self.namespaced).into_iter().chain(on(&self.cluster_wide));
        entries.map(|(key, _)| binding_key(&key)).collect()
    }

    fn all_watched(&self) -> Vec<BindingKey> {
        let entries = self.namespaced.entries().into_iter().chain(self.cluster_wide.entries());
        let watched = entries.filter(|(_, kept)| kept.watched().is_some());
        watched.map(|(key, _)| binding_key(&key)).collect()
    }

    fn judged(&self, key: &BindingKey) -> Option<Judged> {
        let binding = self.binding(key)?.judged(key);
        Some(Judged {
            clock: HealthClock::of(&binding),
            binding,
        })
    }
}

/// A binding to judge, with its clock, which is read once for all of its clusters.
struct Judged {
    binding: Binding,
    clock: ReadClock,
}

/// The index, and a bell for those who tell the queue.
pub(crate) type Shared = producer::Shared<Index>;

/// Stored state, and the published set that follows from it.
pub(crate) struct Index {
    pub(crate) stores: Stores,
    pub(crate) ledger: Ledger,
    /// How many pairs of binding and cluster have been judged so far.
    pub(crate) judged: u64,
}

impl Index {
    /// Judges everything that is stored.
    pub(crate) fn new(stores: Stores) -> Self {
        let mut index = Self {
            stores,
            ledger: Ledger::default(),
            judged: 0,
        };
        for key in index.stores.all_watched() {
            index.binding_changed(&key);
        }
        index
    }

    /// A binding changed: the clusters that it is on now, and those for which it is published or asked for.
    pub(crate) fn binding_changed(&mut self, key: &BindingKey) -> Changed {
        let judged = self.stores.judged(key);
        let mut clusters = self.ledger.clusters_of(key);
        let on = judged.iter().flat_map(|judged| &judged.binding.spec.clusters);
        clusters.extend(on.map(|target| ClusterName::from(target.name.as_str())));
        let changes = clusters.iter().map(|cluster| self.judge(cluster, key, judged.as_ref()));
        any(changes)
    }

    /// A Cluster changed in a way that counts.
    pub(crate) fn cluster_changed(&mut self, name: &ClusterName) -> Changed {
        let mut bindings = self.stores.watched_on(name);
        bindings.extend(self.ledger.bindings_on(name));
        bindings.extend(self.ledger.asked_on(name));
        self.judge_all(name, bindings)
    }

    /// A Cluster has a newer version: that may be what an answer waited for.
    pub(crate) fn cluster_seen(&mut self, name: &ClusterName) -> Changed {
        let asked = self.ledger.asked_on(name);
        self.judge_all(name, asked)
    }

    fn judge_all(&mut self, name: &ClusterName, bindings: impl IntoIterator<Item = BindingKey>) -> Changed {
        any(bindings.into_iter().map(|key| {
            let judged = self.stores.judged(&key);
            self.judge(name, &key, judged.as_ref())
        }))
    }

    fn judge(&mut self, name: &ClusterName, key: &BindingKey, judged: Option<&Judged>) -> Changed {
        self.judged += 1;
        let cluster = self.stores.cluster(name);
        let cluster = cluster.as_deref();
        let binding = judged.map(|judged| &judged.binding);
        let wanted = match judged {
            Some(Judged { binding, clock }) => wanted_by(clock, Some(binding), cluster),
            None => wanted_by(&Ok(HealthClock::default()), None, cluster),
        };
        let pair = Pair {
            cluster: name,
            binding: key,
            cluster_metadata: cluster.map(|cluster| &cluster.metadata),
            binding_metadata: binding.map(|binding| &binding.metadata),
        };
        self.ledger
            .settle(pair, &wanted, |key| withdraw_reason(key, &wanted, cluster))
    }
}

impl Producer for Index {
    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn judge_pair(&mut self, cluster: &ClusterName, binding: &BindingKey) {
        let judged = self.stores.judged(binding);
        self.judge(cluster, binding, judged.as_ref());
    }
}

/// Looks at all of them.
fn any(changes: impl Iterator<Item = Changed>) -> Changed {
    changes.fold(Changed::No, |all, one| if one == Changed::Yes { one } else { all })
}

/// Whether a change of a Cluster changes nothing for applications on it: heartbeats, taints and figures do not.
pub(crate) fn same_for_applications(before: Option<&Cluster>, after: Option<&Cluster>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return false;
    };
    let ready = |cluster: &Cluster| {
        let ready = cluster.condition(condition::READY)?;
        Some((ready.status.clone(), ready.last_transition_time.clone()))
    };
    before.metadata.uid == after.metadata.uid && ready(before) == ready(after)
}
