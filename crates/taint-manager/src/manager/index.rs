//! What the taint manager knows, and the published set that follows from it. No network.
//!
//! Bindings are found by the clusters in their `spec.clusters`, so that a change of a cluster costs as much as there are
//! bindings on it, and a change of a binding as much as it has clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, BindingKind};
use api_types::{BindingKey, ClusterName};
use binding_writer::{binding_key, object_key};
use controller_kit::informer::Stopped;
use controller_kit::{Change, Changes, Context, Informer, ObjectKey, Store};
use eviction_queue_api::producer::{Changed, Ledger, Pair, Producer};
use failover_core::eviction::desired_entry::{wanted, withdraw_reason};
use failover_core::eviction::{Switches, same_for_evictions, shows_a_cause};
use failover_core::taint_policy::{Recovering, TaintId, recovering};

use super::judged_part::{self, JudgedPart};

const BY_CLUSTER: &str = "taint-manager/spec.clusters";

/// The informers of the taint manager.
pub(crate) struct Informers {
    clusters: Informer<Cluster>,
    bindings: [Informer<JudgedPart>; 2],
    policies: Informer<ClusterTaintPolicy>,
}

/// What changes, in streams.
pub(crate) struct Streams {
    pub clusters: Changes<Cluster>,
    pub namespaced: Changes<JudgedPart>,
    pub cluster_wide: Changes<JudgedPart>,
    pub policies: Changes<ClusterTaintPolicy>,
}

impl Informers {
    pub fn of(ctx: &Context) -> Self {
        let bindings = judged_part::informers(ctx);
        for informer in &bindings {
            informer.index(BY_CLUSTER, |binding| binding.clusters().map(str::to_owned).collect());
        }
        Self {
            clusters: ctx.informers.of::<Cluster>(),
            bindings,
            policies: ctx.informers.of::<ClusterTaintPolicy>(),
        }
    }

    pub fn streams(&self) -> Streams {
        let [namespaced, cluster_wide] = &self.bindings;
        Streams {
            clusters: self.clusters.changes(),
            namespaced: namespaced.changes(),
            cluster_wide: cluster_wide.changes(),
            policies: self.policies.changes(),
        }
    }

    /// Waits until all of them have synced.
    pub async fn synced(&self) -> Result<Stores, Stopped> {
        let [namespaced, cluster_wide] = &self.bindings;
        Ok(Stores {
            clusters: self.clusters.synced().await?,
            namespaced: namespaced.synced().await?,
            cluster_wide: cluster_wide.synced().await?,
            policies: self.policies.synced().await?,
        })
    }
}

/// What is stored, as far as this process has seen.
#[derive(Clone)]
pub(crate) struct Stores {
    pub clusters: Store<Cluster>,
    namespaced: Store<JudgedPart>,
    cluster_wide: Store<JudgedPart>,
    policies: Store<ClusterTaintPolicy>,
}

impl Stores {
    /// What is kept of a binding. Who writes reads it anew.
    pub fn binding(&self, key: &BindingKey) -> Option<Arc<JudgedPart>> {
        let store = match key.kind() {
            BindingKind::Namespaced => &self.namespaced,
            BindingKind::Cluster => &self.cluster_wide,
        };
        store.get(&object_key(key))
    }

    fn judged(&self, key: &BindingKey) -> Option<Binding> {
        Some(self.binding(key)?.judged(key))
    }

    pub fn cluster(&self, name: &ClusterName) -> Option<Arc<Cluster>> {
        self.clusters.get(&ObjectKey::cluster_scoped(name.to_string()))
    }

    /// All bindings.
    pub fn bindings(&self) -> impl Iterator<Item = (BindingKey, Arc<JudgedPart>)> {
        let entries = self.namespaced.entries().into_iter().chain(self.cluster_wide.entries());
        entries.map(|(key, binding)| (binding_key(&key), binding))
    }

    fn bindings_on(&self, cluster: &ClusterName) -> impl Iterator<Item = (BindingKey, Arc<JudgedPart>)> {
        let on = |store: &Store<JudgedPart>| store.entries_by_index(BY_CLUSTER, cluster.as_str());
        let entries = on(&self.namespaced).into_iter().chain(on(&self.cluster_wide));
        entries.map(|(key, binding)| (binding_key(&key), binding))
    }
}

/// Stored state, and the published set that follows from it.
pub(crate) struct Index {
    pub stores: Stores,
    switches: Switches,
    pub ledger: Ledger,
    recovering: BTreeMap<ClusterName, BTreeMap<TaintId, Recovering>>,
    /// How many pairs of binding and cluster have been judged so far.
    pub judged: u64,
}

/// Bindings whose place in the published set changed.
pub(crate) type Touched = BTreeSet<BindingKey>;

impl Index {
    /// Judges everything that is stored.
    pub fn new(stores: Stores, switches: Switches) -> Self {
        let mut index = Self {
            stores,
            switches,
            ledger: Ledger::default(),
            recovering: BTreeMap::new(),
            judged: 0,
        };
        for cluster in index.stores.clusters.list() {
            index.judge_cluster(&cluster.cluster_name());
        }
        index
    }

