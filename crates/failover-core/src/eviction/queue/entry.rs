//! One entry: what was published about it, what happened to it here, and the state that follows.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use api_types::{BindingKey, ClusterName};
use jiff::Timestamp;

use super::identity::{ObjectVersion, Uid};
use super::lease::LeaseId;
use super::operator::OperatorOrder;
use super::past::Past;
use super::purge::Purge;
use crate::eviction::Cause;
use crate::second_owner;

/// Names an entry. Sorts by cluster, then binding, then cause. Entries of one cluster have its name, its UID and the cause
/// in common and may share them.
#[derive(Clone, Debug, Eq, PartialOrd, Ord)]
pub struct EntryKey {
    /// The cluster that is left.
    pub cluster: ClusterName,
    /// Its UID.
    pub cluster_uid: Arc<str>,
    /// The binding.
    pub binding: BindingKey,
    /// Its UID.
    pub binding_uid: Uid,
    /// Why.
    pub cause: Arc<Cause>,
}

impl PartialEq for EntryKey {
    /// Mostly a key is compared with itself; what tells others apart is compared first.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || (self.binding_uid == other.binding_uid
                && self.cluster == other.cluster
                && self.cluster_uid == other.cluster_uid
                && self.cause == other.cause
                && self.binding == other.binding)
    }
}

impl Hash for EntryKey {
    /// The binding's UID and the cluster tell nearly all of them apart.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.binding_uid.hash(state);
        self.cluster.hash(state);
    }
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} ({})", self.binding, self.cluster, self.cause)
    }
}

/// Names the template of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateRef {
    /// API version, such as `apps/v1`.
    pub api_version: Arc<str>,
    /// Kind, such as `Deployment`.
    pub kind: Arc<str>,
    /// Namespace; absent for cluster scope.
    pub namespace: Option<Arc<str>>,
    /// Name.
    pub name: Box<str>,
}

impl TemplateRef {
    /// `apiVersion/Kind`, the label `resource_kind`.
    #[must_use]
    pub fn kind_label(&self) -> String {
        format!("{}/{}", self.api_version, self.kind)
    }
}

/// Versions of the objects that a producer judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingVersions {
    /// metadata.generation of the binding.
    pub binding_generation: i64,
    /// metadata.resourceVersion of the binding.
    pub binding: ObjectVersion,
    /// metadata.resourceVersion of the Cluster.
    pub cluster: ObjectVersion,
}

impl BindingVersions {
    /// Whether this was judged from an older state than the other, of either object.
    #[must_use]
    pub(super) fn older_than(&self, other: &Self) -> bool {
        self.binding.is_older_than(&other.binding) || self.cluster.is_older_than(&other.cluster)
    }

    /// Whether this was judged from a state at least as new as these versions, as somebody read them.
    #[must_use]
    pub fn at_least_as_new(&self, binding: &str, cluster: &str) -> bool {
        self.binding.is_at_least_as_new_as(&binding.into()) && self.cluster.is_at_least_as_new_as(&cluster.into())
    }
}

/// Why a producer wants an entry to be seen but not released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerHold {
    /// Stay, Recovering or Dropped.
    pub reason: HoldReason,
    /// The same as a sentence.
    pub message: Arc<str>,
    /// Whether a Drop keeps it, so that Undrop takes it back; a person's word otherwise.
    pub by_drop: bool,
}

/// What a producer publishes about one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Which entry.
    pub key: Arc<EntryKey>,
    /// When it is due, and since when it counts as ready.
    pub due_at: Timestamp,
    /// Schedule priority; higher goes first in the lane.
    pub priority: i32,
    /// The template.
    pub template: TemplateRef,
    /// Replicas on the cluster.
    pub replicas: i32,
    /// What becomes of the old copy.
    pub purge_mode: Purge,
    /// Seconds after which the old copy goes although the new one is not healthy.
    pub grace_period_seconds: Option<i32>,
    /// The verdict as a sentence.
    pub reason: Arc<str>,
    /// Not to be released.
    pub hold: Option<Box<ProducerHold>>,
    /// What was judged.
    pub versions: BindingVersions,
    /// What joins the trace of the move, in its own words; absent where nobody traces.
    pub traceparent: Option<Box<str>>,
}

