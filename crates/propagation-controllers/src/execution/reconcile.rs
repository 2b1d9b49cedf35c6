//! Works on one member: removes what Works that are going brought there, applies the others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::names::label;
use api_types::work::{Manifest, Work};
use controller_kit::{Context, EventType, Next, ObjectKey};
use serde_json::{Value, json};

use super::conditions::{Applied, is_applied};
use super::index::WorkIndex;
use super::losses::{Losses, News};
use super::member::{Member, MemberFailure};
use super::memory::{Memory, ObjectName};
use super::object::{Look, Step, content, is_managed, step};
use super::writer::{self, Spoken};
use crate::interpreter::{InterpretError, Interpreter};
use crate::members::{BY_WORK, Reach, Session, work_of_value};
use crate::objects::{api_resource, key_of, reference, reference_of_cluster};
use crate::work_status::reconcile::statuses;
use crate::{json, kinds};

/// Reason of the event about objects that a member has lost.
const OBJECTS_LOST: &str = "ObjectsLost";

/// How soon a deletion that the member has accepted is looked at again.
const AGAIN_WHILE_GOING: Duration = Duration::from_secs(1);

/// Whether a Work's objects are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// All are.
    Gone,
    /// The member has been told; some are still there.
    Going,
}

/// About what execution publishes its Events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The templates, where their owners look.
    OfTemplates,
    /// The Works: an agent has no business in the namespaces of templates.
    OfWorks,
}

impl Told {
    /// What a process of this reach may speak of.
    #[must_use]
    pub fn by(reach: &Reach) -> Self {
        match reach {
            Reach::PushMembers => Self::OfTemplates,
            Reach::Own(_) => Self::OfWorks,
        }
    }
}

/// Execution on one member, while it is Ready.
pub struct MemberExecution {
    pub(super) ctx: Context,
    pub(super) cluster: ClusterName,
    pub(super) session: Arc<Session>,
    pub(super) member: Member,
    pub(super) works: WorkIndex,
    pub(super) interpreter: Arc<dyn Interpreter>,
    pub(super) told: Told,
    pub(super) memory: Memory,
    pub(super) losses: Losses,
}

/// Why a Work could not be dealt with.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The member did not do it.
    #[error("cluster {cluster}: {what}: {failure}")]
    Member {
        /// The member.
        cluster: ClusterName,
        /// The object.
        what: String,
        /// The member's answer.
        failure: MemberFailure,
    },
    /// The control plane did not.
    #[error("{}", controller_kit::api_errors::one_line(.0))]
    ControlPlane(#[from] kube::Error),
    /// Not all objects are as wanted; said on the Work too.
    #[error("cluster {cluster}: {problem}")]
    NotApplied {
        /// The member.
        cluster: ClusterName,
        /// Why not.
        problem: String,
    },
}

impl MemberExecution {
    /// Does what the Work of this key needs.
    ///
    /// # Errors
    /// [`Failure`]; the Work comes back after a while.
    pub async fn sync(&self, key: &ObjectKey) -> Result<Next, Failure> {
        let Some(work) = self.works.get(key) else {
            self.memory.forget(key);
            return Ok(Next::Done);
        };
        if work.metadata.deletion_timestamp.is_some() {
            return self.remove(&work).await;
        }
        self.apply(key, &work).await
    }

