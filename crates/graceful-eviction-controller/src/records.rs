//! FailoverRecords: how each move ended, and for how long that is remembered.
//!
//! The evictor writes a record right after its task; one that it owes, because it died between the two, is made up from
//! the task, at the latest before the task goes. Here a record is closed when its task is gone, once, and pruned. What this
//! process itself decided is told as it was decided; what happened otherwise (a person removed the task, the binding is
//! gone, another process ended it and died) is read off what is stored, by a live read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_types::BindingKey;
use api_types::failover::{FailoverRecord, FailoverRecordSpec, FailoverRecordStatus, RecordOutcome};
use api_types::names::failover_record_name;
use api_types::work::Binding;
use controller_kit::informer::Stopped;
use controller_kit::{Change, Context, Informer, Next, ObjectKey, Store, WorkQueue, api_errors};
use failover_core::graceful::{Assessed, End, Fate, record};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;
use tokio::time::Instant;

use crate::index::Index;

/// How many records are kept at most; the oldest closed one goes first.
const LIMIT: usize = 10_000;

/// For so long a note waits for its record; moves of which none is kept leave none behind.
const RECORD_COMES_WITHIN: Duration = Duration::from_secs(600);

/// By then the evictor has written the record, or will not: it gives up after 5 s.
const OWED_AFTER: Duration = Duration::from_secs(10);

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
}

