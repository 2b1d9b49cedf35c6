//! Sends edits and says what became of them.

use std::sync::{Arc, Mutex, PoisonError};

use api_types::conditions::Say;
use api_types::names::annotation::ACTIVE_EVICTION_HISTORY;
use api_types::second_home::{Home, history as second_home};
use api_types::work::{Binding, GracefulEvictionTask};
use api_types::{BindingKey, ClusterName};
use jiff::Timestamp;
use kube::Client;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::Value;
use tracing::{info, warn};

use crate::annotation;
use crate::condition;
use crate::edit::BindingEdit;
use crate::keys::api;

/// What became of a write.
#[derive(Clone, Debug)]
pub enum WriteOutcome {
    /// Written; the binding as the server stores it now.
    Written(Box<Binding>),
    /// Nothing was sent: the binding is as wanted.
    NotNeeded,
    /// Nothing was written: the binding changed since it was read. Read it again and decide anew.
    Conflict,
    /// Nothing was written: the binding is gone, or another one has its name.
    Gone,
}

/// A write that failed. Whether it took effect is known only where the server answered.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The server refused the change, and would again.
    #[error("the API server refuses the change of binding {binding}: {source}")]
    Refused {
        /// The binding.
        binding: String,
        /// The server's answer.
        source: Box<kube::Error>,
    },
    /// The server did not answer, or answered that it cannot now. The write may have taken effect: read before you
    /// decide.
    #[error("cannot write binding {binding}: {source}")]
    Unknown {
        /// The binding.
        binding: String,
        /// What happened.
        source: Box<kube::Error>,
    },
}

/// Writes bindings of both kinds.
#[derive(Clone)]
pub struct BindingWriter {
    client: Client,
    /// Where the server keeps `spec.activeEvictionHistory`, once that was seen; of all writers that were cloned from one.
    history: Arc<Mutex<Option<Home>>>,
}

impl std::fmt::Debug for BindingWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BindingWriter")
    }
}

