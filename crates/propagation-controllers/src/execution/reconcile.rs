//! Works on one member: what Works that are not going bring there.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::ClusterName;
use api_types::work::{Manifest, Work};
use controller_kit::{Context, EventType, Metrics, Next, ObjectKey};
use serde_json::Value;
use tokio::time::Instant;

use super::conditions::{Applied, is_applied, was_refused};
use super::index::WorkIndex;
use super::losses::{Losses, News};
use super::member::{Member, MemberFailure};
use super::member_writes::{MemberWrites, Write};
use super::memory::{Memory, ObjectName};
use super::object::{Look, Step, fingerprint, step};
use super::slow_lane::{SlowLane, Turn};
use super::unserved::Unserved;
use super::writer::{self, Spoken};
use crate::counts::result;
use crate::interpreter::{InterpretError, Interpreter};
use crate::json;
use crate::kinds::{Kind, group_of};
use crate::members::{Interests, Reach, Session};
use crate::objects::{key_of, reference, reference_of_cluster};
use crate::work_status::reconcile::{Seen, statuses};

/// Reason of the event about objects that a member has lost.
const OBJECTS_LOST: &str = "ObjectsLost";

/// How long it takes to bring a Work to its member.
const APPLIED: &str = "work_sync_workload_duration_seconds";