impl Records {
    pub(crate) fn new(ctx: &Context, retention: Duration) -> Self {
        Self {
            ctx: ctx.clone(),
            informer: ctx.informers.of::<FailoverRecord>(),
            queue: WorkQueue::new("gracefulEviction/records", ctx),
            endings: Arc::default(),
            retention,
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
        for Assessed { cluster, fate } in assessed {
            let task = binding.spec.task(&cluster.as_str().into());
            let Some(name) = task.and_then(|task| record::name_of(binding, task)) else {
                continue;
            };
            let key = self.record_key(&binding.key(), name);
            let Some((outcome, healthy)) = outcome(fate) else {
                // An earlier try did not come to a write, and the task goes on.
                endings.remove(&key);
                continue;
            };
            let status = FailoverRecordStatus {
                to: binding.spec.clusters.clone(),
                scheduled_at: binding
                    .status
                    .as_ref()
                    .and_then(|status| status.last_scheduled_time.clone()),
                healthy_at: healthy.then_some(Time(now)),
                cleaned_at: Some(Time(now)),
                outcome: Some(outcome),
                reason: shortened(fate.in_words()),
            };
            endings.insert(
                key,
                Ending {
                    status,
                    noted: Instant::now(),
                },
            );
        }
    }

    /// Creates the records that the evictor owes: of tasks that stand for long enough without one, and of tasks that are
    /// about to go. Returns when to look again for one that may still come. With no retention none is kept, or made up.
    pub(crate) async fn make_up(&self, binding: &Binding, assessed: &[Assessed], index: &Index) -> Option<Timestamp> {
        if self.retention.is_zero() {
            return None;
        }
        let now = self.ctx.clock.now();
        let mut look_again_at: Option<Timestamp> = None;
        for Assessed { cluster, fate } in assessed {
            let Some(task) = binding.spec.task(&cluster.as_str().into()) else {
                continue;
            };
            let Some(spec) = record::of_task(binding, task, index.cluster(cluster).as_deref()) else {
                continue;
            };
            let name = failover_record_name(&spec.binding.uid, &cluster.as_str().into(), spec.evicted_at.0);
            let key = self.record_key(&binding.key(), name);
            let store = self.informer.store_if_synced();
            if store.is_some_and(|store| store.get(&key).is_some()) {
                continue;
            }
            let owed_from = spec.evicted_at.0.saturating_add(OWED_AFTER).unwrap_or(Timestamp::MAX);
            if outcome(fate).is_none() && now < owed_from {
                look_again_at = Some(look_again_at.map_or(owed_from, |other| other.min(owed_from)));
                continue;
            }
            self.create(&key, spec).await;
        }
        look_again_at
    }

    /// One that is there already says more; a failure is told and keeps nothing from going on.
    async fn create(&self, key: &ObjectKey, spec: FailoverRecordSpec) {
        let mut record = FailoverRecord::new(&key.name, spec);
        record.metadata.namespace.clone_from(&key.namespace);
        match self.api(key).create(&PostParams::default(), &record).await {
            Ok(_) => {
                tracing::info!(record = %key, "the evictor died before it wrote the record of this move: made up from its task");
            }
            Err(error) if api_errors::is_already_exists(&error) => {}
            Err(error) => tracing::warn!(record = %key, "FailoverRecord not written: {}", api_errors::one_line(&error)),
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

    async fn reconcile(
        &self,
        store: &Store<FailoverRecord>,
        index: &Index,
        key: &ObjectKey,
    ) -> Result<Next, kube::Error> {
        let Some(record) = store.get(key) else {
            return Ok(self.without_record(key));
        };
        if let Some(at) = closed_at(&record) {
            self.endings.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
            return self.prune(store, &record, at).await;
        }
        let noted = self
            .endings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned();
        let binding = index.binding(&BindingKey {
            namespace: record.spec.binding.namespace.clone(),
            name: record.spec.binding.name.clone(),
        });
        let cluster = |name: &str| index.cluster(name);
        if record::ended(&key.name, &record.spec, binding.as_deref(), &cluster).is_none() {
            return Ok(Next::Done);
        }
        let status = match noted {
            Some(ending) => ending.status,
            // The cache may not have the task yet: only the server's own word closes a record.
            None => match self.read_ending(key, &record, index).await? {
                Some(status) => status,
                None => return Ok(Next::After(Duration::from_secs(1))),
            },
        };
        let patch = json!({ "metadata": { "resourceVersion": record.metadata.resource_version }, "status": status });
        match self
            .api(key)
            .patch_status(&key.name, &PatchParams::default(), &Patch::Merge(patch))
            .await
        {
            Ok(_) => Ok(Next::Done),
            Err(error) if api_errors::is_not_found(&error) => Ok(Next::Done),
            Err(error) => Err(error),
        }
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

    async fn read_ending(
        &self,
        key: &ObjectKey,
        record: &FailoverRecord,
        index: &Index,
    ) -> Result<Option<FailoverRecordStatus>, kube::Error> {
        let named = &record.spec.binding;
        let binding_key = BindingKey {
            namespace: named.namespace.clone(),
            name: named.name.clone(),
        };
        let api: Api<Binding> = match &binding_key.namespace {
            Some(namespace) => Api::namespaced_with(self.ctx.client.clone(), namespace, &binding_key.kind()),
            None => Api::all_with(self.ctx.client.clone(), &binding_key.kind()),
        };
        let stored = api.get_opt(&binding_key.name).await?;
        let cluster = |name: &str| index.cluster(name);
        Ok(
            record::ended(&key.name, &record.spec, stored.as_ref(), &cluster).map(|(outcome, reason)| {
                let now = Time(self.ctx.clock.now());
                FailoverRecordStatus {
                    to: stored.map(|binding| binding.spec.clusters).unwrap_or_default(),
                    healthy_at: (outcome == RecordOutcome::Completed).then(|| now.clone()),
                    cleaned_at: Some(now),
                    outcome: Some(outcome),
                    reason,
                    ..FailoverRecordStatus::default()
                }
            }),
        )
    }

    /// Deletes a closed record when its time is over, or when there are too many and it is the oldest.
    async fn prune(
        &self,
        store: &Store<FailoverRecord>,
        record: &FailoverRecord,
        closed: Timestamp,
    ) -> Result<Next, kube::Error> {
        let until = closed.saturating_add(self.retention).unwrap_or(Timestamp::MAX);
        if until > self.ctx.clock.now() && store.len() <= LIMIT {
            return Ok(Next::At(until));
        }
        let doomed = if until <= self.ctx.clock.now() {
            Some(record.clone())
        } else {
            let closed = store
                .list()
                .into_iter()
                .filter_map(|record| Some((closed_at(&record)?, record)));
            closed
                .min_by(|(a, _), (b, _)| a.cmp(b))
                .map(|(_, record)| (*record).clone())
        };
        if let Some(record) = doomed {
            let key = ObjectKey::of(&record);
            let only = Preconditions {
                uid: record.metadata.uid.clone(),
                resource_version: None,
            };
            let params = DeleteParams {
                preconditions: Some(only),
                ..DeleteParams::default()
            };
            match self.api(&key).delete(&key.name, &params).await {
                Ok(_) => {}
                Err(error) if api_errors::is_not_found(&error) || api_errors::is_conflict(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Next::At(until))
    }

    fn api(&self, key: &ObjectKey) -> Api<FailoverRecord> {
        Api::namespaced(self.ctx.client.clone(), key.namespace.as_deref().unwrap_or_default())
    }

    /// Follows the tasks of bindings in the stream of changes of the index.
    pub(crate) fn apply(&self, change: &Change<Binding>) {
        if let Some(before) = &change.before {
            self.tasks_went(before, change.after.as_deref());
        }
    }
}

fn closed_at(record: &FailoverRecord) -> Option<Timestamp> {
    let status = record.status.as_ref()?;
    status.outcome.as_ref()?;
    Some(
        status
            .cleaned_at
            .as_ref()
            .map_or(record.spec.evicted_at.0, |time| time.0),
    )
}

/// The outcome of a task that goes, and whether the workload is healthy elsewhere.
fn outcome(fate: &Fate) -> Option<(RecordOutcome, bool)> {
    match fate {
        Fate::Stays { .. } | Fate::LeavesResult { .. } => None,
        Fate::Restored { .. } | Fate::Ends(End::StaysThere { .. }) => Some((RecordOutcome::Restored, false)),
        Fate::Ends(End::Replaced { .. }) => Some((RecordOutcome::Completed, true)),
        Fate::Ends(End::GraceOver { .. } | End::NoCluster) => Some((RecordOutcome::Completed, false)),
        Fate::Ends(End::AskedFor) => Some((RecordOutcome::RemovedByHand, false)),
    }
}

fn shortened(mut reason: String) -> String {
    while reason.len() > 1024 {
        reason.pop();
    }
    reason
}
