//! What the queue is told and what it wants done.

use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use jiff::Timestamp;

use super::entry::{EntryKey, Published, WithdrawReason};
use super::lease::LeaseId;
use super::operator::OrderRequest;
use super::outcome::{LeaseEnd, RecentOutcome};
use super::producer::ProducerEpoch;
use super::rates::RateSettings;
use super::view::{ClusterView, PauseView};

/// Names a stream of the shell.
pub type StreamId = u64;

/// Whether the process leads for sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leading {
    /// The last renewal is younger than the renew deadline.
    Fresh,
    /// It is older: somebody else may lead soon, nothing is released.
    Stale,
}

/// When an event happens.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The wall clock: due times, pauses, what people see.
    pub wall: Timestamp,
    /// Elapsed time of the process: rates, leases, back-offs, graces.
    pub elapsed: Duration,
    /// Whether the process leads.
    pub leading: Leading,
}

/// What the queue is told.
#[derive(Clone, Debug)]
pub enum Event {
    /// Time went on.
    Tick,
    /// The administrator chose other rates.
    RatesChanged(RateSettings),
    /// What the administrator chose makes no sense, and why; the rates of before count.
    RatesRefused(String),
    /// A Cluster as it is now.
    ClusterSeen(ClusterView),
    /// A Cluster is gone.
    ClusterGone(ClusterName),
    /// All Clusters have been told.
    ClustersSynced,
    /// A FailoverPause as it is now.
    PauseSeen(PauseView),
    /// A FailoverPause is gone.
    PauseGone(String),
    /// All pauses have been told.
    PausesSynced,
    /// A producer opened a stream; its term was checked ([`super::Queue::check_epoch`]).
    ProducerHello {
        /// The stream.
        stream: StreamId,
        /// Name of the producer.
        producer: String,
        /// Its term.
        epoch: ProducerEpoch,
        /// The process, for people.
        identity: String,
    },
    /// A producer adds or changes entries.
    Upsert {
        /// The stream.
        stream: StreamId,
        /// The entries.
        entries: Vec<Published>,
    },
    /// A producer takes entries back.
    Withdraw {
        /// The stream.
        stream: StreamId,
        /// The entries.
        entries: Vec<(EntryKey, WithdrawReason)>,
    },
    /// A producer has named its whole set.
    SnapshotComplete {
        /// The stream.
        stream: StreamId,
    },
    /// A producer's stream ended.
    ProducerLeft {
        /// The stream.
        stream: StreamId,
    },
    /// A consumer opened a stream.
    ConsumerHello {
        /// The stream.
        stream: StreamId,
        /// The process, the same on all its streams: leases are its own.
        identity: String,
    },
    /// A consumer can work on so many more leases.
    Credit {
        /// The stream.
        stream: StreamId,
        /// Leases.
        leases: u32,
    },
    /// A consumer asks for the full duration again.
    Renew {
        /// The stream.
        stream: StreamId,
        /// Which.
        leases: Vec<LeaseId>,
    },
    /// A consumer's stream ended. Leases that were confirmed run on until they lapse, the others go back.
    ConsumerLeft {
        /// The stream.
        stream: StreamId,
    },
    /// A lease ended.
    Complete {
        /// The lease.
        lease: LeaseId,
        /// Its entry.
        key: Arc<EntryKey>,
        /// Who says so, as its stream said; absent: not told, and not asked for.
        consumer: Option<String>,
        /// What became of it.
        completion: Completion,
    },
    /// An operator wants something of an entry ([`super::Queue::plan_order`]).
    Order {
        /// The entry.
        key: EntryKey,
        /// What is wanted.
        request: OrderRequest,
    },
    /// The binding of an entry says what an operator ordered.
    OrderWritten {
        /// The entry.
        key: EntryKey,
        /// The order.
        id: u64,
        /// metadata.resourceVersion of the binding that says so.
        binding_version: String,
    },
}

