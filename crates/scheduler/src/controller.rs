//! The wiring: informers, queue, workers.

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind};
use binding_writer::{Cache, OwnWrites};
use controller_kit::informer::Stopped;
use controller_kit::{Context, Next, RequiredKind, WorkQueue};
use scheduler_filters::{Fleet, Plugins, Rules};

use crate::emptying::Emptying;
use crate::flags::Flags;
use crate::plan::{View, plan};
use crate::store::{Informers, Stores};
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
    let informers = Informers::of(&ctx);
    let stores = match informers.synced().await {
        Ok(stores) => stores,
        Err(Stopped) => return Ok(()),
    };
    ctx.metrics.describe(
        "karmada_scheduler_schedule_attempts_total",
        "Tries to place a binding, by result: scheduled, or error when no cluster fits.",
    );
    let queue: WorkQueue<BindingKey> = WorkQueue::new("scheduler", &ctx);
    let own = OwnWrites::default();
    informers.follow(&ctx, &queue, &stores, &own);
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
        own,
    };
    queue
        .run(&ctx, workers, move |key| {
            let scheduler = scheduler.clone();
            async move { scheduler.reconcile(&key).await }
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
    own: OwnWrites,
}

impl Scheduler {
    async fn reconcile(&self, key: &BindingKey) -> Result<Next, kube::Error> {
        let Some(known) = self.stores.binding(key) else {
            self.own.forget(key);
            return Ok(Next::Done);
        };
        if self.own.take_in(&known) == Cache::Behind {
            return Ok(Next::Done);
        }
        let mut binding = (*known).clone();
        for _ in 0..TRIES {
            match self.place(&binding).await? {
                Ok(next) => return Ok(next),
                Err(Outcome::Conflict) => match writer::read(&self.ctx, key).await? {
                    Some(fresh) => binding = fresh,
                    None => return Ok(Next::Done),
                },
                Err(Outcome::Done | Outcome::Gone) => return Ok(Next::Done),
            }
        }
        // Whoever writes that often brings the binding here again by its own changes.
        Ok(Next::After(std::time::Duration::from_secs(1)))
    }

    async fn place(&self, binding: &Binding) -> Result<Result<Next, Outcome>, kube::Error> {
        let fleet = self.stores.fleet();
        let missing = binding.spec.clusters.iter().map(|target| target.name.clone());
        let missing: Vec<String> = missing.filter(|name| fleet.get(name).is_none()).collect();
        let (found, gone) = if missing.is_empty() || crate::trigger::ours(binding, &self.name).is_err() {
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
        let Ok(plan) = plan(&view) else {
            return Ok(Ok(Next::Done));
        };
        if let Some(trigger) = plan.trigger {
            tracing::debug!(binding = %binding.key(), ?trigger, scheduled = plan.saying.scheduled, "placed");
            let result = if plan.saying.scheduled == "True" {
                "scheduled"
            } else {
                "error"
            };
            self.ctx
                .metrics
                .counter("karmada_scheduler_schedule_attempts_total", &[("result", result)])
                .increment(1);
        }
        match writer::write(&self.ctx, &self.own, binding, &plan, now).await? {
            Outcome::Done => Ok(Ok(plan.look_again_at.map_or(Next::Done, Next::At))),
            other => Ok(Err(other)),
        }
    }
}
