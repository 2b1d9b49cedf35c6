//! The only place where the evictor writes: the binding, those attached to it, the record of the move, events.

use std::time::Duration;

use api_types::BindingKey;
use api_types::failover::FailoverRecord;
use api_types::work::{Binding, GracefulEvictionTask};
use binding_writer::{BindingWriter, WriteError, WriteOutcome};
use controller_kit::{Context, EventType, api_errors};
use failover_core::eviction::preservation::State;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Api;
use kube::api::PostParams;
use kube::core::Status;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{info, warn};

use super::lease::Lease;
use super::plan;
use crate::objects::binding_reference;

/// How long a record may take: the move is done, and graceful eviction makes up for a missing one.
const RECORD_WITHIN: Duration = Duration::from_secs(5);

/// How long it is tried, at least, to find out what became of a write.
const READ_FOR: Duration = Duration::from_secs(5);

/// Whether a record is kept of each move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// One is.
    Kept,
    /// `--failover-records=false`.
    NotKept,
}

/// What became of the write.
#[derive(Debug)]
pub(crate) enum Written {
    /// It was written.
    Yes,
    /// The binding changed since it was read: decide anew.
    Conflict,
    /// The server could not write it, said so, and it is as it was: later.
    Failed(String),
    /// The binding is gone.
    Gone,
    /// The server refuses it.
    Refused(String),
    /// Whether it was written is not known, also after reading again.
    Unknown(String),
}

/// What the server answered to a write that is not known to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// That it could not.
    Bad,
    /// Nothing, in all the time that there was, or until the connection broke; or that it, or what it asked in its turn, had
    /// not heard the end of it.
    None,
}

impl Answer {
    fn of(error: &WriteError) -> Self {
        let (WriteError::Refused { source, .. } | WriteError::Unknown { source, .. }) = error;
        match &**source {
            kube::Error::Api(status) if !gave_up_waiting(status) => Self::Bad,
            _ => Self::None,
        }
    }
}

/// Whether an answer says of the write only that its end was not waited for: by the API server (504), something before it
/// (502, 504, 408), or its store.
fn gave_up_waiting(status: &Status) -> bool {
    matches!(status.code, 408 | 502 | 504) || status.message.contains("etcdserver: request timed out")
}

/// Whether a task is stored, whatever the API server kept of what is ours in it.
fn is_there(now: &Binding, task: &GracefulEvictionTask) -> bool {
    let mut tasks = now.spec.graceful_eviction_tasks.iter();
    tasks.any(|there| there.is_as_written(task))
}

/// Writes for the evictor.
pub(crate) struct Writer {
    ctx: Context,
    bindings: BindingWriter,
    records: Records,
}

impl Writer {
    pub fn new(ctx: &Context, records: Records) -> Self {
        Self {
            bindings: BindingWriter::new(ctx.client.clone()),
            ctx: ctx.clone(),
            records,
        }
    }

    /// Moves the cluster from `spec.clusters` to the tasks, before `until` or not at all.
    pub async fn evict(&self, read: &Binding, task: &GracefulEvictionTask, until: Instant) -> Written {
        let (answer, why) = match timeout_at(until, self.bindings.write(&plan::edit(read, task))).await {
            Ok(Ok(WriteOutcome::Written(_))) => return Written::Yes,
            // The edit was judged to be needed: somebody else's change is in what was read.
            Ok(Ok(WriteOutcome::Conflict | WriteOutcome::NotNeeded)) => return Written::Conflict,
            Ok(Ok(WriteOutcome::Gone)) => return Written::Gone,
            Ok(Err(error @ WriteError::Refused { .. })) => return Written::Refused(error.to_string()),
            Ok(Err(error @ WriteError::Unknown { .. })) => (Answer::of(&error), error.to_string()),
            Err(_) => (
                Answer::None,
                "the API server did not answer before the lease ended".to_owned(),
            ),
        };
        self.find_out(read, task, until, answer, why).await
    }

    /// Finds out where the API server keeps the history of applications' failures, if that is not known yet: a request that
    /// must not come between what is judged and the write.
    pub async fn find_history_home(&self, binding: &BindingKey, now: Timestamp) {
        self.bindings.find_history_home(binding, now).await;
    }

    /// Writes a mirror task on an attached binding, before `until` or not at all. Whether it is there, or somebody else
    /// wrote the binding meanwhile, shows when the binding is read again.
    ///
    /// # Errors
    /// Why it is not there, and will not be by trying again at once.
    pub async fn mirror(&self, read: &Binding, mirror: &GracefulEvictionTask, until: Instant) -> Result<(), String> {
        let key = read.key();
        let told = |why: String| format!("cannot write the mirror task on {key}, which it needs: {why}");
        match timeout_at(until, self.bindings.mirror(read, mirror)).await {
            Ok(Ok(WriteOutcome::Written(_))) => {
                info!(binding = %key, cluster = mirror.from_cluster, "mirror task written");
                self.ctx.metrics.counter("evictor_mirrors_total", &[]).increment(1);
                Ok(())
            }
            Ok(
                Ok(WriteOutcome::Gone | WriteOutcome::Conflict | WriteOutcome::NotNeeded)
                | Err(WriteError::Unknown { .. }),
            ) => Ok(()),
            Ok(Err(error @ WriteError::Refused { .. })) => Err(told(error.to_string())),
            Err(_) => Err(told("the API server did not answer before the lease ended".to_owned())),
        }
    }

