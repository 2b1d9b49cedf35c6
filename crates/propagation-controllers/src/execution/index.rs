//! What execution knows of Works: which there are for a member, and who waits for their changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::ClusterName;
use api_types::names::{cluster_of_execution_namespace, execution_namespace};
use api_types::work::Work;
use controller_kit::{Changes, Context, ObjectKey, Store, WorkQueue};
use parking_lot::Mutex;

use crate::binding::index::BY_NAMESPACE;

/// Works, and the queue of each member that is being worked on: one subscription for all members.
#[derive(Clone)]
pub struct WorkIndex {
    store: Store<Work>,
    queues: Arc<Mutex<BTreeMap<ClusterName, WorkQueue<ObjectKey>>>>,
}

impl WorkIndex {
    /// Over a store with the index by namespace.
    #[must_use]
    pub fn new(store: Store<Work>) -> Self {
        Self {
            store,
            queues: Arc::default(),
        }
    }

    /// Hands each change that `matters` to the queue of its member, until shutdown.
    pub fn dispatch<M>(&self, ctx: &Context, mut changes: Changes<Work>, matters: M)
    where
        M: Fn(&controller_kit::Change<Work>) -> bool + Send + 'static,
    {
        let index = self.clone();
        let shutdown = ctx.shutdown.clone();
        ctx.tasks.spawn(format!("{} works", ctx.controller), async move {
            loop {
                let change = tokio::select! {
                    biased;
                    () = shutdown.cancelled() => return,
                    change = changes.recv() => change,
                };
                let Some(change) = change else { return };
                let cluster = change.key.namespace.as_deref().and_then(cluster_of_execution_namespace);
                let queue = cluster.and_then(|cluster| index.queues.lock().get(&cluster).cloned());
                if let Some(queue) = queue.filter(|_| matters(&change)) {
                    queue.add(change.key.clone());
                }
            }
        });
    }

    /// From now on, until the returned guard is dropped, changes of this member's Works go to `queue`; all that are
    /// there go first.
    #[must_use]
    pub fn serve(&self, cluster: &ClusterName, queue: &WorkQueue<ObjectKey>) -> Served {
        self.queues.lock().insert(cluster.clone(), queue.clone());
        for work in self.of(cluster) {
            queue.add(ObjectKey::of(work.as_ref()));
        }
        Served {
            index: self.clone(),
            cluster: cluster.clone(),
            queue: queue.clone(),
        }
    }

    /// The Works of a member.
    #[must_use]
    pub fn of(&self, cluster: &ClusterName) -> Vec<Arc<Work>> {
        self.store.by_index(BY_NAMESPACE, &execution_namespace(cluster))
    }

    /// A Work.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Work>> {
        self.store.get(key)
    }
}

/// A member that is being worked on; dropped with the work, and the queue with it.
pub struct Served {
    index: WorkIndex,
    cluster: ClusterName,
    queue: WorkQueue<ObjectKey>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let mut queues = self.index.queues.lock();
        // The member may be served anew already.
        if queues.get(&self.cluster).is_some_and(|queue| queue.is(&self.queue)) {
            queues.remove(&self.cluster);
        }
    }
}