/// Why an entry is held. Sorts by precedence: of several reasons the first is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HoldReason {
    /// The cause does not stand on the cluster as the queue sees it, any more or yet.
    CauseNotSeen,
    /// The producer has not come back.
    ProducerGone,
    /// An operator dropped the entry, and that is not written down yet.
    Dropped,
    /// An operator took a drop back, and that is not written down yet.
    Undropped,
    /// The `stay` annotation says so.
    Stay,
    /// The removal window of the taint runs.
    Recovering,
    /// The evictor found the eviction not needed, and the producer has not confirmed it.
    NotNeeded,
    /// No cluster could take the workload.
    NoTarget,
    /// The evictor asked to wait.
    Wait,
    /// Somebody else does the same job there, and the evictor asked to wait until that is over.
    SecondOwner,
    /// A pause covers the entry.
    Paused,
}

impl HoldReason {
    /// One word in CamelCase.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CauseNotSeen => "CauseNotSeen",
            Self::ProducerGone => "ProducerGone",
            Self::Dropped => "Dropped",
            Self::Undropped => "Undropped",
            Self::Stay => "Stay",
            Self::Recovering => "Recovering",
            Self::NotNeeded => "NotNeeded",
            Self::NoTarget => "NoTarget",
            Self::Wait => "Wait",
            Self::SecondOwner => second_owner::REASON,
            Self::Paused => "Paused",
        }
    }
}

/// State of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Due later.
    Waiting,
    /// Due; it goes when its turn comes.
    Ready,
    /// A consumer works on it.
    Leased(LeaseId),
    /// Not released.
    Held {
        /// Why.
        reason: HoldReason,
        /// The same as a sentence.
        message: Arc<str>,
        /// When it is looked at again at the latest.
        until: Option<Timestamp>,
    },
}

impl State {
    /// One word in CamelCase.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Ready => "Ready",
            Self::Leased(_) => "Leased",
            Self::Held { .. } => "Held",
        }
    }

    pub(super) fn same_kind(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Held { reason: a, .. }, Self::Held { reason: b, .. }) => a == b,
            (Self::Leased(a), Self::Leased(b)) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }
}

/// Why a producer takes an entry back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithdrawReason {
    /// Not published any more.
    NotPublished,
    /// The taint is gone or the deletion is over.
    ClusterRecovered,
    /// The workload tolerates the cause now.
    Tolerated,
    /// The binding, or its place on the cluster, is gone.
    BindingGone,
    /// The copy leaves the cluster already.
    Leaving,
    /// Another cause is due earlier.
    Replaced,
    /// A switch is off.
    SwitchedOff,
    /// The application does not fail any more.
    ApplicationRecovered,
    /// The cluster is not Ready, so that nobody knows how the application is.
    ClusterNotReady,
}

/// An entry as the queue has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// As published.
    pub published: Arc<Published>,
    /// Who published it.
    pub producer: Arc<str>,
    /// When it entered this queue.
    pub queued_at: Timestamp,
    /// Its state.
    pub state: State,
    /// Since when it has this state.
    pub since: Timestamp,
    /// What its leases came to.
    pub past: Past,
    /// What an operator asked for and is not written down yet.
    pub order: Option<Arc<OperatorOrder>>,
    /// How many entries came before it. Indexes tell entries apart by it.
    pub(super) serial: u64,
    /// The number of its last change.
    pub(super) revision: u64,
    pub(super) lease: Option<LeaseId>,
}

impl Entry {
    pub(super) fn new(published: Published, producer: Arc<str>, serial: u64, now: Timestamp) -> Self {
        Self {
            published: Arc::new(published),
            producer,
            queued_at: now,
            state: State::Waiting,
            since: now,
            past: Past::default(),
            order: None,
            serial,
            revision: 0,
            lease: None,
        }
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> &EntryKey {
        &self.published.key
    }

    /// An order is over when the producer speaks from a state that has it.
    pub(super) fn settle_order(&mut self) {
        let version = self.order.as_ref().and_then(|order| order.written_in.as_deref());
        if version.is_some_and(|version| self.published.versions.binding.is_at_least_as_new_as(&version.into())) {
            self.order = None;
        }
    }

    /// Whether it is ready and no back-off runs.
    #[must_use]
    pub(super) fn is_eligible(&self) -> bool {
        self.state == State::Ready && self.past.cooling_until.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A large queue has a hundred thousand of each: what is added to them for a few belongs into a part that only those
    // have.
    #[test]
    fn what_each_entry_has_does_not_grow() {
        assert!(size_of::<EntryKey>() <= 112, "{}", size_of::<EntryKey>());
        assert!(size_of::<Published>() <= 192, "{}", size_of::<Published>());
        assert!(size_of::<Entry>() <= 152, "{}", size_of::<Entry>());
    }
}
