//! The wiring: informers, queue, workers.

use std::sync::Arc;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind};
use binding_writer::Cache;
use controller_kit::informer::Stopped;
use controller_kit::metrics::Holds;
use controller_kit::{Context, Next, RequiredKind, WorkQueue};
use scheduler_filters::trigger::Trigger;
use scheduler_filters::{Fleet, Plugins, Rules, ours};
use tokio::time::Instant;

use crate::counts::{Attempt, Counts, Incoming};
use crate::emptying::Emptying;
use crate::flags::Flags;
use crate::own::Own;
use crate::plan::{Placed, Plan, View, plan_in_steps};
use crate::store::{Informers, Stores, Watching};
use crate::writer::{self, Outcome};

/// Tries against a binding that others write at the same time, before it waits its turn again.
const TRIES: usize = 4;

pub(crate) async fn run(ctx: Context, flags: Flags, plugins: Plugins) -> anyhow::Result<()> {
    ctx.require_kinds(&[
        RequiredKind::of::<Cluster>(),
        RequiredKind::with::<Binding>(&BindingKind::Namespaced),
        RequiredKind::with::<Binding>(&BindingKind::Cluster),
    ])
    .await?;
    let informers = Informers::of(&ctx, &flags.scheduler_name);
    let stores = match informers.synced().await {
        Ok(stores) => stores,
        Err(Stopped) => return Ok(()),
    };
    let counts = Counts::of(&ctx);
    let queue: WorkQueue<BindingKey> = WorkQueue::new("scheduler", &ctx);
    let watching = Watching {
        scheduler_name: flags.scheduler_name.clone(),
        plugins: plugins.clone(),
        own: Own::default(),
        counts: counts.clone(),
    };
    informers.follow(&ctx, &queue, &stores, &watching);
    let workers = flags.concurrent_binding_schedules.max(1);
    let emptying = Emptying::new(&ctx);
    let watch = emptying.clone().watch(ctx.clone(), queue.clone(), stores.clone());
    ctx.tasks.spawn("taint manager's lease", watch);
    let scheduler = Scheduler {
        ctx: ctx.clone(),
        stores,
        plugins,
        emptying,
        name: flags.scheduler_name,
        own: watching.own,
        counts,
    };
    queue
        .run(&ctx, workers, move |key| {
            let scheduler = scheduler.clone();
            async move {
                let next = scheduler.reconcile(&key).await;
                if next.is_err() {
                    scheduler.counts.incoming(Incoming::AttemptFailed, 1);
                }
                next
            }
        })
        .await;
    Ok(())
}

#[derive(Clone)]
struct Scheduler {
    ctx: Context,
    stores: Stores,
    plugins: Plugins,
    emptying: Emptying,
    name: String,
    own: Own,
    counts: Counts,
}

impl Scheduler {
    async fn reconcile(&self, key: &BindingKey) -> Result<Next, kube::Error> {
        let began = Instant::now();
        let Some(known) = self.known(key) else {
            return Ok(Next::Done);
        };
        let mut binding = (*known).clone();
        for _ in 0..TRIES {
            match self.place(&binding, began).await? {
                Ok(next) => return Ok(next),
                Err(Outcome::Conflict) => match writer::read(&self.ctx, key).await? {
                    Some(fresh) => binding = fresh,
                    None => return Ok(Next::Done),
                },
                Err(Outcome::Done | Outcome::Gone) => return Ok(Next::Done),
            }
        }
        // Whoever writes that often brings the binding here again by its own changes.
        self.counts.incoming(Incoming::AttemptFailed, 1);
        Ok(Next::After(std::time::Duration::from_secs(1)))
    }

    /// The binding to decide on. None when it is gone, or when the cache does not show yet what this scheduler made of it:
    /// the change that ends this brings the binding back.
    fn known(&self, key: &BindingKey) -> Option<Arc<Binding>> {
        for _ in 0..2 {
            let Some(known) = self.stores.binding(key) else {
                self.own.forget(key);
                self.counts.last_copy(key, Holds::No);
                return None;
            };
            if self.own.take_in(&known) == Cache::CaughtUp {
                return Some(known);
            }
            // That change may have come just before it was noted that a look waits for it, so the second read counts.
        }
        None
    }

    async fn place(&self, binding: &Binding, began: Instant) -> Result<Result<Next, Outcome>, kube::Error> {
        let deciding = self.own.deciding(self.stores.news());
        let fleet = self.stores.fleet();
        let missing = binding.spec.clusters.iter().map(|target| target.name.clone());
        let missing: Vec<String> = missing.filter(|name| fleet.get(name).is_none()).collect();
        let (found, gone) = if missing.is_empty() || ours(binding, &self.name).is_err() {
            Default::default()
        } else {
            writer::look_up(&self.ctx, &missing).await?
        };
        let fleet = found.into_iter().fold(fleet, Fleet::with);
        let now = self.ctx.clock.now();
        let view = View {
            binding,
            fleet: &fleet,
            gone: &gone,
            plugins: &self.plugins,
            rules: Rules {
                deletion: self.emptying.by(),
                ..Rules::default()
            },
            scheduler_name: &self.name,
            now,
        };
        let mut since = Instant::now();
        let mut ended = |step| {
            let until = Instant::now();
            self.counts.step(step, until - since);
            since = until;
        };
        let Ok(plan) = plan_in_steps(&view, &mut ended) else {
            self.counts.last_copy(&binding.key(), Holds::No);
            return Ok(Ok(Next::Done));
        };
        match writer::write(&self.ctx, &deciding, binding, &plan, now).await? {
            Outcome::Done => {
                self.counts.last_copy(&binding.key(), plan.saying.keeps_a_copy().into());
                if let Some((attempt, trigger)) = tried(&plan) {
                    tracing::debug!(binding = %binding.key(), ?trigger, ?attempt, "placed");
                    self.counts.attempt(attempt, trigger, began.elapsed());
                }
                Ok(Ok(plan.look_again_at.map_or(Next::Done, Next::At)))
            }
            other => Ok(Err(other)),
        }
    }
}

/// What was tried, and why. A look that finds the present place good is no try: what runs everywhere has one each time.
fn tried(plan: &Plan) -> Option<(Attempt, Trigger)> {
    let attempt = match plan.saying.scheduled {
        "True" if plan.spec.is_none() && plan.saying.placed == Placed::Before => return None,
        "True" => Attempt::Scheduled,
        _ => Attempt::NoPlace,
    };
    Some((attempt, plan.trigger?))
}
