//! The wiring: informers, queue, workers. Rooms: `index` and `seen` (what is known), `reconcile` (one binding: what is decided about its
//! tasks is carried out), `writer` (the only place that writes bindings), `records` (how moves ended).

use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::failover::FailoverRecord;
use api_types::work::{Binding, BindingKind};
use binding_writer::{BindingWriter, OwnWrites, Reassert};
use controller_kit::informer::Stopped;
use controller_kit::metrics::{Family, Marked};
use controller_kit::second_owners::SecondOwners;
use controller_kit::{Context, RequiredKind, WorkQueue};
use failover_core::graceful::Settings;
use failover_core::second_owner::{self, Job};
use scheduler_filters::Schedulers;

use crate::index::Informers;
use crate::reconcile::GracefulEviction;
use crate::records::Records;

/// How the controller was set up.
pub(crate) struct Setup {
    /// What tasks are judged by.
    pub(crate) settings: Settings,
    /// Bindings that are judged at the same time.
    pub(crate) workers: usize,
    /// How long records are kept; absent where none are.
    pub(crate) record_retention: Option<Duration>,
    /// Where schedulers take away what they have no place for (stock's do): the plugins of each.
    pub(crate) emptied_by: Option<Schedulers>,
}

pub(crate) async fn run(ctx: Context, setup: Setup) -> anyhow::Result<()> {
    let mut kinds = vec![
        RequiredKind::of::<Cluster>(),
        RequiredKind::with::<Binding>(&BindingKind::Namespaced),
        RequiredKind::with::<Binding>(&BindingKind::Cluster),
    ];
    if setup.record_retention.is_some() {
        kinds.push(RequiredKind::of::<FailoverRecord>());
    }
    ctx.require_kinds(&kinds).await?;
    let informers = Informers::of(&ctx);
    let index = match informers.synced().await {
        Ok(index) => index,
        Err(Stopped) => return Ok(()),
    };
    ctx.metrics.describe(
        "failover_graceful_eviction_tasks_total",
        "Graceful eviction tasks that were dealt with, by what became of them.",
    );
    let queue: WorkQueue<BindingKey> = WorkQueue::new("gracefulEviction", &ctx);
    let records = setup.record_retention.map(|retention| Records::new(&ctx, retention));
    let own = OwnWrites::default();
    informers.follow(&ctx, &queue, &index, records.as_ref(), &own);
    if let Some(keeper) = records.clone() {
        let known = index.clone();
        ctx.tasks.spawn("records", async move { keeper.run(known).await });
    }
    let last_copies = Marked::default();
    let counted = last_copies.clone();
    let _last_copies_shown = ctx.metrics.guarded_collector("last copies", move || {
        let family = Family::gauge(
            "failover_last_copies_kept",
            "Bindings whose last running copy is kept because nothing replaces it, by the controller that keeps it.",
        );
        vec![family.with(&[("controller", "gracefulEviction")], counted.count())]
    });
    informers.tell_unreadable(&ctx);
    let others = second_owners(&ctx);
    let writer = BindingWriter::new(ctx.client.clone());
    let eviction = Arc::new(GracefulEviction {
        ctx: ctx.clone(),
        index,
        settings: setup.settings,
        emptied_by: setup.emptied_by,
        others,
        writer,
        reassert: Reassert::default(),
        own,
        last_copies,
        records,
    });
    queue
        .run(&ctx, setup.workers.max(1), move |key| {
            let eviction = Arc::clone(&eviction);
            async move { eviction.reconcile(&key).await }
        })
        .await;
    Ok(())
}

/// The jobs whose second owner shows on bindings and in Events about them.
fn second_owners(ctx: &Context) -> SecondOwners {
    let jobs = [Job::TaintManager, Job::ApplicationFailover, Job::GracefulEviction];
    let others = SecondOwners::watched(ctx, &jobs.map(Job::name));
    for job in jobs {
        for source in job.sources() {
            let words = move |sign: &str| second_owner::in_words(job, sign);
            others.follow_events(ctx, job.name(), source, second_owner::is_stocks_event, words);
        }
    }
    others
}