/// Says what its metrics are.
pub(super) fn describe(metrics: &Metrics) {
    metrics.describe(
        APPLIED,
        "Time to bring a Work's objects to the member and say so on the Work, by result.",
    );
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
    pub(super) interests: Arc<Interests>,
    pub(super) unserved: Arc<Unserved>,
    pub(super) slow: SlowLane,
    pub(super) works: WorkIndex,
    pub(super) interpreter: Arc<dyn Interpreter>,
    pub(super) told: Told,
    pub(super) memory: Memory,
    pub(super) losses: Losses,
    pub(super) writes: MemberWrites,
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
            self.unserved.forget(key);
            self.interests.forget(key);
            return Ok(Next::Done);
        };
        if work.metadata.deletion_timestamp.is_some() {
            return self.remove(&work).await;
        }
        let begun = Instant::now();
        let applied = self.apply(key, &work).await;
        let labels = [("result", result(&applied))];
        self.ctx.metrics.histogram(APPLIED, &labels).record(begun.elapsed());
        applied
    }

    async fn apply(&self, key: &ObjectKey, work: &Work) -> Result<Next, Failure> {
        if work.spec.suspend_dispatching == Some(true) {
            writer::say_applied(&self.ctx, work, &Applied::Suspended, &[]).await?;
            return Ok(Next::Done);
        }
        let manifests = &work.spec.workload.manifests;
        let _turn = match self.slow.turn(manifests.iter().map(|Manifest(manifest)| manifest)) {
            Turn::Now(turn) => turn,
            Turn::After(later) => return Ok(Next::After(later)),
        };
        let mut tried = Vec::new();
        for Manifest(manifest) in manifests {
            let kind = self.member.kind_of(manifest).await;
            match &kind {
                // Followed before anything is asked about it, so that no change of it is missed.
                Ok(kind) => drop(self.interests.need(key, kind)),
                Err(failure) if failure.is_silence() => self.slow.timed_out(manifest),
                Err(_) => self.slow.answered(manifest),
            }
            tried.push((manifest, kind));
        }
        let kinds: Vec<Kind> = tried
            .iter()
            .filter_map(|(_, kind)| kind.as_ref().ok().cloned())
            .collect();
        let mut present = BTreeMap::new();
        let mut problems = Vec::new();
        for (manifest, kind) in tried {
            let applied = match kind {
                // Whoever wrote the Work: it may not have been read whole, and what is missing would go from the member.
                Ok(_) if json::is_too_deep(manifest) => Err(Trouble::TooDeep),
                Ok(kind) => self.apply_object(key, work, &kind, manifest).await,
                Err(failure) => Err(Trouble::Member(failure)),
            };
            match applied {
                Ok(object) => drop(present.insert(ObjectName::of(manifest), object)),
                Err(trouble) => problems.push(trouble),
            }
        }
        if problems.is_empty() {
            for object in self.left_behind(key, work) {
                self.remove_object(key, &object).await?;
            }
            self.interests.only(key, &kinds);
        }
        let applied = match problems.first() {
            None => Applied::All,
            Some(problem) => Applied::Failed {
                succeeded: manifests.len() - problems.len(),
                total: manifests.len(),
                problem: in_short(problem.to_string()),
            },
        };
        let spoken = self.say(key, work, &applied, &present).await?;
        self.look_again(key, work, &applied, &problems, spoken)
    }

    /// Says on the Work how applying it ended, if that is news.
    async fn say(
        &self,
        key: &ObjectKey,
        work: &Work,
        applied: &Applied,
        present: &BTreeMap<ObjectName, Value>,
    ) -> Result<Spoken, Failure> {
        if self.memory.already_said(key, work).as_ref() == Some(applied) {
            return Ok(Spoken::Nothing);
        }
        let observed = |manifest: &Value| present.get(&ObjectName::of(manifest)).cloned().map(Seen::Object);
        // What cannot be read is for workStatus to say.
        let first = statuses(key, work, observed, self.interpreter.as_ref()).items;
        let spoken = writer::say_applied(&self.ctx, work, applied, &first).await?;
        if spoken == Spoken::News && *applied == Applied::All {
            self.tell_applied(key, work);
        }
        self.memory.said(key, work, applied.clone());
        Ok(spoken)
    }

    /// When a Work is looked at again whose objects are not all as wanted: after its back-off; but what only waits for its
    /// kind when that may be served, and then the Event is for what is news, for nothing is tried in between.
    fn look_again(
        &self,
        key: &ObjectKey,
        work: &Work,
        applied: &Applied,
        problems: &[Trouble],
        spoken: Spoken,
    ) -> Result<Next, Failure> {
        let Applied::Failed { problem, .. } = applied else {
            self.unserved.forget(key);
            return Ok(Next::Done);
        };
        let missing: Option<Vec<&str>> = problems.iter().map(Trouble::missing_group).collect();
        if missing.is_none() || spoken == Spoken::News {
            for Manifest(manifest) in &work.spec.workload.manifests {
                let object = key_of(manifest);
                let note = format!(
                    "Failed to apply resource({object}) to cluster {}: {problem}",
                    self.cluster
                );
                self.publish(work, manifest, EventType::Warning, "SyncFailed", note);
            }
        }
        match missing.as_deref() {
            Some([group, ..]) => Ok(Next::After(self.unserved.wait(key, group))),
            _ => Err(Failure::NotApplied {
                cluster: self.cluster.clone(),
                problem: problem.clone(),
            }),
        }
    }

    /// Once for each version of the Work, in the log; as an Event only what is news to people: that a Work is applied of
    /// which something was refused before. What succeeds at once stands in the Work's conditions, and an Event for each copy would be
    /// a hundred for each change of what runs everywhere, and one of the writes that a move costs.
    fn tell_applied(&self, key: &ObjectKey, work: &Work) {
        let was_refused = was_refused(work);
        for Manifest(manifest) in &work.spec.workload.manifests {
            let kind = json::text(manifest, "/kind");
            tracing::info!(cluster = %self.cluster, work = %key, kind, object = %key_of(manifest), "applied");
            if was_refused {
                let note = format!(
                    "Successfully applied resource({}) to cluster {}",
                    key_of(manifest),
                    self.cluster
                );
                self.publish(work, manifest, EventType::Normal, "SyncSucceed", note);
            }
        }
    }

    /// An object that was applied was not there any more. One line and one event for all that is missed at a time: a
    /// member that comes back empty has lost everything.
    fn tell_lost(&self, work: &ObjectKey, of: &Work, ObjectName { kind, key: object, .. }: &ObjectName) {
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
    async fn apply_object(
        &self,
        key: &ObjectKey,
        work: &Work,
        kind: &Kind,
        manifest: &Value,
    ) -> Result<Value, Trouble> {
        let applied = self.bring(key, work, kind, manifest).await;
        match &applied {
            Err(Trouble::Member(failure)) if failure.is_silence() => self.slow.timed_out(manifest),
            _ => self.slow.answered(manifest),
        }
        applied
    }

    async fn bring(&self, key: &ObjectKey, work: &Work, kind: &Kind, manifest: &Value) -> Result<Value, Trouble> {
        let followed = self.interests.need(key, kind);
        let observed = self.member.known(&followed, manifest).await?;
        match self.carry_out(key, work, kind, manifest, observed.as_ref()).await {
            // What we had read was old: once more from what is there now.
            Err(Trouble::Member(failure)) if failure.is_outdated() => {
                let observed = self.member.live(kind, manifest).await?;
                self.carry_out(key, work, kind, manifest, observed.as_ref()).await
            }
            other => other,
        }
    }

    async fn carry_out(
        &self,
        key: &ObjectKey,
        work: &Work,
        kind: &Kind,
        manifest: &Value,
        observed: Option<&Value>,
    ) -> Result<Value, Trouble> {
        let name = ObjectName::of(manifest);
        let drifted = observed.is_some_and(|observed| self.memory.has_drifted(key, &name, fingerprint(observed)));
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
                let created = self.member.create(kind, &object).await;
                let write = if applied { Write::Recreate } else { Write::Create };
                self.writes.count(write, kind, &created);
                let created = created?;
                if applied {
                    self.tell_lost(key, work, &name);
                }
                created
            }
            Step::Replace(object) => {
                let replaced = self.member.replace(kind, &object).await;
                self.writes.count(Write::Update, kind, &replaced);
                replaced?
            }
        };
        self.memory.wrote(key, name, fingerprint(&written));
        Ok(written)
    }

    pub(super) fn failed(&self, manifest: &Value, failure: MemberFailure) -> Failure {
        let what = format!("{} {}", json::text(manifest, "/kind"), key_of(manifest));
        Failure::Member {
            cluster: self.cluster.clone(),
            what,
            failure,
        }
    }
}

/// A member's words may be long; those who read a condition read its beginning, and its length is limited.
fn in_short(mut words: String) -> String {
    const MAX_BYTES: usize = 4_096;
    if words.len() > MAX_BYTES {
        let end = (0..=MAX_BYTES).rev().find(|at| words.is_char_boundary(*at));
        words.truncate(end.unwrap_or(0));
        words.push('…');
    }
    words
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
    #[error(
        "the Work's manifest has more than {} levels of fields in each other, so it is not carried",
        json::DEEPEST
    )]
    TooDeep,
}

impl Trouble {
    /// The API group of which the member lacks a kind, if that is the trouble.
    fn missing_group(&self) -> Option<&str> {
        match self {
            Self::Member(MemberFailure::NotServed { api_version, .. }) => Some(group_of(api_version)),
            _ => None,
        }
    }
}
