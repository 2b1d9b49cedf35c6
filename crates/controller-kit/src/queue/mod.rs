//! The work queue: which keys need a look, when, and by how many workers.
//!
//! Guarantees: per key one worker at a time and in the order of adds; a key that is added many times before it is
//! looked at is looked at once; a failed key comes back with its own, doubling, jittered wait; delayed keys come back
//! on time, also when the wall clock jumps (see [`Clock::sleep_until`]).

mod state;

use std::fmt::Display;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::state::State;
use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::context::Context;
use crate::informer::{Change, Changes};
use crate::metrics::{CollectorGuard, Family, Metrics};
use crate::random::Random;
use crate::tasks::Task;

/// What a handler wants next for its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing until something changes.
    Done,
    /// Another look after this much elapsed time.
    After(Duration),
    /// Another look when the clock shows this.
    At(Timestamp),
}

/// Waits after failures: from 100 ms to 5 min.
pub const DEFAULT_BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(100),
    max: Duration::from_secs(300),
};

/// A queue of keys. Clones are the same queue.
pub struct WorkQueue<K> {
    inner: Arc<Inner<K>>,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

struct Inner<K> {
    name: &'static str,
    /// The member cluster that it is about; empty for a queue of the whole process.
    member: String,
    clock: Clock,
    counts: Counts,
    backoff: Backoff,
    random: Mutex<Random>,
    state: Mutex<State<K>>,
    /// Something is ready to be taken.
    ready: Notify,
    /// The earliest due time may have changed.
    rescheduled: Notify,
    /// Its gauges go with it.
    gauges: Mutex<Option<CollectorGuard>>,
}

/// Handles of the queue's metrics.
struct Counts {
    succeeded: metrics::Counter,
    failed: metrics::Counter,
    work: metrics::Histogram,
    wait: metrics::Histogram,
}

impl Counts {
    fn new(metrics: &Metrics, queue: &'static str) -> Self {
        metrics.describe("failover_workqueue_tries_total", "Keys handled, by result.");
        metrics.describe("failover_workqueue_work_seconds", "Time a handler took.");
        metrics.describe(
            "failover_workqueue_wait_seconds",
            "Time a key was ready before a worker took it.",
        );
        let tries = |result| {
            metrics.counter(
                "failover_workqueue_tries_total",
                &[("queue", queue), ("result", result)],
            )
        };
        Self {
            succeeded: tries("ok"),
            failed: tries("error"),
            work: metrics.histogram("failover_workqueue_work_seconds", &[("queue", queue)]),
            wait: metrics.histogram("failover_workqueue_wait_seconds", &[("queue", queue)]),
        }
    }
}

impl<K> WorkQueue<K>
where
    K: Ord + Hash + Clone + Display + Send + Sync + 'static,
{
    /// An empty queue. The name is its label in metrics and logs, and must be the only one of the process.
    #[must_use]
    pub fn new(name: &'static str, ctx: &Context) -> Self {
        Self::with_backoff(name, ctx, DEFAULT_BACKOFF)
    }

    /// An empty queue with its own waits after failures.
    #[must_use]
    pub fn with_backoff(name: &'static str, ctx: &Context, backoff: Backoff) -> Self {
        Self::build(name, String::new(), ctx, backoff)
    }

    /// One of several queues of the same name, each for one member cluster. Its gauges carry the member's name and go
    /// with the queue; its counters are those of all queues of the name together.
    #[must_use]
    pub fn for_member(name: &'static str, member: &str, ctx: &Context) -> Self {
        Self::build(name, member.to_owned(), ctx, DEFAULT_BACKOFF)
    }

    fn build(name: &'static str, member: String, ctx: &Context, backoff: Backoff) -> Self {
        let seed = if member.is_empty() {
            name.to_owned()
        } else {
            format!("{name} {member}")
        };
        let inner = Arc::new(Inner {
            name,
            member,
            clock: ctx.clock.clone(),
            counts: Counts::new(&ctx.metrics, name),
            backoff,
            random: Mutex::new(Random::from_text(&[&ctx.identity, &seed])),
            state: Mutex::new(State::new()),
            ready: Notify::new(),
            rescheduled: Notify::new(),
            gauges: Mutex::new(None),
        });
        let weak = Arc::downgrade(&inner);
        let gauges = ctx.metrics.guarded_collector("workqueue", move || {
            weak.upgrade().map(|inner| inner.families()).unwrap_or_default()
        });
        *inner.gauges.lock() = Some(gauges);
        Self { inner }
    }

    /// Whether both are the same queue.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Wants a look at the key, soon.
    pub fn add(&self, key: K) {
        self.inner.state.lock().add(key, Instant::now());
        self.inner.ready.notify_one();
    }

    /// Wants a look at the key after some elapsed time; of several such wishes the earliest counts.
    pub fn add_after(&self, key: K, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        self.inner.state.lock().add_at_elapsed(key, Instant::now() + delay);
        self.inner.rescheduled.notify_one();
    }

    /// Wants a look at the key when the clock shows `due`, at once when it does already; of several such wishes the
    /// earliest counts.
    pub fn add_at(&self, key: K, due: Timestamp) {
        if due <= self.inner.clock.now() {
            return self.add(key);
        }
        self.inner.state.lock().add_at_clock(key, due);
        self.inner.rescheduled.notify_one();
    }

    /// Drops all wishes for the key, such as when its object is gone for good. A handler that has it goes on.
    pub fn forget(&self, key: &K) {
        self.inner.state.lock().forget(key);
    }

    /// Keys that are ready for a worker now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.state.lock().ready_len()
    }

    /// Whether no key is ready now. Delayed keys do not count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys that come back later.
    #[must_use]
    pub fn delayed(&self) -> usize {
        self.inner.state.lock().delayed_len()
    }