/// What became of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The kind.
    pub outcome: OutcomeKind,
    /// One word in CamelCase.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// Kinds of outcomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutcomeKind {
    /// The binding was written.
    Evicted,
    /// The live state shows no cause.
    NotNeeded {
        /// Version of the binding as read; empty: gone.
        binding_version: String,
        /// Version of the Cluster as read; empty: gone.
        cluster_version: String,
    },
    /// No cluster could take the workload.
    NoTarget {
        /// When the verdict changes by time alone.
        recheck_at: Option<Timestamp>,
        /// What the verdict rests on.
        rests_on: NoTargetRestsOn,
    },
    /// Reading or writing failed.
    Failed,
    /// Not yet.
    Wait {
        /// Until then.
        until: Timestamp,
    },
}

/// What it takes to look for a target again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoTargetRestsOn {
    /// What clusters are and what they allow.
    #[default]
    Places,
    /// Also the free resources of clusters.
    PlacesAndResources,
}

impl OutcomeKind {
    /// One word in CamelCase.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        LeaseEnd::from(self).as_str()
    }
}

/// How an outcome was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompleteResult {
    /// Taken.
    Accepted,
    /// The lease had ended before; of a late outcome only Evicted still counts.
    Late,
    /// The lease is of another entry: nothing was changed.
    OtherEntry,
    /// The lease was granted to another consumer: nothing was changed.
    OtherConsumer,
}

/// A lease to send.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantedLease {
    /// Names it.
    pub id: LeaseId,
    /// The entry as published.
    pub published: Arc<Published>,
    /// Who published it.
    pub producer: Arc<str>,
    /// When it entered the queue.
    pub queued_at: Timestamp,
    /// When it was released.
    pub released_at: Timestamp,
}

/// What the queue wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send a lease.
    Grant {
        /// To this consumer.
        consumer: StreamId,
        /// The lease.
        lease: GrantedLease,
    },
    /// Say which leases live on.
    Renewed {
        /// To this consumer.
        consumer: StreamId,
        /// Which.
        leases: Vec<LeaseId>,
    },
    /// Say that a lease is over.
    Revoke {
        /// To this consumer.
        consumer: StreamId,
        /// Which.
        lease: LeaseId,
        /// Why.
        reason: String,
    },
    /// Say that the snapshot was taken over.
    SnapshotAccepted {
        /// To this producer.
        producer: StreamId,
        /// Its entries now.
        entries: usize,
    },
    /// Ask a producer to confirm or withdraw.
    Confirm {
        /// This producer.
        producer: StreamId,
        /// The entry.
        key: Arc<EntryKey>,
        /// Version of the binding as the evictor read it.
        binding_version: String,
        /// Version of the Cluster as the evictor read it.
        cluster_version: String,
        /// What it found.
        message: Arc<str>,
    },
    /// End a stream: another took its place.
    CloseStream {
        /// The stream.
        stream: StreamId,
        /// Why.
        reason: String,
    },
    /// End a producer's stream: the queue is full. Nothing of the message was taken.
    QueueFull {
        /// The stream.
        stream: StreamId,
        /// The limit.
        max_entries: usize,
    },
    /// End a producer's stream: another producer that is connected publishes this entry. Nothing of the message was
    /// taken.
    KeyTaken {
        /// The stream.
        stream: StreamId,
        /// The entry.
        key: EntryKey,
        /// Who publishes it.
        owner: Arc<str>,
    },
    /// A producer published an entry from an older state than the queue has: the entry was left as it is, and the
    /// producer is asked for it again. For metrics.
    Outdated,
    /// Another process of a producer took the place of one that was publishing. For metrics.
    TakenOver {
        /// The producer.
        producer: Arc<str>,
    },
    /// A producer stayed away for so long that its entries were dropped. For metrics, logs and people.
    ProducerForgotten {
        /// The producer.
        producer: Arc<str>,
        /// How many entries it had.
        entries: usize,
        /// Since when it was away.
        since: Timestamp,
    },
    /// A lease ended, for metrics and logs.
    Finished(Arc<RecentOutcome>),
    /// Answers Complete.
    Completed(CompleteResult),
}

/// When to tick next at the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// By the wall clock.
    pub wall: Option<Timestamp>,
    /// By elapsed time.
    pub elapsed: Option<Duration>,
}
