//! The wiring: informers, index, queue of clocks, workers, and the stream to the eviction queue.

use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind};
use api_types::{BindingKey, ClusterName};
use binding_writer::{BindingWriter, OwnWrites, binding_key};
use controller_kit::metrics::{CollectorGuard, Family};
use controller_kit::{Change, Context, RequiredKind, WorkQueue};
use eviction_queue_api::QueueConnector;
use eviction_queue_api::producer::{self, Changed, Publisher};

use crate::index::{Index, Informers, Shared, Streams, same_for_applications};
use crate::kept_part::KeptPart;
use crate::reconcile::Clocks;
use crate::said::Said;
use crate::scripts::HealthScripts;
use crate::writer;

/// Name of the controller, and of the producer in the queue.
pub(crate) const NAME: &str = "applicationFailover";

const PUBLISHER: Publisher = Publisher {
    producer: NAME,
    stream: "publish-applications",
};

pub(crate) async fn run(ctx: Context, workers: u32, queue: QueueConnector) -> anyhow::Result<()> {
    ctx.require_kinds(&[
        RequiredKind::of::<Cluster>(),
        RequiredKind::with::<Binding>(&BindingKind::Namespaced),
        RequiredKind::with::<Binding>(&BindingKind::Cluster),
    ])
    .await?;
    let informers = Informers::of(&ctx);
    let streams = informers.streams();
    let Ok(stores) = informers.synced().await else {
        return Ok(());
    };
    let Ok((scripts, script_changes)) = HealthScripts::read(&ctx).await else {
        return Ok(());
    };
    let shared = Arc::new(Shared::new(Index::new(stores.clone())));
    let _metrics = metrics(&ctx, &shared);
    let work: WorkQueue<BindingKey> = WorkQueue::new(NAME, &ctx);
    let clocks = Clocks {
        ctx: ctx.clone(),
        stores,
        writer: BindingWriter::new(ctx.client.clone()),
        own: OwnWrites::default(),
        said: Arc::new(Said::new(&ctx)),
        scripts,
    };
    if let Some(changes) = script_changes {
        let said = clocks.said.clone();
        work.follow(&ctx, changes, move |_| said.in_vain());
    }
    let workers = usize::try_from(workers).unwrap_or(1).max(1);
    let keep = work.run(&ctx, workers, move |key| {
        let clocks = clocks.clone();
        async move { clocks.reconcile(&key).await }
    });
    let queue = queue(&ctx);
    let publish = producer::publish(&ctx, PUBLISHER, &shared, &queue);
    let ((), _, ()) = tokio::join!(follow(&ctx, &shared, streams, &work), keep, publish);
    Ok(())
}

/// Takes in every change until shutdown; first all that is there.
async fn follow(ctx: &Context, shared: &Shared, mut streams: Streams, work: &WorkQueue<BindingKey>) {
    loop {
        let changed = tokio::select! {
            biased;
            () = ctx.shutdown.cancelled() => return,
            Some(change) = streams.clusters.recv() => cluster_changed(shared, work, &change),
            Some(change) = streams.namespaced.recv() => binding_changed(shared, work, &change),
            Some(change) = streams.cluster_wide.recv() => binding_changed(shared, work, &change),
            else => return,
        };
        if changed == Changed::Yes {
            shared.changed.notify_one();
        }
    }
}

fn cluster_changed(shared: &Shared, work: &WorkQueue<BindingKey>, change: &Change<Cluster>) -> Changed {
    let name = ClusterName::from(change.key.name.as_str());
    let mut index = shared.index.lock();
    if same_for_applications(change.before.as_deref(), change.after.as_deref()) {
        return index.cluster_seen(&name);
    }
    for key in index.stores.watched_on(&name) {
        work.add(key);
    }
    index.cluster_changed(&name)
}

fn binding_changed(shared: &Shared, work: &WorkQueue<BindingKey>, change: &Change<KeptPart>) -> Changed {
    let watched = |kept: &Option<Arc<KeptPart>>| kept.as_ref().is_some_and(|kept| kept.watched().is_some());
    let key = binding_key(&change.key);
    let changed = shared.index.lock().binding_changed(&key);
    if watched(&change.before) || watched(&change.after) {
        work.add(key);
    }
    changed
}

fn metrics(ctx: &Context, shared: &Arc<Shared>) -> CollectorGuard {
    ctx.metrics.describe(
        writer::WRITES,
        "Writes of health clocks on bindings, by what became of them.",
    );
    let shared = shared.clone();
    ctx.metrics.guarded_collector(NAME, move || {
        let entries = Family::gauge(
            "application_failover_published_entries",
            "Entries that application failover publishes to the eviction queue, by cluster.",
        );
        #[expect(clippy::cast_precision_loss, reason = "a count of bindings")]
        let with = |family: Family, (cluster, count): (ClusterName, usize)| {
            family.with(&[("cluster_name", cluster.as_str())], count as f64)
        };
        let index = shared.index.lock();
        let verdicts = Family::counter(
            "application_failover_verdicts_total",
            "Copies of workloads that were judged.",
        );
        #[expect(clippy::cast_precision_loss, reason = "nobody judges 2^52 times")]
        let verdicts = verdicts.with(&[], index.judged as f64);
        vec![index.ledger.counts().into_iter().fold(entries, with), verdicts]
    })
}
