//! The shell around the pure queue: its clock, its lock, its streams.
//!
//! Guarantees: events reach the model one at a time; what the model wants sent is sent in order; time is told to the
//! model no later than it asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use controller_kit::metrics::{Buckets, Words};
use controller_kit::telemetry::{Span, TraceContext, Traces};
use controller_kit::{Clock, Context, Leadership, Metrics, Tasks};
use eviction_queue_api::convert::{to_key, to_published, to_time};
use eviction_queue_api::{InCommon, v1};
use failover_core::eviction::queue::{
    CompleteResult, Effect, EntryKey, Event, Leading, LeaseEnd, Moment, OrderPlan, OrderRefused, OrderRequest, Queue,
    QueueSettings, RecentOutcome, StreamId,
};
use jiff::SignedDuration;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::forgotten::Forgotten;
use crate::outlet::Outlet;
use crate::service::{Lists, count_refusal};
use crate::streams::{StreamKind, Streams};

/// How often a leader whose renewal is old looks whether it is fresh again.
const STALE_LOOK: Duration = Duration::from_secs(1);

/// Upper bounds of the buckets of latencies, in seconds: a queue that is held back by its rate takes minutes.
const LATENCY_BOUNDS: [f64; 14] = [
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0, 3600.0,
];

/// Where the messages of one stream go.
#[derive(Clone, Debug)]
pub enum Way {
    /// Down a stream of Publish.
    Producer(Outlet<v1::PublishResponse>),
    /// Down a stream of Lease.
    Consumer(Outlet<v1::LeaseResponse>),
}

/// Whether an order is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Only what it would come to is said.
    Dry,
    /// It is.
    ForReal,
}

struct Inner {
    queue: Queue,
    outlets: BTreeMap<StreamId, (Way, CancellationToken)>,
    next_stream: StreamId,
    /// From ready to evicted, by the cluster that was left; it goes with what the queue knows of the cluster.
    latencies: BTreeMap<ClusterName, Buckets>,
}

/// The queue of one term of this leader.
pub struct Shell {
    inner: Mutex<Inner>,
    clock: Clock,
    started: Instant,
    leadership: Leadership,
    epoch: String,
    identity: Arc<str>,
    metrics: Metrics,
    forgotten: Forgotten,
    /// What producers and consumers say, as labels.
    words: Words,
    traces: Traces,
    tasks: Tasks,
    revision: watch::Sender<u64>,
    beat: watch::Sender<u64>,
    again: Notify,
    closed: CancellationToken,
    lease_duration: Duration,
    lists: Lists,
    in_common: Mutex<InCommon>,
    streams: Streams,
}