impl BindingWriter {
    /// A writer that uses this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            history: Arc::default(),
        }
    }

    /// Sends an edit of the spec. A history is written where the server keeps it: a trial, which changes nothing, comes before
    /// the first one.
    ///
    /// # Errors
    /// [`WriteError`] when the server refuses the change or does not answer.
    pub async fn write(&self, edit: &BindingEdit<'_>) -> Result<WriteOutcome, WriteError> {
        let home = self.history_home(edit).await;
        let Some(patch) = edit.patch_with(home) else {
            return Ok(WriteOutcome::NotNeeded);
        };
        let outcome = self.send(edit.read(), patch, Part::Spec).await?;
        Ok(match (outcome, edit.history()) {
            (WriteOutcome::Written(written), Some(wanted))
                if !wanted.is_empty() && written.spec.active_eviction_history.is_empty() =>
            {
                self.moved_out(*written, wanted).await
            }
            (outcome, _) => outcome,
        })
    }

    /// Finds out where the server keeps histories, unless that is known: for those whose write is to follow at once on what
    /// they read. What cannot be found out now is asked with the first write.
    pub async fn find_history_home(&self, binding: &BindingKey, now: Timestamp) {
        if self.known().is_some() {
            return;
        }
        let Ok(Some(read)) = api(&self.client, binding).get_opt(&binding.name).await else {
            return;
        };
        let Some(target) = read.spec.clusters.first() else {
            return;
        };
        let mut edit = BindingEdit::of(&read);
        edit.remember(&ClusterName::from(target.name.as_str()), now);
        self.history_home(&edit).await;
    }

    fn known(&self) -> Option<Home> {
        *self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the history of this edit goes.
    async fn history_home(&self, edit: &BindingEdit<'_>) -> Home {
        let as_it_was = if second_home::is_in_annotation(edit.read()) {
            Home::Annotation
        } else {
            Home::Field
        };
        let Some(history) = edit.history() else {
            return as_it_was;
        };
        if let Some(known) = self.known() {
            return known;
        }
        if as_it_was == Home::Field && !edit.read().spec.active_eviction_history.is_empty() {
            // What stands in the field was kept there.
            return self.found(Home::Field);
        }
        if history.is_empty() {
            return as_it_was;
        }
        match self.is_kept(edit).await {
            Some(true) => self.found(Home::Field),
            Some(false) => self.found(Home::Annotation),
            None => as_it_was,
        }
    }

    fn found(&self, home: Home) -> Home {
        let before = self
            .history
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(home);
        if home == Home::Annotation && before != Some(home) {
            info!(
                annotation = ACTIVE_EVICTION_HISTORY,
                "the API server keeps no spec.activeEvictionHistory in bindings: the annotation has it from now on"
            );
        }
        home
    }

    /// Whether the server would keep the history in its field; `None` when it does not say so, which the write itself then
    /// tells why.
    async fn is_kept(&self, edit: &BindingEdit<'_>) -> Option<bool> {
        let key = edit.read().key();
        let patch: Patch<()> = Patch::Json(serde_json::from_value(edit.patch()?).ok()?);
        let trial = PatchParams {
            dry_run: true,
            ..PatchParams::default()
        };
        // As it is answered: a binding that is read has what its annotation says in the field, too.
        let kind = ApiResource::erase::<Binding>(&key.kind());
        let api: kube::Api<DynamicObject> = match &key.namespace {
            Some(namespace) => kube::Api::namespaced_with(self.client.clone(), namespace, &kind),
            None => kube::Api::all_with(self.client.clone(), &kind),
        };
        let answer = api.patch(&key.name, &trial, &patch).await.ok()?;
        let kept = answer.data.pointer("/spec/activeEvictionHistory");
        Some(kept.and_then(Value::as_array).is_some_and(|kept| !kept.is_empty()))
    }

    /// The history was not kept although it was before, or nothing was known: it goes into the annotation. That it is there
    /// a moment later costs nothing, for meanwhile the task itself is the block.
    async fn moved_out(&self, written: Binding, wanted: &[api_types::work::EvictionHistoryItem]) -> WriteOutcome {
        self.found(Home::Annotation);
        let text = second_home::text(wanted);
        match self.annotate(&written, ACTIVE_EVICTION_HISTORY, text.as_deref()).await {
            Ok(WriteOutcome::Written(with_history)) => WriteOutcome::Written(with_history),
            other => {
                let why = match other {
                    Err(error) => error.to_string(),
                    Ok(_) => "it was changed meanwhile".to_owned(),
                };
                warn!(binding = %written.key(), "where the application failed is not remembered beyond its task: {why}");
                WriteOutcome::Written(Box::new(written))
            }
        }
    }

    /// Moves `task.fromCluster` out of `spec.clusters` and adds the task: [`BindingEdit::evict`] alone.
    ///
    /// # Errors
    /// As [`BindingWriter::write`].
    pub async fn evict(&self, read: &Binding, task: &GracefulEvictionTask) -> Result<WriteOutcome, WriteError> {
        let mut edit = BindingEdit::of(read);
        edit.evict(task);
        self.write(&edit).await
    }

    /// Writes a mirror task: [`BindingEdit::mirror`] alone.
    ///
    /// # Errors
    /// As [`BindingWriter::write`].
    pub async fn mirror(&self, read: &Binding, task: &GracefulEvictionTask) -> Result<WriteOutcome, WriteError> {
        let mut edit = BindingEdit::of(read);
        edit.mirror(task);
        self.write(&edit).await
    }

    /// Removes exactly the tasks of these clusters: [`BindingEdit::remove_tasks`] alone.
    ///
    /// # Errors
    /// As [`BindingWriter::write`].
    pub async fn remove_tasks(&self, read: &Binding, clusters: &[ClusterName]) -> Result<WriteOutcome, WriteError> {
        let mut edit = BindingEdit::of(read);
        edit.remove_tasks(clusters);
        self.write(&edit).await
    }

    /// Puts a cluster back as it was before its eviction: [`BindingEdit::restore`] alone.
    ///
    /// # Errors
    /// As [`BindingWriter::write`].
    pub async fn restore(&self, read: &Binding, cluster: &ClusterName) -> Result<WriteOutcome, WriteError> {
        let mut edit = BindingEdit::of(read);
        edit.restore(cluster);
        self.write(&edit).await
    }

    /// Takes a cluster that has a task out of `spec.clusters` again: [`BindingEdit::remove_target`] alone.
    ///
    /// # Errors
    /// As [`BindingWriter::write`].
    pub async fn remove_target(&self, read: &Binding, cluster: &ClusterName) -> Result<WriteOutcome, WriteError> {
        let mut edit = BindingEdit::of(read);
        edit.remove_target(cluster);
        self.write(&edit).await
    }

    /// Fills in `creationTimestamp` of tasks that lack it: [`BindingEdit::stamp_tasks`] alone.
    ///
    /// # Errors
    /// As [`BindingWriter::write`].
    pub async fn stamp_tasks(&self, read: &Binding, now: Timestamp) -> Result<WriteOutcome, WriteError> {
        let mut edit = BindingEdit::of(read);
        edit.stamp_tasks(now);
        self.write(&edit).await
    }

    /// Writes one condition of the status; `observedGeneration` is that of the binding read, and the transition time
    /// moves only with the condition's status. The other conditions are left as they are.
    ///
    /// # Errors
    /// As [`BindingWriter::write`].
    pub async fn set_condition(
        &self,
        read: &Binding,
        say: Say<'_>,
        now: Timestamp,
    ) -> Result<WriteOutcome, WriteError> {
        match condition::set(read, say, now) {
            None => Ok(WriteOutcome::NotNeeded),
            Some(patch) => self.send(read, patch, Part::Status).await,
        }
    }

    /// Removes one condition from the status.
    ///
    /// # Errors
    /// As [`BindingWriter::write`].
    pub async fn clear_condition(&self, read: &Binding, type_: &str) -> Result<WriteOutcome, WriteError> {
        match condition::clear(read, type_) {
            None => Ok(WriteOutcome::NotNeeded),
            Some(patch) => self.send(read, patch, Part::Status).await,
        }
    }

    /// Writes one annotation, or removes it. The others are left as they are.
    ///
    /// # Errors
    /// As [`BindingWriter::write`].
    pub async fn annotate(&self, read: &Binding, name: &str, value: Option<&str>) -> Result<WriteOutcome, WriteError> {
        match annotation::set(read, name, value) {
            None => Ok(WriteOutcome::NotNeeded),
            Some(patch) => self.send(read, patch, Part::Spec).await,
        }
    }

    async fn send(&self, read: &Binding, patch: Value, part: Part) -> Result<WriteOutcome, WriteError> {
        let key = read.key();
        let refused = |source| WriteError::Refused {
            binding: key.to_string(),
            source: Box::new(source),
        };
        let unknown = |source| WriteError::Unknown {
            binding: key.to_string(),
            source: Box::new(source),
        };
        let patch = serde_json::from_value(patch).map_err(|error| refused(kube::Error::SerdeError(error)))?;
        let patch: Patch<()> = Patch::Json(patch);
        let api = api(&self.client, &key);
        let sent = match part {
            Part::Spec => api.patch(&key.name, &PatchParams::default(), &patch).await,
            Part::Status => api.patch_status(&key.name, &PatchParams::default(), &patch).await,
        };
        let error = match sent {
            Ok(written) => return Ok(WriteOutcome::Written(Box::new(written))),
            Err(error) => error,
        };
        match &error {
            kube::Error::Api(status) if status.code == 404 => Ok(WriteOutcome::Gone),
            kube::Error::Api(status) if status.code == 409 => Ok(WriteOutcome::Conflict),
            // A failed test of the patch is answered like any other change that is not valid: look which it was.
            kube::Error::Api(status) if matches!(status.code, 400 | 422) => match api.get_opt(&key.name).await {
                Err(reading) => Err(unknown(reading)),
                Ok(None) => Ok(WriteOutcome::Gone),
                Ok(Some(now)) if now.metadata.uid != read.metadata.uid => Ok(WriteOutcome::Gone),
                Ok(Some(now)) if now.metadata.resource_version != read.metadata.resource_version => {
                    Ok(WriteOutcome::Conflict)
                }
                Ok(Some(_)) => Err(refused(error)),
            },
            kube::Error::Api(status) if matches!(status.code, 401 | 403 | 405 | 413) => Err(refused(error)),
            _ => Err(unknown(error)),
        }
    }
}

#[derive(Clone, Copy)]
enum Part {
    Spec,
    Status,
}
