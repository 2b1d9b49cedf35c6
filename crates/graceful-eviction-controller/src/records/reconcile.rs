//! What has to be written now: records that the evictor owes, those whose move has ended, those whose time is over.

use std::time::Duration;

use api_types::BindingKey;
use api_types::failover::{FailoverRecord, FailoverRecordStatus, RecordOutcome};
use api_types::work::Binding;
use controller_kit::{Next, ObjectKey, Store};
use failover_core::graceful::record::{self, Ended, Healthy, Keeping};
use failover_core::graceful::{Assessed, End, Fate};
use jiff::Timestamp;

use super::{Records, trace, writer};
use crate::index::Index;
use crate::reconcile::read;

/// By then the evictor has written the record, or will not: it gives up after 5 s.
const OWED_AFTER: Duration = Duration::from_secs(10);

impl Records {
    /// Creates the records that the evictor owes: of tasks that stand for long enough without one, and of tasks that are
    /// about to go. Returns when to look again for one that may still come. With no retention none is kept, or made up.
    pub(crate) async fn make_up(&self, binding: &Binding, assessed: &[Assessed], index: &Index) -> Option<Timestamp> {
        if self.retention.is_zero() {
            return None;
        }
        let now = self.ctx.clock.now();
        let mut look_again_at: Option<Timestamp> = None;
        let store = self.informer.store_if_synced();
        for (task, Assessed { cluster, fate }) in binding.spec.graceful_eviction_tasks.iter().zip(assessed) {
            if *fate == Fate::Ends(End::Surplus) {
                continue;
            }
            let Some(name) = record::wanted_name(binding, task) else {
                continue;
            };
            let key = self.record_key(&binding.key(), name);
            if store.as_ref().is_some_and(|store| store.get(&key).is_some()) {
                continue;
            }
            let Some(spec) = record::of_task(binding, task, index.cluster(cluster).as_deref()) else {
                continue;
            };
            let owed_from = spec.evicted_at.0.saturating_add(OWED_AFTER).unwrap_or(Timestamp::MAX);
            if record::outcome(fate).is_none() && now < owed_from {
                look_again_at = Some(look_again_at.map_or(owed_from, |other| other.min(owed_from)));
                continue;
            }
            writer::create(&self.ctx, &key, spec).await;
        }
        look_again_at
    }

    /// Closes the record when its task is gone, and deletes it when its time is over.
    pub(super) async fn reconcile(
        &self,
        store: &Store<FailoverRecord>,
        index: &Index,
        key: &ObjectKey,
    ) -> Result<Next, kube::Error> {
        let Some(record) = store.get(key) else {
            return Ok(self.without_record(key));
        };
        if let Some(at) = record::closed_at(&record) {
            self.forget(key);
            return self.prune(store, &record, at).await;
        }
        let binding = index.binding(&binding_of(&record));
        let cluster = |name: &str| index.cluster(name);
        let now = self.ctx.clock.now();
        if record::ended(&key.name, &record.spec, binding.as_deref(), &cluster, now).is_none() {
            return Ok(Next::Done);
        }
        let status = match self.noted(key) {
            Some(ending) => ending.status,
            // The cache may not have the task yet: only the server's own word closes a record.
            None => match self.read_ending(key, &record, index).await? {
                Some(status) => status,
                None => return Ok(Next::After(Duration::from_secs(1))),
            },
        };
        writer::close(&self.ctx, &record, &status).await?;
        for span in trace::spans(&record.spec, &status) {
            self.ctx.traces.tell(span);
        }
        Ok(Next::Done)
    }

    async fn read_ending(
        &self,
        key: &ObjectKey,
        record: &FailoverRecord,
        index: &Index,
    ) -> Result<Option<FailoverRecordStatus>, kube::Error> {
        let stored = read(&self.ctx, &binding_of(record)).await?;
        let cluster = |name: &str| index.cluster(name);
        let now = self.ctx.clock.now();
        let ended = record::ended(&key.name, &record.spec, stored.as_ref(), &cluster, now);
        Ok(ended.map(|(outcome, reason)| {
            let is_moved = outcome == RecordOutcome::Completed;
            record::closing(Ended {
                binding: stored.as_ref(),
                evicted_at: record.spec.evicted_at.0,
                restored: None,
                outcome,
                healthy: if is_moved { Healthy::Yes } else { Healthy::Unknown },
                reason,
                now,
            })
        }))
    }

    async fn prune(
        &self,
        store: &Store<FailoverRecord>,
        record: &FailoverRecord,
        closed: Timestamp,
    ) -> Result<Next, kube::Error> {
        match record::keeping(closed, self.retention, store.len(), self.ctx.clock.now()) {
            Keeping::Until(until) => Ok(Next::At(until)),
            Keeping::Over => {
                writer::delete(&self.ctx, record).await?;
                Ok(Next::Done)
            }
            Keeping::OldestGoes(until) => {
                // Whoever is at it deletes them all.
                if let Ok(_turn) = self.pruning.try_lock() {
                    self.prune_oldest(store).await?;
                }
                Ok(Next::At(until))
            }
        }
    }

    /// Deletes the closed records that are too many, the oldest first.
    async fn prune_oldest(&self, store: &Store<FailoverRecord>) -> Result<(), kube::Error> {
        let all = store.list();
        let too_many = all.len().saturating_sub(record::MOST_RECORDS);
        let closed = all.into_iter();
        let mut closed: Vec<_> = closed
            .filter_map(|record| Some((record::closed_at(&record)?, record)))
            .collect();
        closed.sort_by_key(|(at, _)| *at);
        for (_, oldest) in closed.iter().take(too_many) {
            writer::delete(&self.ctx, oldest).await?;
        }
        Ok(())
    }
}

fn binding_of(record: &FailoverRecord) -> BindingKey {
    BindingKey {
        namespace: record.spec.binding.namespace.clone(),
        name: record.spec.binding.name.clone(),
    }
}
