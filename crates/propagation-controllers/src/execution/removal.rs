//! What Works that are going brought to a member, and what a Work no longer asks for, goes.

use std::collections::BTreeSet;
use std::time::Duration;

use api_types::names::label;
use api_types::work::{Manifest, Work};
use controller_kit::{Next, ObjectKey};
use serde_json::{Value, json};

use super::member::MemberFailure;
use super::member_writes::Write;
use super::memory::ObjectName;
use super::object::is_managed;
use super::reconcile::{Failure, MemberExecution};
use super::slow_lane::Turn;
use super::writer;
use crate::json;
use crate::kinds::Kind;
use crate::members::{BY_WORK, work_of_value};
use crate::objects::{key_of, to_value};

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

impl MemberExecution {
    /// Removes the Work's objects, and lets it go when they are gone.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn remove(&self, work: &Work) -> Result<Next, Failure> {
        let key = ObjectKey::of(work);
        if self.memory.is_released(&key, work) || !writer::is_ours(work) {
            return Ok(Next::Done);
        }
        let objects = self.brought_by(&key, work);
        let _turn = match self.slow.turn(&objects) {
            Turn::Now(turn) => turn,
            Turn::After(later) => return Ok(Next::After(later)),
        };
        let mut removal = Removal::Gone;
        let preserve = work.spec.preserve_resources_on_deletion == Some(true);
        for object in objects {
            let one = if preserve {
                self.let_go(&key, &object).await
            } else {
                self.remove_object(&key, &object).await
            };
            match &one {
                Err(Failure::Member { failure, .. }) if failure.is_silence() => self.slow.timed_out(&object),
                _ => self.slow.answered(&object),
            }
            if one? == Removal::Going {
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
    fn brought_by(&self, key: &ObjectKey, work: &Work) -> Vec<Value> {
        let mut objects: Vec<Value> = work
            .spec
            .workload
            .manifests
            .iter()
            .map(|Manifest(m)| m.clone())
            .collect();
        objects.extend(self.left_behind(key, work));
        objects
    }

    /// Objects in the member that come from this Work but are not in it any more, of whatever kind.
    pub(super) fn left_behind(&self, key: &ObjectKey, work: &Work) -> Vec<Value> {
        let manifests = &work.spec.workload.manifests;
        let mut known: BTreeSet<ObjectName> = manifests.iter().map(|Manifest(m)| ObjectName::of(m)).collect();
        let mut found = Vec::new();
        for followed in self.session.followed() {
            let Some(store) = followed.store_if_read() else {
                continue;
            };
            for object in store.by_index(BY_WORK, &key.to_string()) {
                let object = to_value(followed.kind(), &object);
                if known.insert(ObjectName::of(&object)) {
                    found.push(object);
                }
            }
        }
        // Of an earlier life of this process: what its status speaks of.
        for item in work.status.iter().flat_map(|status| &status.manifest_statuses) {
            let identifier = &item.identifier;
            let namespace = Some(&identifier.namespace).filter(|namespace| !namespace.is_empty());
            let version = match identifier.group.as_str() {
                "" => identifier.version.clone(),
                group => format!("{group}/{}", identifier.version),
            };
            let object = json!({"apiVersion": version, "kind": identifier.kind,
                "metadata": {"namespace": namespace, "name": identifier.name}});
            if known.insert(ObjectName::of(&object)) {
                found.push(object);
            }
        }
        found
    }

    /// Deletes an object that Karmada made for this Work; leaves any other.
    pub(super) async fn remove_object(&self, work: &ObjectKey, manifest: &Value) -> Result<Removal, Failure> {
        let failed = |failure| self.failed(manifest, failure);
        let Some((kind, observed)) = self.there(manifest).await.map_err(failed)? else {
            return Ok(Removal::Gone);
        };
        if !is_managed(&observed) || work_of_value(&observed).is_some_and(|other| other != *work) {
            return Ok(Removal::Gone);
        }
        if observed.pointer("/metadata/deletionTimestamp").is_none() {
            let told = self.member.delete(&kind, &observed).await;
            self.writes.count(Write::Delete, &kind, &told);
            let told = told.map_err(failed)?;
            let (what, object) = (kind.kind(), key_of(manifest));
            tracing::info!(cluster = %self.cluster, work = %work, kind = what, %object, "removed");
            self.memory.left(work, &ObjectName::of(manifest));
            if told == Removal::Gone || self.there(manifest).await.map_err(failed)?.is_none() {
                return Ok(Removal::Gone);
            }
        }
        Ok(Removal::Going)
    }

    /// The object as it is in the member now, in whatever version of its kind the member has: with another version of the
    /// member that of the Work may not be served any more, and the object runs on. Of a kind that no version has there is
    /// none; nor is there one of what is no manifest of an object.
    async fn there(&self, manifest: &Value) -> Result<Option<(Kind, Value)>, MemberFailure> {
        let found = match self.member.kind_of(manifest).await {
            Ok(kind) => {
                let observed = self.member.live(&kind, manifest).await;
                observed.map(|observed| observed.map(|observed| (kind, observed)))
            }
            Err(MemberFailure::Incomplete(_)) => return Ok(None),
            Err(failure) => Err(failure),
        };
        if !matches!(found, Err(MemberFailure::NotServed { .. })) {
            return found;
        }
        let Some(kind) = self.member.kind_in_any_version(manifest).await? else {
            return Ok(None);
        };
        let observed = self.member.live(&kind, manifest).await?;
        Ok(observed.map(|observed| (kind, observed)))
    }

    /// Takes our marks off an object that the owner wants to keep.
    async fn let_go(&self, work: &ObjectKey, manifest: &Value) -> Result<Removal, Failure> {
        let failed = |failure| self.failed(manifest, failure);
        let Some((kind, observed)) = self.there(manifest).await.map_err(failed)? else {
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
        let patched = self
            .member
            .patch(&kind, &observed, &kube::api::Patch::Merge(patch))
            .await;
        self.writes.count(Write::Update, &kind, &patched);
        patched.map_err(failed)?;
        self.memory.left(work, &ObjectName::of(manifest));
        Ok(Removal::Gone)
    }
}
