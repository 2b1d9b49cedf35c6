//! Kubernetes Events.
//!
//! Guarantees: publishing never blocks and never fails the caller; equal events (object, type, reason, note) become
//! one Event with a count; no object gets more than a burst of writes and then a trickle, however many are published:
//! counts are late then, not lost; what cannot be written is dropped after a few tries and counted. Times are the
//! injected clock's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use crate::api_errors;
use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::random::Random;

/// A repeated event's count is written at most this often.
const COUNT_EVERY: Duration = Duration::from_secs(10);
/// Writes that an object may have in a row.
const BURST: f64 = 25.0;
/// Time for one more write once the burst is used up.
const REFILL: Duration = Duration::from_secs(60);
/// Different events remembered; beyond that new ones are dropped until old ones are forgotten.
const MAX_SERIES: usize = 8192;
/// An event not repeated for this long is forgotten; the next one is a new Event.
const FORGET_AFTER: Duration = Duration::from_secs(3600);
/// Tries before an event is dropped.
const MAX_TRIES: u32 = 5;
/// Time limit of one write.
const WRITE_LIMIT: Duration = Duration::from_secs(10);
/// The API refuses longer notes.
const MAX_NOTE_BYTES: usize = 1024;

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
}

struct Inner {
    clock: Clock,
    component: String,
    instance: String,
    metrics: Metrics,
    state: Mutex<State>,
    published: Notify,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SeriesKey {
    object: ObjectId,
    event_type: EventType,
    reason: String,
    note: String,
}

/// Api version, kind, namespace, name, uid.
type ObjectId = (String, String, String, String, String);

struct Series {
    object: ObjectReference,
    unwritten: u32,
    tries: u32,
    first: Timestamp,
    last: Timestamp,
    last_published: Instant,
    write_not_before: Instant,
    written: Option<Written>,
}

#[derive(Clone)]
struct Written {
    name: String,
    count: u32,
}

#[derive(Default)]
struct State {
    series: BTreeMap<SeriesKey, Series>,
    due: BTreeSet<(Instant, SeriesKey)>,
    budgets: BTreeMap<ObjectId, Budget>,
    next_number: u64,
}

struct Budget {
    writes: f64,
    counted_at: Instant,
}

/// A write to be done: everything needed without the lock.
struct Job {
    key: SeriesKey,
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
            inner: Arc::new(Inner {
                clock,
                component: component.to_owned(),
                instance: instance.to_owned(),
                metrics,
                state: Mutex::default(),
                published: Notify::new(),
            }),
        }
    }

    /// Says something about an object.
    pub fn publish(&self, about: &ObjectReference, event_type: EventType, reason: &str, note: impl Into<String>) {
        let inner = &self.inner;
        let (now, wall) = (Instant::now(), inner.clock.now());
        let key = SeriesKey {
            object: object_id(about),
            event_type,
            reason: reason.to_owned(),
            note: shorten(note.into()),
        };
        let mut state = inner.state.lock();
        if !state.series.contains_key(&key) && state.series.len() >= MAX_SERIES {
            state.forget_old(now);
            if state.series.len() >= MAX_SERIES {
                inner.count("dropped_too_many");
                return;
            }
        }
        let series = state.series.entry(key.clone()).or_insert_with(|| Series {
            object: about.clone(),
            unwritten: 0,
            tries: 0,
            first: wall,
            last: wall,
            last_published: now,
            write_not_before: now,
            written: None,
        });
        series.unwritten = series.unwritten.saturating_add(1);
        series.last = wall;
        series.last_published = now;
        if series.unwritten == 1 {
            let due = series.write_not_before.max(now);
            state.due.insert((due, key));
            inner.published.notify_one();
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
                    reason = job.key.reason,
                    error = api_errors::one_line(&error),
                    "event not written"
                );
                inner.drop_pending(&job.key);
            }
            Err(_) => inner.again(&job, NextTry::TheSame, random),
        }
    }
}

/// Whether the process ends: then dues and budgets do not matter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hurry {
    No,
    Yes,
}

