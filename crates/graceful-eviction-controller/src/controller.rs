//! The wiring: informers, queue, workers. Rooms: `index` (what is known), `reconcile` (one binding: what is decided about its
//! tasks is carried out), `writer` (the only place that writes bindings), `records` (how moves ended).

use std::time::Duration;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::failover::FailoverRecord;
use api_types::work::{Binding, BindingKind};
use binding_writer::{BindingWriter, OwnWrites};
use controller_kit::informer::Stopped;
use controller_kit::{Context, RequiredKind, WorkQueue};
use failover_core::graceful::Settings;

use crate::index::Informers;
use crate::reconcile::GracefulEviction;
use crate::records::Records;

/// How much at a time, and for how long.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Bindings that are judged at the same time.
    pub(crate) workers: usize,
    /// How long records are kept.
    pub(crate) record_retention: Duration,
}

pub(crate) async fn run(ctx: Context, settings: Settings, limits: Limits) -> anyhow::Result<()> {
    ctx.require_kinds(&[
        RequiredKind::of::<Cluster>(),
        RequiredKind::of::<FailoverRecord>(),
        RequiredKind::with::<Binding>(&BindingKind::Namespaced),
        RequiredKind::with::<Binding>(&BindingKind::Cluster),
    ])
    .await?;
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
    let records = Records::new(&ctx, limits.record_retention);
    let own = OwnWrites::default();
    informers.follow(&ctx, &queue, &index, &records, &own);
    let (keeper, known) = (records.clone(), index.clone());
    ctx.tasks.spawn("records", async move { keeper.run(known).await });
    let writer = BindingWriter::new(ctx.client.clone());
    let eviction = GracefulEviction {
        ctx: ctx.clone(),
        index,
        settings,
        writer,
        own,
        records,
    };
    queue
        .run(&ctx, limits.workers.max(1), move |key| {
            let eviction = eviction.clone();
            async move { eviction.reconcile(&key).await }
        })
        .await;
    Ok(())
}