    /// After a write with unknown result: what is stored now.
    async fn find_out(
        &self,
        read: &Binding,
        task: &GracefulEvictionTask,
        until: Instant,
        answer: Answer,
        why: String,
    ) -> Written {
        let key = read.key();
        let api = binding_writer::api(&self.ctx.client, &key);
        // Reading is harmless, also when the lease is over.
        let looked_enough = Instant::now() + READ_FOR;
        let until = until.max(looked_enough);
        let mut wait = Duration::from_millis(100);
        loop {
            match timeout_at(until, api.get_opt(&key.name)).await {
                Ok(Ok(None)) => return Written::Gone,
                Ok(Ok(Some(now))) if now.metadata.uid != read.metadata.uid => return Written::Gone,
                Ok(Ok(Some(now))) if is_there(&now, task) => return Written::Yes,
                Ok(Ok(Some(now))) if now.metadata.resource_version == read.metadata.resource_version => match answer {
                    // Not written. Should the write still be under way, it and the next one are conditional on the same
                    // version, so that only one of them lands.
                    Answer::Bad => return Written::Failed(why),
                    // It may land yet, also when nobody looks any more: the rate must not have it back.
                    Answer::None if Instant::now() + wait >= looked_enough => return Written::Unknown(why),
                    Answer::None => {}
                },
                Ok(Ok(Some(_))) => return Written::Conflict,
                Ok(Err(error)) if Instant::now() + wait < until => {
                    warn!(binding = %key, "cannot see whether the eviction was written: {}", api_errors::one_line(&error));
                }
                Ok(Err(_)) | Err(_) => return Written::Unknown(why),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(5));
        }
    }

    /// Creates the record. One that is there already says the same; a failure is told and costs nothing else.
    pub async fn record(&self, record: &FailoverRecord) {
        if self.records == Records::NotKept {
            return;
        }
        let namespace = record.metadata.namespace.as_deref().unwrap_or_default();
        let api: Api<FailoverRecord> = Api::namespaced(self.ctx.client.clone(), namespace);
        let why = match timeout(RECORD_WITHIN, api.create(&PostParams::default(), record)).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) if api_errors::is_already_exists(&error) => return,
            Ok(Err(error)) => api_errors::one_line(&error),
            Err(_) => "the API server did not answer in time".to_owned(),
        };
        let name = record.metadata.name.as_deref().unwrap_or_default();
        warn!("FailoverRecord {namespace}/{name} not written, graceful eviction makes up for it: {why}");
        self.ctx
            .metrics
            .counter("evictor_records_missed_total", &[])
            .increment(1);
    }

    /// Says on the template that the workload leaves, on the binding too what of its state is lost: that it leaves stands
    /// in the binding's task, with the same words, and a move is to cost few writes.
    pub fn tell(&self, binding: &Binding, lease: &Lease, task: &GracefulEvictionTask, state: &State) {
        let key = &lease.entry.key;
        let note = format!(
            "leaves {}: {}",
            key.cluster,
            task.message.as_deref().unwrap_or_default()
        );
        info!(binding = %key.binding, cluster = %key.cluster, cause = %key.cause, "evicted");
        let template: ObjectReference = (&binding.spec.resource).into();
        self.ctx.events.publish(&template, EventType::Normal, "Evicted", note);
        let Some(lost) = state.in_words() else { return };
        let note = format!("leaves {}, and {lost}", key.cluster);
        warn!(binding = %key.binding, cluster = %key.cluster, "{lost}");
        for object in [binding_reference(&key.binding, &key.binding_uid.to_string()), template] {
            self.ctx
                .events
                .publish(&object, EventType::Warning, "StateNotPreserved", note.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::a_webhook_failed(500, "failed calling webhook \"guard\"", Answer::Bad)]
    #[case::too_many(429, "slow down", Answer::Bad)]
    #[case::not_now(503, "the server is starting", Answer::Bad)]
    #[case::the_server_waited_in_vain(504, "Timeout: request did not complete within requested timeout", Answer::None)]
    #[case::what_stands_before_it(502, "bad gateway", Answer::None)]
    #[case::its_store(500, "etcdserver: request timed out", Answer::None)]
    fn what_may_still_land(#[case] code: u16, #[case] message: &str, #[case] expected: Answer) {
        let status = Status {
            code,
            message: message.to_owned(),
            ..Status::default()
        };
        let error = WriteError::Unknown {
            binding: "n/b".to_owned(),
            source: Box::new(kube::Error::Api(Box::new(status))),
        };
        assert_eq!(Answer::of(&error), expected);
    }
}