impl std::fmt::Debug for Shell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shell")
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Shell {
    /// A new term with an empty queue.
    #[must_use]
    pub fn new(ctx: &Context, settings: QueueSettings) -> Arc<Self> {
        let epoch = ctx.leadership.epoch();
        let started = Instant::now();
        let moment = Moment {
            wall: ctx.clock.now(),
            elapsed: Duration::ZERO,
            leading: Leading::Fresh,
        };
        Arc::new(Self {
            lease_duration: settings.lease_duration,
            inner: Mutex::new(Inner {
                queue: Queue::new(settings, moment),
                outlets: BTreeMap::new(),
                next_stream: 1,
                latencies: BTreeMap::new(),
            }),
            clock: ctx.clock.clone(),
            started,
            leadership: ctx.leadership.clone(),
            epoch: format!("{}/{}", epoch.lease_uid, epoch.transitions),
            identity: ctx.identity.clone(),
            metrics: ctx.metrics.clone(),
            forgotten: Forgotten::of(ctx),
            words: Words::default(),
            traces: ctx.traces.clone(),
            tasks: ctx.tasks.clone(),
            revision: watch::Sender::new(0),
            beat: watch::Sender::new(0),
            again: Notify::new(),
            closed: CancellationToken::new(),
            lists: Lists::default(),
            in_common: Mutex::default(),
            streams: Streams::default(),
        })
    }

    /// The term, as `LEASE_UID/TRANSITIONS`.
    #[must_use]
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Who leads.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Where refusals are counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Slots for streams.
    #[must_use]
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Tasks of this term.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Cancelled when the term ends.
    #[must_use]
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// The revision of the last change, for those who wait for the next.
    #[must_use]
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Counts everything that the queue is told, for those who look at all of it.
    #[must_use]
    pub fn beats(&self) -> watch::Receiver<u64> {
        self.beat.subscribe()
    }

    /// The moment now.
    #[must_use]
    pub fn now(&self) -> Moment {
        let leading = if self.leadership.is_fresh() {
            Leading::Fresh
        } else {
            Leading::Stale
        };
        Moment {
            wall: self.clock.now(),
            elapsed: self.started.elapsed(),
            leading,
        }
    }

    /// Looks at the queue as it is now.
    pub fn look<T>(&self, how: impl FnOnce(&Queue, Moment) -> T) -> T {
        let inner = self.inner.lock();
        how(&inner.queue, self.now())
    }

    /// How long evictions took, by the cluster that was left, for as long as the queue knows of the cluster.
    #[must_use]
    pub fn latencies(&self) -> BTreeMap<ClusterName, Buckets> {
        let mut inner = self.inner.lock();
        let Inner { queue, latencies, .. } = &mut *inner;
        let known: BTreeSet<&ClusterName> = queue.stats().map(|(cluster, _)| cluster).collect();
        latencies.retain(|cluster, _| known.contains(cluster));
        latencies.clone()
    }

    /// Opens a stream; it ends when the returned token is cancelled.
    pub fn open(&self, outlet: Way) -> (StreamId, CancellationToken) {
        let mut inner = self.inner.lock();
        let id = inner.next_stream;
        inner.next_stream += 1;
        let ended = self.closed.child_token();
        inner.outlets.insert(id, (outlet, ended.clone()));
        (id, ended)
    }

    /// Tells the queue and carries out what it wants. Returns its answer to Complete.
    pub fn tell(&self, event: Event) -> Option<CompleteResult> {
        self.tell_locked(self.inner.lock(), event)
    }

    /// Carries out an operator's order, or says what it would come to.
    ///
    /// # Errors
    /// [`OrderRefused`].
    pub fn order(&self, key: &EntryKey, request: &OrderRequest, run: Run) -> Result<OrderPlan, OrderRefused> {
        let inner = self.inner.lock();
        let plan = inner.queue.plan_order(key, request, self.now())?;
        if run == Run::ForReal && !plan.is_done {
            let (key, request) = (key.clone(), request.clone());
            self.tell_locked(inner, Event::Order { key, request });
        }
        Ok(plan)
    }

    fn tell_locked(&self, mut inner: MutexGuard<'_, Inner>, event: Event) -> Option<CompleteResult> {
        match &event {
            Event::ProducerLeft { stream } | Event::ConsumerLeft { stream } => {
                inner.outlets.remove(stream);
            }
            _ => {}
        }
        let effects = inner.queue.apply(event, self.now());
        let mut answer = None;
        for effect in effects {
            if let Effect::Completed(result) = effect {
                answer = Some(result);
            } else {
                self.carry_out(&mut inner, effect);
            }
        }
        self.again.notify_one();
        let revision = inner.queue.revision();
        drop(inner);
        self.beat.send_modify(|count| *count += 1);
        self.revision
            .send_if_modified(|known| std::mem::replace(known, revision) != revision);
        answer
    }

    /// What its entries have in common.
    pub(crate) fn in_common(&self) -> &Mutex<InCommon> {
        &self.in_common
    }

    /// The lists that are being paged through.
    pub(crate) fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Tells the queue about time, and forgets what nobody pages through, until the term ends.
    pub async fn run(&self) {
        tokio::select! {
            biased;
            () = self.tick() => {}
            () = self.lists.tidy() => {}
        }
    }

    async fn tick(&self) {
        loop {
            let (wake, now) = self.look(|queue, now| (queue.next_wake(now), now));
            let elapsed = match (wake.elapsed, now.leading) {
                (elapsed, Leading::Fresh) => elapsed,
                (elapsed, Leading::Stale) => elapsed.into_iter().chain([now.elapsed + STALE_LOOK]).min(),
            };
            tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                () = self.again.notified() => continue,
                () = sleep_until(elapsed.map(|elapsed| self.started + elapsed)) => {}
                () = wall_sleep(&self.clock, wake.wall) => {}
            }
            self.tell(Event::Tick);
        }
    }

    /// Ends the term: all streams end.
    pub fn close(&self) {
        self.closed.cancel();
        self.lists.clear();
        self.inner.lock().outlets.clear();
    }

    fn carry_out(&self, inner: &mut MutexGuard<'_, Inner>, effect: Effect) {
        match effect {
            Effect::Grant { consumer, lease } => {
                let key = &lease.published.key;
                tracing::debug!(lease = lease.id, binding = %key.binding, cluster = %key.cluster, "released");
                self.send_consumer(
                    inner,
                    consumer,
                    v1::lease_response::Message::Granted(v1::LeaseGranted {
                        lease_id: lease.id,
                        queue_epoch: self.epoch.clone(),
                        duration: prost_types::Duration::try_from(self.lease_duration).ok(),
                        entry: Some(to_published(&lease.published)),
                        producer: lease.producer.to_string(),
                        queued_at: Some(to_time(lease.queued_at)),
                        released_at: Some(to_time(lease.released_at)),
                    }),
                );
            }
            Effect::Renewed { consumer, leases } => {
                let renewed = v1::LeaseRenewed {
                    lease_ids: leases,
                    queue_epoch: self.epoch.clone(),
                };
                self.send_consumer(inner, consumer, v1::lease_response::Message::Renewed(renewed));
            }
            Effect::Revoke {
                consumer,
                lease,
                reason,
            } => {
                tracing::info!(lease, reason, "lease revoked");
                let revoked = v1::LeaseRevoked {
                    lease_id: lease,
                    reason,
                    queue_epoch: self.epoch.clone(),
                };
                self.send_consumer(inner, consumer, v1::lease_response::Message::Revoked(revoked));
            }
            Effect::SnapshotAccepted { producer, entries } => {
                let accepted = v1::SnapshotAccepted {
                    entries: entries as u64,
                };
                self.send_producer(
                    inner,
                    producer,
                    v1::publish_response::Message::SnapshotAccepted(accepted),
                );
            }
            Effect::Confirm {
                producer,
                key,
                binding_version,
                cluster_version,
                message,
            } => {
                let confirm = v1::ConfirmRequest {
                    key: Some(to_key(&key)),
                    binding_resource_version: binding_version,
                    cluster_resource_version: cluster_version,
                    message: message.to_string(),
                };
                self.send_producer(inner, producer, v1::publish_response::Message::Confirm(confirm));
            }
            Effect::CloseStream { stream, reason } => self.end(inner, stream, Status::aborted(reason)),
            Effect::QueueFull { stream, max_entries } => {
                let status = Status::resource_exhausted(format!(
                    "the queue is full: --max-entries={max_entries}; nothing of this message was taken"
                ));
                self.end(inner, stream, status);
            }
            Effect::KeyTaken { stream, key, owner } => {
                let status = Status::already_exists(format!(
                    "producer {owner} publishes {key}: an entry has one producer; nothing of this message was taken"
                ));
                self.end(inner, stream, status);
            }
            Effect::Outdated => self
                .metrics
                .counter("failover_queue_outdated_upserts_total", &[])
                .increment(1),
            Effect::TakenOver { producer } => self
                .metrics
                .counter(
                    "failover_queue_producer_takeovers_total",
                    &[("producer", self.words.label(&producer))],
                )
                .increment(1),
            Effect::ProducerForgotten {
                producer,
                entries,
                since,
            } => self.forgotten.say(&self.words, &producer, entries, since),
            Effect::Finished(outcome) => self.finished(inner, &outcome),
            Effect::Completed(_) => {}
        }
    }

    fn send_producer(&self, inner: &mut Inner, stream: StreamId, message: v1::publish_response::Message) {
        if let Some((Way::Producer(outlet), _)) = inner.outlets.get(&stream)
            && outlet.send(v1::PublishResponse { message: Some(message) }).is_err()
        {
            self.end(inner, stream, does_not_read(StreamKind::Publish));
        }
    }

    fn send_consumer(&self, inner: &mut Inner, stream: StreamId, message: v1::lease_response::Message) {
        if let Some((Way::Consumer(outlet), _)) = inner.outlets.get(&stream)
            && outlet.send(v1::LeaseResponse { message: Some(message) }).is_err()
        {
            self.end(inner, stream, does_not_read(StreamKind::Lease));
        }
    }

    /// Ends a stream with a status. Its task tells the queue that it has ended.
    fn end(&self, inner: &mut Inner, stream: StreamId, status: Status) {
        let Some((way, ended)) = inner.outlets.remove(&stream) else {
            return;
        };
        match way {
            Way::Producer(outlet) => {
                count_refusal(&self.metrics, StreamKind::Publish.as_str(), &status);
                outlet.finish(status);
            }
            Way::Consumer(outlet) => {
                count_refusal(&self.metrics, StreamKind::Lease.as_str(), &status);
                outlet.finish(status);
            }
        }
        ended.cancel();
    }

    fn finished(&self, inner: &mut Inner, outcome: &RecentOutcome) {
        tracing::info!(
            binding = %outcome.key.binding,
            cluster = %outcome.key.cluster,
            cause = outcome.key.cause.identity(),
            outcome = outcome.end.as_str(),
            reason = outcome.reason,
            message = outcome.message,
            "lease ended"
        );
        let labels = [
            ("outcome", outcome.end.as_str()),
            ("reason", self.words.label(&outcome.reason)),
        ];
        self.metrics
            .counter("failover_queue_outcomes_total", &labels)
            .increment(1);
        self.trace(outcome);
        if outcome.end == LeaseEnd::Evicted {
            let latency: SignedDuration = outcome.ended_at.duration_since(outcome.published.due_at);
            inner
                .latencies
                .entry(outcome.key.cluster.clone())
                .or_insert_with(|| Buckets::new(&LATENCY_BOUNDS))
                .record(latency.as_secs_f64().max(0.0));
        }
    }
}

