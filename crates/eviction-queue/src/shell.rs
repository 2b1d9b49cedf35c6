//! The shell around the pure queue: its clock, its lock, its streams.
//!
//! Guarantees: events reach the model one at a time; what the model wants sent is sent in order; time is told to the
//! model no later than it asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use controller_kit::metrics::Buckets;
use controller_kit::{Clock, Context, Leadership, Metrics, Tasks};
use eviction_queue_api::convert::{to_key, to_published, to_time};
use eviction_queue_api::v1;
use failover_core::eviction::queue::{
    CompleteResult, Effect, Event, Leading, Moment, Queue, QueueSettings, RecentOutcome, StreamId,
};
use jiff::SignedDuration;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::service::Lists;

/// How often a leader whose renewal is old looks whether it is fresh again.
const STALE_LOOK: Duration = Duration::from_secs(1);

/// Upper bounds of the buckets of latencies, in seconds: a queue that is held back by its rate takes minutes.
const LATENCY_BOUNDS: [f64; 14] = [
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0, 3600.0,
];

/// Where the messages of one stream go.
#[derive(Clone, Debug)]
pub enum Outlet {
    /// Down a stream of Publish.
    Producer(mpsc::UnboundedSender<Result<v1::PublishResponse, Status>>),
    /// Down a stream of Lease.
    Consumer(mpsc::UnboundedSender<Result<v1::LeaseResponse, Status>>),
}

struct Inner {
    queue: Queue,
    outlets: BTreeMap<StreamId, (Outlet, CancellationToken)>,
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
    tasks: Tasks,
    revision: watch::Sender<u64>,
    beat: watch::Sender<u64>,
    again: Notify,
    closed: CancellationToken,
    lease_duration: Duration,
    lists: Lists,
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
            tasks: ctx.tasks.clone(),
            revision: watch::Sender::new(0),
            beat: watch::Sender::new(0),
            again: Notify::new(),
            closed: CancellationToken::new(),
            lists: Lists::default(),
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
    pub fn open(&self, outlet: Outlet) -> (StreamId, CancellationToken) {
        let mut inner = self.inner.lock();
        let id = inner.next_stream;
        inner.next_stream += 1;
        let ended = self.closed.child_token();
        inner.outlets.insert(id, (outlet, ended.clone()));
        (id, ended)
    }

    /// Tells the queue and carries out what it wants. Returns its answer to Complete.
    pub fn tell(&self, event: Event) -> Option<CompleteResult> {
        let mut inner = self.inner.lock();
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
        let revision = inner.queue.changes().revision();
        drop(inner);
        self.beat.send_modify(|count| *count += 1);
        self.revision
            .send_if_modified(|known| std::mem::replace(known, revision) != revision);
        answer
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
                tracing::debug!(lease = lease.id, entry = %lease.published.key, "released");
                send_consumer(
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
                send_consumer(inner, consumer, v1::lease_response::Message::Renewed(renewed));
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
                send_consumer(inner, consumer, v1::lease_response::Message::Revoked(revoked));
            }
            Effect::SnapshotAccepted { producer, entries } => {
                let accepted = v1::SnapshotAccepted {
                    entries: entries as u64,
                };
                send_producer(
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
                send_producer(inner, producer, v1::publish_response::Message::Confirm(confirm));
            }
            Effect::CloseStream { stream, reason } => end(inner, stream, &Status::aborted(reason)),
            Effect::QueueFull { stream, max_entries } => end(
                inner,
                stream,
                &Status::resource_exhausted(format!(
                    "the queue is full: --max-entries={max_entries}; nothing of this message was taken"
                )),
            ),
            Effect::Finished(outcome) => self.finished(inner, &outcome),
            Effect::Completed(_) => {}
        }
    }

    fn finished(&self, inner: &mut Inner, outcome: &RecentOutcome) {
        tracing::info!(
            entry = %outcome.key,
            outcome = outcome.outcome,
            reason = outcome.reason,
            message = outcome.message,
            "lease ended"
        );
        let labels = [("outcome", outcome.outcome), ("reason", outcome.reason.as_str())];
        self.metrics
            .counter("failover_queue_outcomes_total", &labels)
            .increment(1);
        if outcome.outcome == "Evicted" {
            let latency: SignedDuration = outcome.ended_at.duration_since(outcome.due_at);
            inner
                .latencies
                .entry(outcome.key.cluster.clone())
                .or_insert_with(|| Buckets::new(&LATENCY_BOUNDS))
                .record(latency.as_secs_f64().max(0.0));
        }
    }
}

fn send_producer(inner: &Inner, stream: StreamId, message: v1::publish_response::Message) {
    if let Some((Outlet::Producer(outlet), _)) = inner.outlets.get(&stream) {
        // A receiver that is gone is a stream that is about to be reported as ended.
        let _ = outlet.send(Ok(v1::PublishResponse { message: Some(message) }));
    }
}

fn send_consumer(inner: &Inner, stream: StreamId, message: v1::lease_response::Message) {
    if let Some((Outlet::Consumer(outlet), _)) = inner.outlets.get(&stream) {
        let _ = outlet.send(Ok(v1::LeaseResponse { message: Some(message) }));
    }
}

fn end(inner: &mut Inner, stream: StreamId, status: &Status) {
    match inner.outlets.remove(&stream) {
        Some((Outlet::Producer(outlet), ended)) => {
            let _ = outlet.send(Err(status.clone()));
            ended.cancel();
        }
        Some((Outlet::Consumer(outlet), ended)) => {
            let _ = outlet.send(Err(status.clone()));
            ended.cancel();
        }
        None => {}
    }
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
