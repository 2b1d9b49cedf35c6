//! FailoverRecords: how each move ended, and for how long that is remembered.
//!
//! The evictor writes a record right after its task; one that it owes, because it died between the two, is made up from
//! the task, at the latest before the task goes. Here a record is closed when its task is gone, once, and pruned. What this
//! process itself decided is told as it was decided; what happened otherwise (a person removed the task, the binding is
//! gone, another process ended it and died) is read off what is stored, by a live read.
//!
//! Rooms: `reconcile` (what has to be written now; how a move ended and what is kept is decided in
//! [`failover_core::graceful::record`]), `writer` (the only place that writes records). Here is what is known.

mod reconcile;
mod trace;
mod writer;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_types::BindingKey;
use api_types::failover::{FailoverRecord, FailoverRecordStatus};
use api_types::work::{Binding, TargetCluster};
use controller_kit::informer::Stopped;
use controller_kit::{Change, Context, Informer, Next, ObjectKey, WorkQueue};
use failover_core::graceful::record::{self, Ended};
use failover_core::graceful::{Assessed, Fate};
use tokio::time::Instant;

use crate::index::Index;

/// For so long a note waits for its record; moves of which none is kept leave none behind.
const RECORD_COMES_WITHIN: Duration = Duration::from_secs(600);

/// How a move ended, and when that was noted.
#[derive(Clone)]
struct Ending {
    status: FailoverRecordStatus,
    noted: Instant,
}

/// The records, and what this process knows about moves that it ended.
#[derive(Clone)]
pub(crate) struct Records {
    ctx: Context,
    informer: Informer<FailoverRecord>,
    queue: WorkQueue<ObjectKey>,
    endings: Arc<Mutex<BTreeMap<ObjectKey, Ending>>>,
    retention: Duration,
    /// Held by whoever deletes those that are too many.
    pruning: Arc<tokio::sync::Mutex<()>>,
}

impl Records {
    pub(crate) fn new(ctx: &Context, retention: Duration) -> Self {
        Self {
            ctx: ctx.clone(),
            informer: ctx.informers.of::<FailoverRecord>(),
            queue: WorkQueue::new("gracefulEviction/records", ctx),
            endings: Arc::default(),
            retention,
            pruning: Arc::default(),
        }
    }

    /// Where the record of a binding's move lives.
    fn record_key(&self, binding: &BindingKey, name: String) -> ObjectKey {
        ObjectKey::namespaced(
            binding
                .namespace
                .clone()
                .unwrap_or_else(|| self.ctx.system_namespace.to_string()),
            name,
        )
    }

    fn keys_of(&self, binding: &Binding) -> Vec<ObjectKey> {
        let tasks = &binding.spec.graceful_eviction_tasks;
        let names = tasks.iter().filter_map(|task| record::name_of(binding, task));
        names.map(|name| self.record_key(&binding.key(), name)).collect()
    }

    /// Notes how moves end, before that is written: whoever sees the task gone must find it.
    pub(crate) fn ending(&self, binding: &Binding, assessed: &[Assessed]) {
        let now = self.ctx.clock.now();
        let mut endings = self.endings.lock().unwrap_or_else(PoisonError::into_inner);
        if endings.is_empty()
            && assessed
                .iter()
                .all(|assessed| record::outcome(&assessed.fate).is_none())
        {
            return;
        }
        for (task, Assessed { fate, .. }) in binding.spec.graceful_eviction_tasks.iter().zip(assessed) {
            let Some(name) = record::name_of(binding, task) else {
                continue;
            };
            let key = self.record_key(&binding.key(), name);
            let Some((outcome, healthy)) = record::outcome(fate) else {
                // An earlier try did not come to a write, and the task goes on.
                endings.remove(&key);
                continue;
            };
            let restored = matches!(fate, Fate::Restored { .. }).then(|| TargetCluster {
                name: task.from_cluster.clone(),
                replicas: binding.spec.replicas_of(task),
                ..TargetCluster::default()
            });
            let status = record::closing(Ended {
                binding: Some(binding),
                evicted_at: task.creation_timestamp.as_ref().map_or(now, |time| time.0),
                restored,
                outcome,
                healthy,
                reason: fate.in_words(),
                now,
            });
            endings.insert(
                key,
                Ending {
                    status,
                    noted: Instant::now(),
                },
            );
        }
    }

    /// Closes the records of the tasks that a binding had and has no more.
    pub(crate) fn tasks_went(&self, before: &Binding, after: Option<&Binding>) {
        let still: Vec<ObjectKey> = after.map(|after| self.keys_of(after)).unwrap_or_default();
        for gone in self.keys_of(before).into_iter().filter(|key| !still.contains(key)) {
            self.queue.add(gone);
        }
    }

    pub(crate) async fn run(&self, index: Index) {
        let store = match self.informer.synced().await {
            Ok(store) => store,
            Err(Stopped) => return,
        };
        self.queue
            .follow(&self.ctx, self.informer.changes(), |change: &Change<FailoverRecord>| {
                change.after.as_ref().map(|_| change.key.clone())
            });
        let (records, ctx) = (self.clone(), self.ctx.clone());
        self.queue
            .run(&ctx, 2, move |key| {
                let (records, store, index) = (records.clone(), store.clone(), index.clone());
                async move { records.reconcile(&store, &index, &key).await }
            })
            .await;
    }

    /// How this process ended a move, if it did.
    fn noted(&self, key: &ObjectKey) -> Option<Ending> {
        let endings = self.endings.lock().unwrap_or_else(PoisonError::into_inner);
        endings.get(key).cloned()
    }

    fn forget(&self, key: &ObjectKey) {
        self.endings.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// The record is on its way, or none is kept.
    fn without_record(&self, key: &ObjectKey) -> Next {
        let mut endings = self.endings.lock().unwrap_or_else(PoisonError::into_inner);
        match endings.get(key).map(|ending| ending.noted.elapsed()) {
            Some(age) if age < RECORD_COMES_WITHIN => Next::After(RECORD_COMES_WITHIN - age),
            Some(_) => {
                endings.remove(key);
                Next::Done
            }
            None => Next::Done,
        }
    }

    /// Follows the tasks of bindings in the stream of changes of the index.
    pub(crate) fn apply(&self, change: &Change<Binding>) {
        if let Some(before) = &change.before {
            self.tasks_went(before, change.after.as_deref());
        }
    }
}