impl Shell {
    /// The queue's part of the trace of a move: how long it stood in the line, and the lease.
    fn trace(&self, outcome: &RecentOutcome) {
        let Some(of) = TraceContext::read(outcome.published.traceparent.as_deref()) else {
            return;
        };
        let subject = |span: Span| {
            span.with("binding", &outcome.key.binding)
                .with("cluster", &outcome.key.cluster)
        };
        if outcome.end == LeaseEnd::Evicted {
            let line = Span::in_trace(of, "in the queue", outcome.published.due_at, outcome.released_at);
            self.traces.tell(subject(line));
        }
        let lease = Span::in_trace(of, "lease", outcome.released_at, outcome.ended_at)
            .with("outcome", outcome.end.as_str())
            .with("reason", &outcome.reason)
            .with("consumer", &outcome.consumer);
        self.traces.tell(subject(lease));
    }
}

fn does_not_read(kind: StreamKind) -> Status {
    Status::resource_exhausted(format!(
        "this stream of {} is not read: more than {} messages wait in it",
        kind.as_str(),
        kind.unread()
    ))
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn wall_sleep(clock: &Clock, until: Option<jiff::Timestamp>) {
    match until {
        Some(until) => clock.sleep_until(until).await,
        None => std::future::pending().await,
    }
}