    /// Adds the keys that `keys_of` names for each change, in a task of the controller, until the informer stops.
    pub fn follow<O, F, I>(&self, ctx: &Context, changes: Changes<O>, keys_of: F) -> Task
    where
        O: Send + Sync + 'static,
        F: Fn(&Change<O>) -> I + Send + 'static,
        I: IntoIterator<Item = K> + Send,
    {
        let queue = self.clone();
        let mut changes = changes;
        let shutdown = ctx.shutdown.clone();
        ctx.tasks.spawn(format!("{} feed", self.inner.name), async move {
            loop {
                let change = tokio::select! {
                    biased;
                    () = shutdown.cancelled() => return,
                    change = changes.recv() => change,
                };
                let Some(change) = change else { return };
                for key in keys_of(&change) {
                    queue.add(key);
                }
            }
        })
    }

    /// Works on the queue with `concurrency` workers (at least one) until shutdown, then waits for the handlers that
    /// have begun and returns.
    ///
    /// A handler's error is logged, counted, and brings its key back after its back-off. A handler that panics ends
    /// the process. Dropping the returned future stops the workers after their current key.
    pub async fn run<H, F, E>(&self, ctx: &Context, concurrency: usize, handler: H)
    where
        H: Fn(K) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Next, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let stop = ctx.shutdown.child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let handler = Arc::new(handler);
        let workers: Vec<Task> = (0..concurrency.max(1))
            .map(|number| {
                let (queue, handler, stop) = (self.clone(), handler.clone(), stop.clone());
                ctx.tasks
                    .spawn(format!("{} worker {number}", self.inner.name), async move {
                        queue.work(handler.as_ref(), &stop).await;
                    })
            })
            .collect();
        self.wake_on_time(&stop).await;
        for mut worker in workers {
            worker.ended().await;
        }
    }

    async fn work<H, F, E>(&self, handler: &H, stop: &CancellationToken)
    where
        H: Fn(K) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Next, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        while let Some(key) = self.next(stop).await {
            let began = Instant::now();
            let result = handler(key.clone()).await;
            self.inner.counts.work.record(began.elapsed());
            self.settle(&key, result);
        }
    }

    async fn next(&self, stop: &CancellationToken) -> Option<K> {
        loop {
            if stop.is_cancelled() {
                return None;
            }
            let taken = {
                let mut state = self.inner.state.lock();
                let taken = state.take();
                if state.has_ready() {
                    // One permit may stand for several adds: pass it on to the next worker.
                    self.inner.ready.notify_one();
                }
                taken
            };
            if let Some((key, since)) = taken {
                self.inner.counts.wait.record(since.elapsed());
                return Some(key);
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                () = self.inner.ready.notified() => {}
            }
        }
    }

    fn settle<E: Display>(&self, key: &K, result: Result<Next, E>) {
        let now = Instant::now();
        match result {
            Ok(next) => {
                self.inner.counts.succeeded.increment(1);
                match next {
                    Next::Done => {}
                    Next::After(delay) => self.add_after(key.clone(), delay),
                    Next::At(due) => self.add_at(key.clone(), due),
                }
                self.inner.state.lock().succeeded(key, now);
            }
            Err(error) => {
                self.inner.counts.failed.increment(1);
                let mut state = self.inner.state.lock();
                let failures = state.failed(key, now);
                let delay = self.inner.backoff.delay(failures, &mut self.inner.random.lock());
                state.add_at_elapsed(key.clone(), now + delay);
                drop(state);
                let member = Some(&self.inner.member).filter(|member| !member.is_empty());
                tracing::warn!(
                    queue = self.inner.name, member, %key, %error, failures, retry_in = ?delay, "handling failed"
                );
                self.inner.rescheduled.notify_one();
            }
        }
        // What was added meanwhile is ready from now on.
        self.inner.ready.notify_one();
    }

    async fn wake_on_time(&self, stop: &CancellationToken) {
        loop {
            let due = {
                let mut state = self.inner.state.lock();
                state.wake_due(Instant::now(), self.inner.clock.now());
                if state.has_ready() {
                    self.inner.ready.notify_one();
                }
                state.next_due()
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.inner.rescheduled.notified() => {}
                () = async {
                    match due.elapsed {
                        Some(due) => sleep_until(due).await,
                        None => std::future::pending().await,
                    }
                } => {}
                () = async {
                    match due.clock {
                        Some(due) => self.inner.clock.sleep_until(due).await,
                        None => std::future::pending().await,
                    }
                } => {}
            }
        }
    }
}

impl<K: Ord + Hash + Clone> Inner<K> {
    #[allow(clippy::cast_precision_loss, reason = "nobody queues 2^52 keys")]
    fn families(&self) -> Vec<Family> {
        let state = self.state.lock();
        let labels = [("queue", self.name), ("member", self.member.as_str())];
        let labels = if self.member.is_empty() {
            labels.get(..1).unwrap_or_default()
        } else {
            &labels[..]
        };
        let oldest = state.oldest_ready().map_or(0.0, |since| since.elapsed().as_secs_f64());
        vec![
            Family::gauge("failover_workqueue_depth", "Keys ready for a worker.")
                .with(labels, state.ready_len() as f64),
            Family::gauge("failover_workqueue_delayed", "Keys that come back later.")
                .with(labels, state.delayed_len() as f64),
            Family::gauge("failover_workqueue_working", "Keys that a worker has.")
                .with(labels, state.working_len() as f64),
            Family::gauge(
                "failover_workqueue_oldest_seconds",
                "How long the first ready key has waited.",
            )
            .with(labels, oldest),
        ]
    }
}