/// What a write that failed becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextTry {
    TheSame,
    AsNewEvent,
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
        while let Some((due, key)) = state.due.pop_first() {
            if due > now && hurry == Hurry::No {
                state.due.insert((due, key));
                return (None, Some(due));
            }
            if hurry == Hurry::No
                && let Err(later) = state.spend(&key.object, now)
            {
                state.due.insert((later, key));
                continue;
            }
            let number = state.next_number;
            let Some(series) = state.series.get_mut(&key) else {
                continue;
            };
            let adds = std::mem::take(&mut series.unwritten);
            let namespace = event_namespace(&series.object);
            let write = match &series.written {
                Some(written) => Write::Count {
                    name: written.name.clone(),
                    count: written.count.saturating_add(adds),
                    last: series.last,
                },
                None => Write::Create(Box::new(self.event(&key, series, adds, &namespace, number))),
            };
            state.next_number += 1;
            return (
                Some(Job {
                    key,
                    namespace,
                    write,
                    adds,
                }),
                None,
            );
        }
        (None, None)
    }

    fn event(&self, key: &SeriesKey, series: &Series, count: u32, namespace: &str, number: u64) -> Event {
        let object = series.object.name.as_deref().unwrap_or("unnamed");
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
                component: Some(self.component.clone()),
                host: None,
            }),
            reporting_component: Some(self.component.clone()),
            reporting_instance: Some(self.instance.clone()),
            ..Event::default()
        }
    }

    fn written(&self, job: Job) {
        self.count("written");
        let mut state = self.state.lock();
        let Some(series) = state.series.get_mut(&job.key) else {
            return;
        };
        series.tries = 0;
        series.write_not_before = Instant::now() + COUNT_EVERY;
        series.written = Some(match job.write {
            Write::Create(event) => Written {
                name: event.metadata.name.unwrap_or_default(),
                count: job.adds,
            },
            Write::Count { name, count, .. } => Written { name, count },
        });
        let again = (series.unwritten > 0).then_some(series.write_not_before);
        state.reschedule(&job.key, again);
    }

    fn again(&self, job: &Job, next: NextTry, random: &mut Random) {
        let mut state = self.state.lock();
        let Some(series) = state.series.get_mut(&job.key) else {
            return;
        };
        series.tries += 1;
        if series.tries >= MAX_TRIES {
            drop(state);
            self.drop_pending(&job.key);
            return;
        }
        if next == NextTry::AsNewEvent {
            series.written = None;
        }
        series.unwritten = series.unwritten.saturating_add(job.adds);
        let backoff = Backoff {
            base: Duration::from_millis(500),
            max: Duration::from_secs(30),
        };
        let due = Instant::now() + backoff.delay(series.tries, random);
        state.reschedule(&job.key, Some(due));
    }

    fn drop_pending(&self, key: &SeriesKey) {
        self.count("dropped");
        let mut state = self.state.lock();
        state.reschedule(key, None);
        state.series.remove(key);
    }
}

impl State {
    fn reschedule(&mut self, key: &SeriesKey, due: Option<Instant>) {
        self.due.retain(|(_, waiting)| waiting != key);
        if let Some(due) = due {
            self.due.insert((due, key.clone()));
        }
    }

    /// Takes one write out of the object's budget, or says when there will be one.
    fn spend(&mut self, object: &ObjectId, now: Instant) -> Result<(), Instant> {
        let budget = self.budgets.entry(object.clone()).or_insert(Budget {
            writes: BURST,
            counted_at: now,
        });
        let gained = now.duration_since(budget.counted_at).as_secs_f64() / REFILL.as_secs_f64();
        budget.writes = (budget.writes + gained).min(BURST);
        budget.counted_at = now;
        if budget.writes >= 1.0 {
            budget.writes -= 1.0;
            return Ok(());
        }
        // Rounded up to a millisecond: timers have no finer grain.
        let missing = REFILL.mul_f64(1.0 - budget.writes);
        Err(now + missing + Duration::from_millis(1))
    }

    fn forget_old(&mut self, now: Instant) {
        self.series
            .retain(|_, series| series.unwritten > 0 || now.duration_since(series.last_published) < FORGET_AFTER);
        let full_after = REFILL.mul_f64(BURST);
        self.budgets
            .retain(|_, budget| now.duration_since(budget.counted_at) < full_after);
    }
}

fn object_id(about: &ObjectReference) -> ObjectId {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    (
        text(&about.api_version),
        text(&about.kind),
        text(&about.namespace),
        text(&about.name),
        text(&about.uid),
    )
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