    /// Removes the Work's objects, and lets it go when they are gone.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn remove(&self, work: &Work) -> Result<Next, Failure> {
        let key = ObjectKey::of(work);
        if self.memory.is_released(&key, work) || !writer::is_ours(work) {
            return Ok(Next::Done);
        }
        let mut removal = Removal::Gone;
        let preserve = work.spec.preserve_resources_on_deletion == Some(true);
        for object in self.brought_by(&key, work).await? {
            let one = if preserve {
                self.let_go(&key, &object).await?
            } else {
                self.remove_object(&key, &object).await?
            };
            if one == Removal::Going {
                removal = Removal::Going;
            }
        }
        match removal {
            Removal::Going => Ok(Next::After(AGAIN_WHILE_GOING)),
            Removal::Gone => {
                writer::release(&self.ctx, work).await?;
                tracing::info!(cluster = %self.cluster, work = %key, "the Work is let go: what it brought is gone");
                self.memory.released(&key, work);
                Ok(Next::Done)
            }
        }
    }

    /// What the Work asks for, and what it asked for before and no longer does.
    async fn brought_by(&self, key: &ObjectKey, work: &Work) -> Result<Vec<Value>, Failure> {
        let mut objects: Vec<Value> = work
            .spec
            .workload
            .manifests
            .iter()
            .map(|Manifest(m)| m.clone())
            .collect();
        objects.extend(self.left_behind(key, work).await?);
        Ok(objects)
    }

    /// Objects in the member that come from this Work but are not in it any more.
    async fn left_behind(&self, key: &ObjectKey, work: &Work) -> Result<Vec<Value>, Failure> {
        let wanted = |kind: &str, object: &ObjectKey| {
            work.spec
                .workload
                .manifests
                .iter()
                .any(|Manifest(m)| json::text(m, "/kind") == kind && key_of(m) == *object)
        };
        let mut found = Vec::new();
        for kind in kinds::templates().into_iter().chain([kinds::namespace()]) {
            let Some(store) = self.session.objects_if_followed(&kind.api_resource()) else {
                continue;
            };
            for object in store.by_index(BY_WORK, &key.to_string()) {
                let object_key = ObjectKey::of(object.as_ref());
                if !wanted(kind.kind(), &object_key) {
                    found.push(crate::objects::to_value(&kind, &object));
                }
            }
        }
        // Of an earlier life of this process: what its status speaks of.
        for item in work.status.iter().flat_map(|status| &status.manifest_statuses) {
            let identifier = &item.identifier;
            let namespace = Some(identifier.namespace.clone()).filter(|namespace| !namespace.is_empty());
            let object_key = ObjectKey {
                namespace,
                name: identifier.name.clone(),
            };
            let known = found
                .iter()
                .any(|m| json::text(m, "/kind") == identifier.kind && key_of(m) == object_key);
            if wanted(&identifier.kind, &object_key) || known {
                continue;
            }
            let version = match identifier.group.as_str() {
                "" => identifier.version.clone(),
                group => format!("{group}/{}", identifier.version),
            };
            found.push(json!({"apiVersion": version, "kind": identifier.kind,
                "metadata": {"namespace": object_key.namespace, "name": object_key.name}}));
        }
        Ok(found)
    }

    /// Deletes an object that Karmada made for this Work; leaves any other.
    async fn remove_object(&self, work: &ObjectKey, manifest: &Value) -> Result<Removal, Failure> {
        let failed = |failure| self.failed(manifest, failure);
        let Some(observed) = self.member.live(manifest).await.map_err(failed)? else {
            return Ok(Removal::Gone);
        };
        if !is_managed(&observed) || work_of_value(&observed).is_some_and(|other| other != *work) {
            return Ok(Removal::Gone);
        }
        if observed.pointer("/metadata/deletionTimestamp").is_none() {
            self.member.delete(&observed).await.map_err(failed)?;
            let kind = json::text(manifest, "/kind");
            tracing::info!(cluster = %self.cluster, work = %work, kind, object = %key_of(manifest), "removed");
            self.memory.left(work, &memory_key(manifest));
            if self.member.live(manifest).await.map_err(failed)?.is_none() {
                return Ok(Removal::Gone);
            }
        }
        Ok(Removal::Going)
    }

    /// Takes our marks off an object that the owner wants to keep.
    async fn let_go(&self, work: &ObjectKey, manifest: &Value) -> Result<Removal, Failure> {
        let failed = |failure| self.failed(manifest, failure);
        let Some(observed) = self.member.live(manifest).await.map_err(failed)? else {
            return Ok(Removal::Gone);
        };
        if !is_managed(&observed) || work_of_value(&observed).is_some_and(|other| other != *work) {
            return Ok(Removal::Gone);
        }
        let ours = |key: &&String| {
            let prefixes = [
                "propagationpolicy",
                "clusterpropagationpolicy",
                "resourcebinding",
                "clusterresourcebinding",
                "work",
                "resourcetemplate",
            ];
            key.as_str() == label::MANAGED
                || prefixes
                    .iter()
                    .any(|prefix| key.starts_with(&format!("{prefix}.karmada.io/")))
        };
        let gone = |pointer: &str| -> Value {
            let map = json::text_map(&observed, pointer);
            Value::Object(map.keys().filter(ours).map(|key| (key.clone(), Value::Null)).collect())
        };
        let patch = json!({"metadata": {"resourceVersion": observed["metadata"]["resourceVersion"],
            "labels": gone("/metadata/labels"), "annotations": gone("/metadata/annotations")}});
        self.member
            .patch(&observed, &kube::api::Patch::Merge(patch))
            .await
            .map_err(failed)?;
        self.memory.left(work, &memory_key(manifest));
        Ok(Removal::Gone)
    }

    async fn apply(&self, key: &ObjectKey, work: &Work) -> Result<Next, Failure> {
        if work.spec.suspend_dispatching == Some(true) {
            writer::say_applied(&self.ctx, work, &Applied::Suspended, &[]).await?;
            return Ok(Next::Done);
        }
        let manifests = &work.spec.workload.manifests;
        let mut problem = None;
        let mut succeeded = 0;
        let mut present = BTreeMap::new();
        for Manifest(manifest) in manifests {
            match self.apply_object(key, work, manifest).await {
                Ok(object) => {
                    succeeded += 1;
                    present.insert(memory_key(manifest), object);
                }
                Err(reason) => problem = problem.or(Some(reason)),
            }
        }
        if problem.is_none() {
            for object in self.left_behind(key, work).await? {
                self.remove_object(key, &object).await?;
            }
        }
        let applied = match &problem {
            None => Applied::All,
            Some(problem) => Applied::Failed {
                succeeded,
                total: manifests.len(),
                problem: problem.clone(),
            },
        };
        let observed = |manifest: &Value| present.get(&memory_key(manifest)).cloned();
        // What cannot be read is for workStatus to say.
        let first = statuses(key, work, observed, self.interpreter.as_ref()).unwrap_or_default();
        if self.memory.already_said(key, work).as_ref() != Some(&applied) {
            let spoken = writer::say_applied(&self.ctx, work, &applied, &first).await?;
            if spoken == Spoken::News && applied == Applied::All {
                self.tell_applied(key, work);
            }
            self.memory.said(key, work, applied);
        }
        match problem {
            None => Ok(Next::Done),
            Some(problem) => {
                for Manifest(manifest) in manifests {
                    let note = format!(
                        "Failed to apply resource({}) to cluster {}: {problem}",
                        key_of(manifest),
                        self.cluster
                    );
                    self.publish(work, manifest, EventType::Warning, "SyncFailed", note);
                }
                Err(Failure::NotApplied {
                    cluster: self.cluster.clone(),
                    problem,
                })
            }
        }
    }

    /// Once for each version of the Work. On the templates only: what stock's Events on Works say as well stands in
    /// the Work's conditions, and a move is to cost few writes.
    fn tell_applied(&self, key: &ObjectKey, work: &Work) {
        for Manifest(manifest) in &work.spec.workload.manifests {
            let kind = json::text(manifest, "/kind");
            tracing::info!(cluster = %self.cluster, work = %key, kind, object = %key_of(manifest), "applied");
            let note = format!(
                "Successfully applied resource({}) to cluster {}",
                key_of(manifest),
                self.cluster
            );
            self.publish(work, manifest, EventType::Normal, "SyncSucceed", note);
        }
    }

    /// An object that was applied was not there any more. One line and one event for all that is missed at a time: a
    /// member that comes back empty has lost everything.
    fn tell_lost(&self, work: &ObjectKey, of: &Work, (kind, object): &ObjectName) {
        if self.losses.count() == News::No {
            tracing::debug!(cluster = %self.cluster, %work, kind, %object, "gone from the member, applied again");
            return;
        }
        tracing::warn!(
            cluster = %self.cluster, %work, kind, %object,
            "what was applied is gone from the member: applying again what is missing"
        );
        let note = format!("{kind} {object} was applied and is gone from the member; what is missing is applied again");
        let (events, warning) = (&self.ctx.events, EventType::Warning);
        match self.told {
            Told::OfTemplates => events.publish(&reference_of_cluster(&self.cluster), warning, OBJECTS_LOST, note),
            Told::OfWorks => events.publish_for(of, warning, OBJECTS_LOST, note),
        }
    }

    fn publish(&self, work: &Work, manifest: &Value, event_type: EventType, reason: &str, note: String) {
        let events = &self.ctx.events;
        match self.told {
            Told::OfTemplates => events.publish(&reference_of_template(manifest), event_type, reason, note),
            Told::OfWorks => events.publish_for(work, event_type, reason, note),
        }
    }

    /// Returns the object as it then is in the member.
    async fn apply_object(&self, key: &ObjectKey, work: &Work, manifest: &Value) -> Result<Value, String> {
        let text = |failure: MemberFailure| failure.to_string();
        let observed = self.member.known(manifest).await.map_err(text)?;
        match self.carry_out(key, work, manifest, observed.as_ref()).await {
            // What we had read was old: once more from what is there now.
            Err(Trouble::Member(failure)) if failure.is_outdated() => {
                let observed = self.member.live(manifest).await.map_err(text)?;
                self.carry_out(key, work, manifest, observed.as_ref())
                    .await
                    .map_err(|trouble| trouble.to_string())
            }
            other => other.map_err(|trouble| trouble.to_string()),
        }
    }

    async fn carry_out(
        &self,
        key: &ObjectKey,
        work: &Work,
        manifest: &Value,
        observed: Option<&Value>,
    ) -> Result<Value, Trouble> {
        let name = memory_key(manifest);
        let drifted = observed.is_some_and(|observed| self.memory.has_drifted(key, &name, &content(observed)));
        let applied = is_applied(work) || self.memory.already_said(key, work) == Some(Applied::All);
        let look = match (applied, drifted) {
            (false, _) => Look::NewVersion,
            (true, true) => Look::Drifted,
            (true, false) => Look::Differences,
        };
        let written = match step(key, manifest, observed, look, self.interpreter.as_ref())? {
            Step::Leave => return Ok(observed.cloned().unwrap_or_default()),
            Step::Conflict(reason) => return Err(Trouble::Conflict(reason)),
            Step::Create(object) => {
                let created = self.member.create(&object).await?;
                if applied {
                    self.tell_lost(key, work, &name);
                }
                created
            }
            Step::Replace(object) => self.member.replace(&object).await?,
        };
        self.memory.wrote(key, name, content(&written));
        Ok(written)
    }

    fn failed(&self, manifest: &Value, failure: MemberFailure) -> Failure {
        let what = format!("{} {}", json::text(manifest, "/kind"), key_of(manifest));
        Failure::Member {
            cluster: self.cluster.clone(),
            what,
            failure,
        }
    }

    /// Follows the kinds that the Work brings, so that changes in the member come back to it.
    pub(super) fn kinds_of(work: &Work) -> Vec<kube::core::ApiResource> {
        work.spec
            .workload
            .manifests
            .iter()
            .map(|Manifest(manifest)| api_resource(manifest))
            .collect()
    }
}

fn memory_key(manifest: &Value) -> ObjectName {
    (json::text(manifest, "/kind").to_owned(), key_of(manifest))
}

/// The template in the control plane has the manifest's name, and the UID that an annotation holds.
fn reference_of_template(manifest: &Value) -> k8s_openapi::api::core::v1::ObjectReference {
    let uid = format!(
        "/metadata/annotations/{}",
        json::pointer_key(api_types::names::annotation::TEMPLATE_UID)
    );
    let mut template = reference(manifest);
    template.uid = json::some_text(manifest, &uid).map(str::to_owned);
    template
}

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Member(#[from] MemberFailure),
    #[error(transparent)]
    Interpret(#[from] InterpretError),
    #[error("{0}")]
    Conflict(String),
}
