//! Kubernetes Events.
//!
//! Guarantees: publishing never blocks and never fails the caller; equal events (object, source, type, reason, note) become
//! one Event with a count; no object gets more than a burst of writes and then a trickle, however many are published:
//! counts are late then, not lost; what cannot be written is dropped after a few tries and counted. When thousands of
//! different ones wait, because the API server takes none, further ones are dropped, counted, and one line says so. Times
//! are the injected clock's.

mod series;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use self::series::{Hurry, NextTry, ObjectId, Room, Series, SeriesId, SeriesKey, State, Turn, Verdict, Written};
use crate::api_errors;
use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::random::Random;

/// Time limit of one write.
const WRITE_LIMIT: Duration = Duration::from_secs(10);
/// The API refuses longer notes.
const MAX_NOTE_BYTES: usize = 1024;

/// Waits between tries of one write.
const RETRY: Backoff = Backoff {
    base: Duration::from_millis(500),
    max: Duration::from_secs(30),
};

/// Kubernetes' two kinds of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventType {
    /// Something happened as it should.
    Normal,
    /// Somebody should look.
    Warning,
}

impl EventType {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Publishes events of one process. Clones are the same recorder.
#[derive(Clone)]
pub struct EventRecorder {
    inner: Arc<Inner>,
    /// Who speaks.
    source: Arc<str>,
}

struct Inner {
    clock: Clock,
    instance: String,
    metrics: Metrics,
    state: Mutex<State>,
    published: Notify,
    /// Events created so far.
    created: AtomicU64,
}

/// A write to be done: everything needed without the lock.
struct Job {
    id: SeriesId,
    reason: String,
    namespace: String,
    write: Write,
    adds: u32,
}

enum Write {
    Create(Box<Event>),
    Count { name: String, count: u32, last: Timestamp },
}

impl EventRecorder {
    /// A recorder; nothing is written until [`EventRecorder::run`] runs.
    #[must_use]
    pub fn new(clock: Clock, component: &str, instance: &str, metrics: Metrics) -> Self {
        metrics.describe("failover_events_total", "Kubernetes events, by what became of them.");
        Self {
            source: component.into(),
            inner: Arc::new(Inner {
                clock,
                instance: instance.to_owned(),
                metrics,
                state: Mutex::default(),
                published: Notify::new(),
                created: AtomicU64::new(0),
            }),
        }
    }

    /// The same recorder for one of those who share it: its Events carry `source` as their component.
    #[must_use]
    pub fn speaking_as(&self, source: &str) -> Self {
        Self {
            inner: self.inner.clone(),
            source: source.into(),
        }
    }

    /// Says something about an object.
    pub fn publish(&self, about: &ObjectReference, event_type: EventType, reason: &str, note: impl Into<String>) {
        let inner = &self.inner;
        let (now, wall) = (Instant::now(), inner.clock.now());
        let key = SeriesKey {
            object: object_id(about),
            source: self.source.clone(),
            event_type,
            reason: reason.to_owned(),
            note: shorten(note.into()),
        };
        match inner.state.lock().publish(key, about, now, wall) {
            Room::Taken => inner.published.notify_one(),
            full => {
                inner.count("dropped_too_many");
                if full == Room::JustFull {
                    tracing::warn!("too many different events wait to be written: further ones are dropped for now");
                }
            }
        }
    }

    /// Says something about an object of a known type.
    pub fn publish_for<K>(&self, about: &K, event_type: EventType, reason: &str, note: impl Into<String>)
    where
        K: Resource,
        K::DynamicType: Default,
    {
        self.publish(&about.object_ref(&K::DynamicType::default()), event_type, reason, note);
    }

    /// Writes events for ever. One task of the process runs this.
    pub async fn run(&self, client: Client) {
        let mut random = Random::from_text(&[&self.inner.instance, "events"]);
        loop {
            let (job, next) = self.inner.take_job(Instant::now(), Hurry::No);
            if let Some(job) = job {
                self.write(&client, job, &mut random).await;
                continue;
            }
            tokio::select! {
                biased;
                () = self.inner.published.notified() => {}
                () = async {
                    match next {
                        Some(due) => sleep_until(due).await,
                        None => std::future::pending().await,
                    }
                } => {}
            }
        }
    }

    /// Writes what waits, now, one try each. For the end of a process, within the caller's time limit.
    pub async fn flush(&self, client: Client) {
        let mut random = Random::from_text(&[&self.inner.instance, "events", "flush"]);
        while let (Some(job), _) = self.inner.take_job(Instant::now(), Hurry::Yes) {
            self.write(&client, job, &mut random).await;
        }
    }

