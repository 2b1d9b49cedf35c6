//! Second owners: others who do the job of a controller of ours beside it, as far as signs of them were seen.
//!
//! Guarantees: the gauge `failover_second_owner` has one series a duty, which goes back to 0 when no sign was seen for a while;
//! Events are followed by their source alone, and readiness does not wait for them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, ObjectReference};
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

use crate::context::Context;
use crate::events::EventType;
use crate::informer::Scope;
use crate::metrics::{CollectorGuard, Family};

/// For so long after the last sign there is a second owner.
const REMEMBERED: Duration = Duration::from_secs(15 * 60);

/// Reason of the Events that tell of a second owner.
pub const EVENT: &str = "SecondOwner";

/// What was seen of others. Clones share it.
#[derive(Clone)]
pub struct SecondOwners {
    inner: Arc<Inner>,
}

struct Inner {
    since: Timestamp,
    signs: Arc<Mutex<BTreeMap<&'static str, Option<Instant>>>>,
    _metric: CollectorGuard,
}

/// What is kept of an Event, whose name the informer keeps.
#[derive(Debug)]
struct EventSign {
    instance: Option<String>,
    at: Option<Timestamp>,
    reason: String,
    about: Box<ObjectReference>,
}

impl SecondOwners {
    /// Of these jobs, from now on.
    #[must_use]
    pub fn watched(ctx: &Context, jobs: &[&'static str]) -> Self {
        let signs: BTreeMap<&'static str, Option<Instant>> = jobs.iter().map(|job| (*job, None)).collect();
        let signs = Arc::new(Mutex::new(signs));
        let counted = signs.clone();
        let metric = ctx.metrics.guarded_collector("second owners", move || {
            let family = Family::gauge(
                "failover_second_owner",
                "Whether somebody else was seen to do the job of this controller in the last 15 minutes (1) or not (0).",
            );
            let signs = counted.lock();
            let one = |family: Family, (job, seen): (&&'static str, &Option<Instant>)| {
                let fresh = seen.is_some_and(|at| at.elapsed() < REMEMBERED);
                family.with(&[("duty", *job)], f64::from(u8::from(fresh)))
            };
            vec![signs.iter().fold(family, one)]
        });
        Self {
            inner: Arc::new(Inner {
                since: ctx.clock.now(),
                signs,
                _metric: metric,
            }),
        }
    }

    /// From when on a sign counts: what is older belongs to the hand-over.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        self.inner.since
    }

    /// A sign was seen. Returns whether it is the first for a while.
    pub fn saw(&self, job: &'static str) -> bool {
        let before = self.inner.signs.lock().insert(job, Some(Instant::now())).flatten();
        before.is_none_or(|at| at.elapsed() >= REMEMBERED)
    }

    /// Follows the Events of `source` until the process stops; of each that `is_sign` (by the process that wrote it, its time and
    /// [`SecondOwners::since`]) takes for one, `job` has a second owner, and the first is told as `words` puts it.
    pub fn follow_events(
        &self,
        ctx: &Context,
        job: &'static str,
        source: &'static str,
        is_sign: fn(Option<&str>, Timestamp, Timestamp) -> bool,
        words: impl Fn(&str) -> String + Send + 'static,
    ) {
        let informers = ctx.informers.for_a_while();
        let scope = Scope::all().fields(format!("reportingComponent={source}"));
        let informer = informers.keeping(scope, &(), |event: Event| {
            let series = event
                .series
                .and_then(|series| series.last_observed_time)
                .map(|time| time.0);
            let last = event.last_timestamp.map(|time| time.0);
            let first = event
                .event_time
                .map(|time| time.0)
                .or(event.metadata.creation_timestamp.map(|time| time.0));
            EventSign {
                instance: event.reporting_instance,
                at: series.or(last).or(first),
                reason: event.reason.unwrap_or_default(),
                about: Box::new(event.involved_object),
            }
        });
        let (owners, events, shutdown) = (self.clone(), ctx.events.clone(), ctx.shutdown.clone());
        ctx.tasks.spawn(format!("events of {source}"), async move {
            // They run as long as somebody has them.
            let _informers = informers;
            let mut changes = informer.changes();
            loop {
                let change = tokio::select! {
                    biased;
                    () = shutdown.cancelled() => return,
                    change = changes.recv() => change,
                };
                let Some(change) = change else { return };
                let Some(event) = change.after else { continue };
                let Some(at) = event.at else { continue };
                if is_sign(event.instance.as_deref(), at, owners.since()) && owners.saw(job) {
                    let note = words(&format!("an Event {} of {source}", event.reason));
                    let name = event.about.name.as_deref().unwrap_or_default();
                    warn!(job, "{name}: {note}");
                    events.publish(&event.about, EventType::Warning, EVENT, note);
                }
            }
        });
    }
}
