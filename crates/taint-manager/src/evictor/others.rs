//! Second owners: what is seen of a stock controller that does the same job, and what of it holds evictions here.
//!
//! Signs are tasks that a stock controller wrote on any binding, seen to come, and Events of its sources. Both count from this
//! process' start: what was there before belongs to the hand-over. That it is told to people is graceful eviction's business. The
//! rule is `failover_core::second_owner::Signs`.

use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use api_types::work::Binding;
use binding_writer::binding_key;
use controller_kit::informer::Stopped;
use controller_kit::second_owners::{Sighting, follow_events};
use controller_kit::{Change, Clock, Context, ObjectKey, Store};
use failover_core::eviction::queue::{Completion, EntryKey};
use failover_core::second_owner::{Job, Reach, Sign, Signs, StocksTask, arrived, is_stocks_event};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

use crate::manager::judged_part::{self, JudgedPart};

/// The jobs that are done here.
const JOBS: [Job; 2] = [Job::TaintManager, Job::ApplicationFailover];

/// The second owners of the evictor's jobs.
pub(crate) struct Others {
    seen: Option<Arc<Seen>>,
    known: [Store<JudgedPart>; 2],
}

struct Seen {
    clock: Clock,
    /// Signs count from here.
    since: Timestamp,
    began: Instant,
    signs: Mutex<Signs>,
}

impl Others {
    /// Watched from now on; with 0 nobody is, and nothing is held.
    pub async fn watched(ctx: &Context, hold_for: Duration) -> Result<Self, Stopped> {
        let informers = judged_part::informers(ctx);
        let seen = (!hold_for.is_zero()).then(|| Seen::from_now_on(ctx, hold_for));
        if let Some(seen) = &seen {
            for informer in &informers {
                // Before the first list: what it brings is taken in as it comes.
                let (mut changes, seen, shutdown) = (informer.changes(), seen.clone(), ctx.shutdown.clone());
                ctx.tasks.spawn("tasks of others", async move {
                    while let Some(Some(change)) = shutdown.run_until_cancelled(changes.recv()).await {
                        seen.take_in(&change);
                    }
                });
            }
            for job in JOBS {
                for source in job.sources() {
                    let told = seen.clone();
                    let sees = move |sign: Sighting<'_>| told.event(job, source, sign);
                    follow_events(ctx, source, seen.since, is_stocks_event, sees);
                }
            }
        }
        let [namespaced, cluster_wide] = &informers;
        Ok(Self {
            seen,
            known: [namespaced.synced().await?, cluster_wide.synced().await?],
        })
    }

    /// How the lease of an entry ends that a second owner holds; nothing: it goes on. What the binding says that was read live
    /// may be newer than what the informer has.
    pub fn hold(&self, key: &EntryKey, live: Option<&Binding>) -> Option<Completion> {
        let seen = self.seen.as_ref()?;
        if let Some(live) = live {
            seen.live(&key.binding, self.known(&key.binding).as_deref(), live);
        }
        seen.signs.lock().hold(key, seen.clock.now(), seen.began.elapsed())
    }

    fn known(&self, key: &BindingKey) -> Option<Arc<JudgedPart>> {
        let [namespaced, cluster_wide] = &self.known;
        match &key.namespace {
            Some(namespace) => namespaced.get(&ObjectKey::namespaced(namespace, &key.name)),
            None => cluster_wide.get(&ObjectKey::cluster_scoped(&key.name)),
        }
    }
}

impl Seen {
    fn from_now_on(ctx: &Context, hold_for: Duration) -> Arc<Self> {
        Arc::new(Self {
            clock: ctx.clock.clone(),
            since: ctx.clock.now(),
            began: Instant::now(),
            signs: Mutex::new(Signs::new(hold_for)),
        })
    }

    /// A binding is made without tasks: one that shows itself with some was there before we looked.
    fn take_in(&self, change: &Change<JudgedPart>) {
        if let (Some(before), Some(after)) = (&change.before, &change.after) {
            self.compare(&binding_key(&change.key), before.of_stock(), after.of_stock());
        }
    }

    fn live(&self, key: &BindingKey, known: Option<&JudgedPart>, live: &Binding) {
        if let Some(known) = known {
            self.compare(key, known.of_stock(), &StocksTask::all_of(live));
        }
    }

    fn compare(&self, key: &BindingKey, before: &[StocksTask], now: &[StocksTask]) {
        for task in arrived(before, now, self.since) {
            let sign = format!("it wrote the task for cluster {} on {key}", task.cluster);
            self.saw(task.job, Reach::of_binding(key), &sign);
        }
    }

    fn event(&self, job: Job, source: &str, sign: Sighting<'_>) {
        let reach = Reach::of_event(sign.namespace, sign.about.namespace.as_deref());
        let reason = sign.reason;
        // Anybody may have written it, and people read it on a terminal.
        let is_word = !reason.is_empty() && reason.chars().all(|letter| letter.is_ascii_alphanumeric());
        let sign = match is_word {
            true => format!("an Event {reason} of {source}"),
            false => format!("an Event of {source}"),
        };
        self.saw(job, reach, &sign);
    }

    fn saw(&self, job: Job, reach: Reach, sign: &str) {
        let whose = format!("{} {reach}", job.name());
        let mut signs = self.signs.lock();
        if signs.saw(job, reach, sign, self.clock.now(), self.began.elapsed()) == Sign::Begins {
            drop(signs);
            warn!(
                "evictions are held, a second controller does the job of {whose}: {sign}; to end it, {}",
                job.remedy()
            );
        }
    }
}