    async fn write(&self, client: &Client, job: Job, random: &mut Random) {
        let api: Api<Event> = Api::namespaced(client.clone(), &job.namespace);
        let result = match &job.write {
            Write::Create(event) => timeout(WRITE_LIMIT, api.create(&PostParams::default(), event)).await,
            Write::Count { name, count, last } => {
                let patch = serde_json::json!({ "count": count, "lastTimestamp": Time(*last) });
                timeout(
                    WRITE_LIMIT,
                    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)),
                )
                .await
            }
        };
        let inner = &self.inner;
        match result {
            Ok(Ok(_)) => inner.written(job),
            Ok(Err(error)) if may_work_later(&job.write, &error) => {
                let next = if api_errors::is_transient(&error) {
                    NextTry::TheSame
                } else {
                    NextTry::AsNewEvent
                };
                inner.again(&job, next, random);
            }
            Ok(Err(error)) => {
                tracing::warn!(
                    reason = job.reason,
                    error = api_errors::one_line(&error),
                    "event not written"
                );
                inner.count("dropped");
                inner.state.lock().give_up(job.id);
            }
            Err(_) => inner.again(&job, NextTry::TheSame, random),
        }
    }
}

/// A count for an Event that is gone, and a create whose name is taken, work as a new Event.
fn may_work_later(write: &Write, error: &kube::Error) -> bool {
    match write {
        Write::Create(_) => api_errors::is_transient(error) || api_errors::is_already_exists(error),
        Write::Count { .. } => api_errors::is_transient(error) || api_errors::is_not_found(error),
    }
}

impl Inner {
    fn count(&self, outcome: &'static str) {
        self.metrics
            .counter("failover_events_total", &[("outcome", outcome)])
            .increment(1);
    }

    /// The next write that is due and within its object's budget, or when to look again.
    fn take_job(&self, now: Instant, hurry: Hurry) -> (Option<Job>, Option<Instant>) {
        let mut state = self.state.lock();
        let (id, adds) = match state.next(now, hurry) {
            Turn::Write(id, adds) => (id, adds),
            Turn::Wait(due) => return (None, Some(due)),
            Turn::Idle => return (None, None),
        };
        let Some(series) = state.get(id) else {
            return (None, Some(now));
        };
        let namespace = event_namespace(&series.object);
        let write = match &series.written {
            Some(written) => Write::Count {
                name: written.name.clone(),
                count: written.count.saturating_add(adds),
                last: series.last,
            },
            None => Write::Create(Box::new(self.event(series, adds, &namespace))),
        };
        (
            Some(Job {
                id,
                reason: series.key.reason.clone(),
                namespace,
                write,
                adds,
            }),
            None,
        )
    }

    fn event(&self, series: &Series, count: u32, namespace: &str) -> Event {
        let key = &series.key;
        let object = series.object.name.as_deref().unwrap_or("unnamed");
        // Unique among the events of all processes: two with the same number have different instances.
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        let suffix = crate::random::hash_text(&[&self.instance, &number.to_string(), &series.first.to_string()]);
        let object: String = object.chars().take(230).collect();
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{object}.{suffix:016x}")),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            involved_object: series.object.clone(),
            type_: Some(key.event_type.as_str().to_owned()),
            reason: Some(key.reason.clone()),
            message: Some(key.note.clone()),
            count: i32::try_from(count).ok(),
            first_timestamp: Some(Time(series.first)),
            last_timestamp: Some(Time(series.last)),
            source: Some(EventSource {
                component: Some(key.source.to_string()),
                host: None,
            }),
            reporting_component: Some(key.source.to_string()),
            reporting_instance: Some(self.instance.clone()),
            ..Event::default()
        }
    }

    fn written(&self, job: Job) {
        self.count("written");
        let written = match job.write {
            Write::Create(event) => Written {
                name: event.metadata.name.unwrap_or_default(),
                count: job.adds,
            },
            Write::Count { name, count, .. } => Written { name, count },
        };
        self.state.lock().written(job.id, written, Instant::now());
        self.published.notify_one();
    }

    fn again(&self, job: &Job, next: NextTry, random: &mut Random) {
        let wait = |failures| RETRY.delay(failures, random);
        let verdict = self.state.lock().failed(job.id, job.adds, next, Instant::now(), wait);
        if verdict == Verdict::GivenUp {
            self.count("dropped");
        }
    }
}

fn object_id(about: &ObjectReference) -> ObjectId {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    [
        text(&about.api_version),
        text(&about.kind),
        text(&about.namespace),
        text(&about.name),
        text(&about.uid),
    ]
}

/// Events live in their object's namespace, those of cluster-scoped objects in `default`, as kubectl expects.
fn event_namespace(about: &ObjectReference) -> String {
    about
        .namespace
        .clone()
        .filter(|namespace| !namespace.is_empty())
        .unwrap_or_else(|| "default".to_owned())
}

fn shorten(mut note: String) -> String {
    const ELLIPSIS: &str = "...";
    if note.len() > MAX_NOTE_BYTES {
        let mut end = MAX_NOTE_BYTES - ELLIPSIS.len();
        while !note.is_char_boundary(end) {
            end -= 1;
        }
        note.truncate(end);
        note.push_str(ELLIPSIS);
    }
    note
}
