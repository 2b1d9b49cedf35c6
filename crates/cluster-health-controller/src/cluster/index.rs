//! What the controller `cluster` knows: Clusters, namespaces, Leases, what the monitor thinks of those who hold them, and,
//! only once a Cluster is being deleted, which bindings name which cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::names::{cluster_of_execution_namespace, execution_namespace};
use api_types::work::{Binding, BindingKind};
use controller_kit::informer::Stopped;
use controller_kit::{Change, Context, ObjectKey, Scope, Store, WorkQueue};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::monitor::Monitor;

const BY_CLUSTER: &str = "cluster-deletion";

#[derive(Clone)]
pub(super) struct Index {
    pub clusters: Store<Cluster>,
    namespaces: Store<Namespace>,
    /// Leases of the agents.
    pub agents: Store<Lease>,
    /// Leases of the control plane's controllers.
    pub controllers: Store<Lease>,
    pub monitor: Monitor,
    bindings: Arc<OnceCell<[Store<Binding>; 2]>>,
    /// When a blocked deletion was last told.
    pub said: Said,
    /// How long deletions have waited for bindings.
    pub waits: Waits,
    /// Since when only the execution namespace keeps a Cluster.
    pub emptying: Since,
    /// Clusters of which it is not known whether a write of their conditions was stored, as they were before.
    pub unsure: Arc<Mutex<BTreeMap<ObjectKey, Arc<Cluster>>>>,
}

/// A count that changes with every binding that leaves is written at most this often.
const SAY_BLOCKED_EVERY: Duration = Duration::from_secs(5);

/// When something was last said of a Cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Said(Arc<Mutex<BTreeMap<ObjectKey, Instant>>>);

impl Said {
    /// How long to wait before saying it again.
    pub fn wait(&self, key: &ObjectKey) -> Option<Duration> {
        let said = *self.0.lock().get(key)?;
        SAY_BLOCKED_EVERY
            .checked_sub(said.elapsed())
            .filter(|wait| !wait.is_zero())
    }

    pub fn note(&self, key: &ObjectKey) {
        self.0.lock().insert(key.clone(), Instant::now());
    }

    pub fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}

/// Since when something has been so, as this process saw it.
#[derive(Clone, Debug, Default)]
pub(super) struct Since(Arc<Mutex<BTreeMap<ObjectKey, Instant>>>);

impl Since {
    /// It is so. Returns for how long already.
    pub fn note(&self, key: &ObjectKey) -> Duration {
        self.0.lock().entry(key.clone()).or_insert_with(Instant::now).elapsed()
    }

    pub fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}

/// How long deletions have waited. What is written is compared with the wall clock once, when this process first sees it,
/// and elapsed time counts from there: a clock that is set makes no wait shorter or longer while a process runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits(Arc<Mutex<BTreeMap<ObjectKey, Wait>>>);

#[derive(Debug)]
struct Wait {
    since: Timestamp,
    /// How long it had waited when it was first seen.
    before: Duration,
    seen: Instant,
}

impl Waits {
    /// The deletion waits since this time, as is written; for how long that is.
    pub fn waited(&self, key: &ObjectKey, since: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
        let mut all = self.0.lock();
        let Some(since) = since else {
            all.remove(key);
            return None;
        };
        let known = all.remove(key).filter(|wait| wait.since == since);
        let wait = all.entry(key.clone()).or_insert(known.unwrap_or_else(|| Wait {
            since,
            // A time to come is that of a clock that was set back: the wait begins now.
            before: Duration::try_from(now.duration_since(since)).unwrap_or_default(),
            seen: Instant::now(),
        }));
        Some(wait.before + wait.seen.elapsed())
    }

    pub fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}

/// The execution namespace of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamespaceState {
    Absent,
    /// There, and its label is as it should be.
    Labelled,
    /// There, without our label.
    Unlabelled,
    /// Deleted, and not gone yet.
    Terminating,
}

impl Index {
    pub fn new(
        clusters: Store<Cluster>,
        namespaces: Store<Namespace>,
        agents: Store<Lease>,
        controllers: Store<Lease>,
        monitor: Monitor,
    ) -> Self {
        Self {
            clusters,
            namespaces,
            agents,
            controllers,
            monitor,
            bindings: Arc::default(),
            said: Said::default(),
            waits: Waits::default(),
            emptying: Since::default(),
            unsure: Arc::default(),
        }
    }

    /// The Cluster is gone: nothing is kept of it.
    pub fn forget(&self, key: &ObjectKey) {
        self.said.forget(key);
        self.waits.forget(key);
        self.emptying.forget(key);
        self.unsure.lock().remove(key);
    }

    pub fn namespace(&self, cluster: &ClusterName) -> NamespaceState {
        match self
            .namespaces
            .get(&ObjectKey::cluster_scoped(execution_namespace(cluster)))
        {
            None => NamespaceState::Absent,
            Some(namespace) if namespace.metadata.deletion_timestamp.is_some() => NamespaceState::Terminating,
            Some(namespace) => {
                let labels = namespace.metadata.labels.as_ref();
                match labels
                    .and_then(|labels| labels.get(api_types::names::label::SYSTEM))
                    .map(String::as_str)
                {
                    Some("true") => NamespaceState::Labelled,
                    _ => NamespaceState::Unlabelled,
                }
            }
        }
    }

    /// The bindings that name the cluster, in `spec.clusters` or in a task. The first call begins to follow bindings: only
    /// deletions need them.
    pub async fn bindings_naming(
        &self,
        ctx: &Context,
        queue: &WorkQueue<ObjectKey>,
        cluster: &ClusterName,
    ) -> Result<Vec<Arc<Binding>>, Stopped> {
        let stores = self.bindings.get_or_try_init(|| follow_bindings(ctx, queue)).await?;
        Ok(stores
            .iter()
            .flat_map(|store| store.by_index(BY_CLUSTER, cluster.as_str()))
            .collect())
    }
}

async fn follow_bindings(ctx: &Context, queue: &WorkQueue<ObjectKey>) -> Result<[Store<Binding>; 2], Stopped> {
    let [namespaced, cluster] =
        [BindingKind::Namespaced, BindingKind::Cluster].map(|kind| ctx.informers.get::<Binding>(Scope::all(), &kind));
    for informer in [&namespaced, &cluster] {
        informer.index(BY_CLUSTER, |binding| named(binding).into_iter().collect());
    }
    let stores = [namespaced.synced().await?, cluster.synced().await?];
    for informer in [namespaced, cluster] {
        queue.follow(ctx, informer.changes(), |change: &Change<Binding>| {
            let after = change.after.as_deref().map(named).unwrap_or_default();
            let before = change.before.as_deref().map(named).unwrap_or_default();
            let left: Vec<ObjectKey> = before
                .difference(&after)
                .map(|name| ObjectKey::cluster_scoped(name.as_str()))
                .collect();
            left
        });
    }
    Ok(stores)
}

fn named(binding: &Binding) -> BTreeSet<String> {
    let spec = &binding.spec;
    let placed = spec.clusters.iter().map(|target| target.name.clone());
    placed
        .chain(
            spec.graceful_eviction_tasks
                .iter()
                .map(|task| task.from_cluster.clone()),
        )
        .collect()
}

/// The Cluster to look at when an execution namespace changes.
pub(super) fn cluster_of_namespace(namespace: &str) -> Option<ObjectKey> {
    cluster_of_execution_namespace(namespace).map(|cluster| ObjectKey::cluster_scoped(cluster.as_str()))
}
