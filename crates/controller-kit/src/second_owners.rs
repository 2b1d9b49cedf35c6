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

/// By the process that wrote an Event, its time, and from when on signs count: whether it is one.
pub type IsSign = fn(Option<&str>, Timestamp, Timestamp) -> bool;

/// An Event that is a sign.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// The namespace that it is in: whoever wrote it may write Events there.
    pub namespace: &'a str,
    /// Its reason.
    pub reason: &'a str,
    /// The object that it is about.
    pub about: &'a ObjectReference,
}

/// What is kept of an Event, whose name the informer keeps: nothing where it can be no sign, as the many of our own.
#[derive(Debug)]
struct Kept(Option<Box<EventSign>>);

#[derive(Debug)]
struct EventSign {
    instance: Option<String>,
    at: Timestamp,
    reason: String,
    about: ObjectReference,
}

/// Follows the Events of `source` until the process stops: `sees` is told of each that `is_sign` takes for one. Several may follow
/// the same source, by the same rule: it is watched once.
pub fn follow_events(
    ctx: &Context,
    source: &'static str,
    since: Timestamp,
    is_sign: IsSign,
    mut sees: impl FnMut(Sighting<'_>) + Send + 'static,
) {
    let informers = ctx.informers.aside();
    let scope = Scope::all().fields(format!("reportingComponent={source}"));
    let informer = informers.keeping(scope, &(), move |event: Event| {
        let instance = event.reporting_instance.as_deref();
        let at = time_of(&event).filter(|at| is_sign(instance, *at, Timestamp::MIN));
        Kept(at.map(|at| {
            Box::new(EventSign {
                instance: event.reporting_instance,
                at,
                reason: event.reason.unwrap_or_default(),
                about: event.involved_object,
            })
        }))
    });
    let shutdown = ctx.shutdown.clone();
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
            let Some(sign) = change.after.as_ref().and_then(|kept| kept.0.as_ref()) else {
                continue;
            };
            if is_sign(sign.instance.as_deref(), sign.at, since) {
                sees(Sighting {
                    namespace: change.key.namespace.as_deref().unwrap_or_default(),
                    reason: &sign.reason,
                    about: &sign.about,
                });
            }
        }
    });
}

/// When it happened last.
fn time_of(event: &Event) -> Option<Timestamp> {
    let series = event
        .series
        .as_ref()
        .and_then(|series| series.last_observed_time.as_ref());
    let times = [
        series.map(|time| time.0),
        event.last_timestamp.as_ref().map(|time| time.0),
    ];
    let first = [
        event.event_time.as_ref().map(|time| time.0),
        event.metadata.creation_timestamp.as_ref().map(|time| time.0),
    ];
    times.into_iter().chain(first).flatten().next()
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

    /// Follows the Events of `source` until the process stops: by each that `is_sign` takes for one `job` has a second owner,
    /// and the first is told as `words` puts it.
    pub fn follow_events(
        &self,
        ctx: &Context,
        job: &'static str,
        source: &'static str,
        is_sign: IsSign,
        words: impl Fn(&str) -> String + Send + 'static,
    ) {
        let (owners, events) = (self.clone(), ctx.events.clone());
        follow_events(ctx, source, self.since(), is_sign, move |sign| {
            if owners.saw(job) {
                let note = words(&format!("an Event {} of {source}", sign.reason));
                let name = sign.about.name.as_deref().unwrap_or_default();
                warn!(job, "{name}: {note}");
                events.publish(sign.about, EventType::Warning, EVENT, note);
            }
        });
    }
}