    /// A Cluster changed. What changed is only looked at when it can matter for an eviction.
    pub fn cluster_changed(
        &mut self,
        name: &ClusterName,
        before: Option<&Cluster>,
        after: Option<&Cluster>,
    ) -> Touched {
        match (before, after) {
            (Some(before), Some(after)) if same_for_evictions(before, after) => self.confirm_on(name),
            _ => self.judge_cluster(name),
        }
    }

    /// A binding changed: the clusters that it is on now, and those for which it is published.
    pub fn binding_changed(&mut self, key: &BindingKey) -> Touched {
        let binding = self.stores.judged(key);
        let mut clusters = self.ledger.clusters_of(key);
        let on = binding.iter().flat_map(|binding| &binding.spec.clusters);
        clusters.extend(on.map(|target| ClusterName::from(target.name.as_str())));
        let mut touched = Touched::new();
        for cluster in clusters {
            self.judge(&cluster, key, binding.as_ref(), &mut touched);
        }
        touched
    }

    /// A policy changed: only whether it is suspended matters here. Also on clusters that nobody leaves now, for what their
    /// bindings come to want is judged by the same.
    pub fn policy_changed(&mut self) -> Touched {
        let mut touched = Touched::new();
        for cluster in self.stores.clusters.list() {
            let (name, cluster) = (cluster.cluster_name(), Some(cluster));
            if self.recovering.get(&name) != self.recovering_on(cluster.as_deref()).as_ref() {
                touched.append(&mut self.judge_cluster(&name));
            }
        }
        touched
    }

    fn judge_cluster(&mut self, name: &ClusterName) -> Touched {
        let cluster = self.stores.cluster(name);
        match self.recovering_on(cluster.as_deref()) {
            Some(recovering) => self.recovering.insert(name.clone(), recovering),
            None => self.recovering.remove(name),
        };
        let mut touched = Touched::new();
        let mut seen = BTreeSet::new();
        if cluster.as_deref().is_some_and(shows_a_cause) {
            for (key, binding) in self.stores.bindings_on(name).collect::<Vec<_>>() {
                let binding = binding.judged(&key);
                self.judge_on(name, cluster.as_deref(), &key, Some(&binding), &mut touched);
                seen.insert(key);
            }
        }
        // Those that have left the cluster meanwhile, or have nothing to leave it for.
        for key in self.ledger.bindings_on(name) {
            if !seen.contains(&key) {
                let binding = self.stores.judged(&key);
                self.judge_on(name, cluster.as_deref(), &key, binding.as_ref(), &mut touched);
            }
        }
        touched.append(&mut self.confirm_on(name));
        touched
    }

    fn judge(&mut self, name: &ClusterName, key: &BindingKey, binding: Option<&Binding>, touched: &mut Touched) {
        let cluster = self.stores.cluster(name);
        self.judge_on(name, cluster.as_deref(), key, binding, touched);
    }

    fn judge_on(
        &mut self,
        name: &ClusterName,
        cluster: Option<&Cluster>,
        key: &BindingKey,
        binding: Option<&Binding>,
        touched: &mut Touched,
    ) {
        self.judged += 1;
        let nothing = BTreeMap::new();
        let recovering = self.recovering.get(name).unwrap_or(&nothing);
        let wanted = wanted(binding, cluster, recovering, &self.switches);
        let pair = Pair {
            cluster: name,
            binding: key,
            cluster_metadata: cluster.map(|cluster| &cluster.metadata),
            binding_metadata: binding.map(|binding| &binding.metadata),
        };
        let reason = |key: &_| withdraw_reason(key, &wanted, cluster);
        if self.ledger.settle(pair, &wanted, reason) == Changed::Yes {
            touched.insert(key.clone());
        }
    }

    /// A newer version of a Cluster may be what an answer waited for.
    fn confirm_on(&mut self, name: &ClusterName) -> Touched {
        let mut touched = Touched::new();
        for key in self.ledger.asked_on(name) {
            let binding = self.stores.judged(&key);
            self.judge(name, &key, binding.as_ref(), &mut touched);
        }
        touched
    }

    fn recovering_on(&self, cluster: Option<&Cluster>) -> Option<BTreeMap<TaintId, Recovering>> {
        let policies = self.stores.policies.list();
        let policies: Vec<&ClusterTaintPolicy> = policies.iter().map(AsRef::as_ref).collect();
        Some(recovering(cluster?, &policies)).filter(|found| !found.is_empty())
    }
}

impl Producer for Index {
    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn judge_pair(&mut self, cluster: &ClusterName, binding: &BindingKey) {
        let known = self.stores.judged(binding);
        self.judge(cluster, binding, known.as_ref(), &mut Touched::new());
    }
}

/// Whether a change of a Cluster changes nothing for evictions.
pub(crate) fn same_for_evictions_of(change: &Change<Cluster>) -> bool {
    matches!((&change.before, &change.after), (Some(before), Some(after)) if same_for_evictions(before, after))
}
