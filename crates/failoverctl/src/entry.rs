//! An entry of the eviction queue as it is shown: words instead of numbers, times instead of seconds.

mod hold;
mod moved;

use api_types::BindingKey;
use eviction_queue_api::convert::from_hold_reason;
use eviction_queue_api::v1;
use failover_core::eviction::{Cause, CauseKind};
use serde::Serialize;

pub use hold::{HoldReason, HoldView, OrderKind, OrderView};
pub use moved::{MoveView, outcome_word, seconds_between};

use crate::output::At;

/// State of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum State {
    /// Due later.
    Waiting,
    /// Due; it goes when its turn comes.
    Ready,
    /// The evictor works on it.
    Leased,
    /// Not released.
    Held,
    /// A state that this version does not know.
    Unknown,
}

impl State {
    /// The state of a message.
    #[must_use]
    pub fn of(state: v1::EntryState) -> Self {
        match state {
            v1::EntryState::Waiting => Self::Waiting,
            v1::EntryState::Ready => Self::Ready,
            v1::EntryState::Leased => Self::Leased,
            v1::EntryState::Held => Self::Held,
            v1::EntryState::Unspecified => Self::Unknown,
        }
    }

    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Ready => "Ready",
            Self::Leased => "Leased",
            Self::Held => "Held",
            Self::Unknown => "Unknown",
        }
    }
}

/// Why a copy has to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseView {
    /// Taint, Deletion, Application or Unknown.
    pub kind: &'static str,
    /// `key:effect@timeAdded`, `deletion@time` or `application@unhealthySince`.
    pub identity: String,
}

impl CauseView {
    /// A cause that was found here.
    #[must_use]
    pub fn of(cause: &Cause) -> Self {
        let kind = match cause.kind() {
            CauseKind::Taint => "Taint",
            CauseKind::Deletion => "Deletion",
            CauseKind::Application => "Application",
        };
        Self {
            kind,
            identity: cause.identity(),
        }
    }

    /// The identity without its time.
    #[must_use]
    pub fn short(&self) -> &str {
        self.identity.rsplit_once('@').map_or(&self.identity, |(what, _)| what)
    }
}

/// The template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceView {
    /// Such as `apps/v1`.
    pub api_version: String,
    /// Such as `Deployment`.
    pub kind: String,
    /// Absent for cluster scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl std::fmt::Display for ResourceView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}) ", self.kind, self.api_version)?;
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryView {
    /// `NAMESPACE/NAME`, or `NAME` of cluster scope.
    pub binding: String,
    /// The cluster that is left.
    pub cluster: String,
    /// Its state.
    pub state: State,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<At>,
    /// Why it has to leave.
    pub cause: CauseView,
    /// The verdict as a sentence.
    pub reason: String,
    /// When it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<At>,
    /// Why it is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldView>,
    /// What an operator ordered, until the binding says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderView>,
    /// Place in the order of release over all lanes, from 1; absent: it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// When it will be released if nothing changes; absent: not at today's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_release_at: Option<At>,
    /// Why it has not been released, in the queue's words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub explanation: String,
    /// The template.
    pub resource: ResourceView,
    /// Replicas on the cluster that is left.
    pub replicas: i32,
    /// Higher goes first within a lane.
    pub priority: i32,
    /// Directly, Gracefully or Never.
    pub purge_mode: &'static str,
    /// Seconds after which the old copy goes although the new one is not healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i32>,
    /// Who published it.
    pub producer: String,
    /// When it entered the queue of this leader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<At>,
    /// Not before this time, after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<At>,
    /// Tries that failed in a row.
    pub failures: u32,
    /// What the last lease came to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_outcome: String,
    /// UID of the binding.
    pub binding_uid: String,
    /// UID of the Cluster.
    pub cluster_uid: String,
    /// `metadata.generation` of the binding that was judged.
    pub binding_generation: i64,
}

impl EntryView {
    /// An entry of a list, without its place.
    #[must_use]
    pub fn of(entry: &v1::Entry) -> Self {
        let published = entry.published.clone().unwrap_or_default();
        let key = published.key.clone().unwrap_or_default();
        let kind = match entry.cause_kind() {
            v1::CauseKind::Taint => "Taint",
            v1::CauseKind::Deletion => "Deletion",
            v1::CauseKind::Application => "Application",
            v1::CauseKind::Unspecified => "Unknown",
        };
        let state = State::of(entry.state());
        let purge_mode = match published.purge_mode() {
            v1::PurgeMode::Directly => "Directly",
            v1::PurgeMode::Never => "Never",
            v1::PurgeMode::Gracefully | v1::PurgeMode::Unspecified => "Gracefully",
        };
        Self {
            binding: binding_key(&key).to_string(),
            cluster: key.cluster,
            state,
            since: at(entry.since.as_ref()),
            cause: CauseView {
                kind,
                identity: key.cause,
            },
            due_at: at(published.due_at.as_ref()),
            purge_mode,
            reason: published.reason,
            hold: entry
                .hold
                .as_ref()
                .filter(|_| state == State::Held)
                .map(|hold| HoldView {
                    reason: from_hold_reason(hold.reason()),
                    message: hold.message.clone(),
                    until: at(hold.until.as_ref()),
                    dropped: hold.dropped,
                }),
            order: entry.order.as_ref().map(OrderView::of),
            position: None,
            estimated_release_at: None,
            explanation: String::new(),
            resource: published.resource.map(resource).unwrap_or_default(),
            replicas: published.replicas,
            priority: published.priority,
            grace_period_seconds: published.grace_period_seconds,
            producer: entry.producer.clone(),
            queued_at: at(entry.queued_at.as_ref()),
            not_before: at(entry.not_before.as_ref()),
            failures: entry.failures,
            last_outcome: entry.last_outcome.clone(),
            binding_uid: key.uid,
            cluster_uid: key.cluster_uid,
            binding_generation: published.binding_generation,
        }
    }

    /// The same with its place in the order, if `answer` is about this entry.
    #[must_use]
    pub fn placed(mut self, answer: &v1::GetEntryResponse) -> Self {
        let same = answer.entry.as_ref().map(Self::of).is_some_and(|other| {
            (&other.binding_uid, &other.cluster, &other.cause) == (&self.binding_uid, &self.cluster, &self.cause)
        });
        if same {
            self.position = Some(answer.position).filter(|position| *position > 0);
            self.estimated_release_at = at(answer.estimated_release_at.as_ref());
            self.explanation = answer.explanation.clone();
        }
        self
    }

    /// Why it has not left yet: the hold's words, or the verdict's.
    #[must_use]
    pub fn why(&self) -> String {
        match &self.hold {
            Some(hold) if hold.message.is_empty() => hold.word().to_owned(),
            Some(hold) => format!("{}: {}", hold.word(), hold.message),
            None => self.reason.clone(),
        }
    }
}

/// The binding that a key names.
#[must_use]
pub fn binding_key(key: &v1::EntryKey) -> BindingKey {
    BindingKey {
        namespace: Some(key.namespace.clone()).filter(|n| !n.is_empty()),
        name: key.name.clone(),
    }
}

/// A time of a message.
#[must_use]
pub fn at(time: Option<&prost_types::Timestamp>) -> Option<At> {
    time.and_then(At::of_proto)
}

fn resource(reference: v1::ResourceRef) -> ResourceView {
    ResourceView {
        api_version: reference.api_version,
        kind: reference.kind,
        namespace: Some(reference.namespace).filter(|namespace| !namespace.is_empty()),
        name: reference.name,
    }
}
