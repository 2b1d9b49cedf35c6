//! Controller `taintManager`: who is affected by a cluster's failure, told to the queue; and what the queue holds, told
//! on the bindings.
//!
//! Rooms: `judged_part` (what is kept of a binding), `index` (what is known; what is wanted follows from it by
//! [`failover_core::eviction::desired_entry`]), `pending` (what the queue holds, and the conditions that follow from it),
//! `drops` (what operators ordered, written as `stay` on the binding), `switched_off` (what is not done because of a
//! switch). How it is published is [`eviction_queue_api::producer`]. Here is the wiring.

mod drops;
mod index;
pub(crate) mod judged_part;
mod pending;
mod switched_off;

use std::sync::Arc;

use anyhow::Result;
use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, BindingKind};
use binding_writer::binding_key;
use controller_kit::metrics::Family;
use controller_kit::{Change, Context, RequiredKind};
use eviction_queue_api::producer::{self, Publisher};
use tokio::time::Instant;

use crate::{Flags, Wiring};
use drops::Drops;
use index::{Index, Informers, Streams, Touched};
use judged_part::JudgedPart;
use pending::{Pace, Pending};
use switched_off::SwitchedOff;

/// Name under which entries are published.
const PRODUCER: &str = failover_core::graceful::record::TAINT_MANAGER;

const PUBLISHER: Publisher = Publisher {
    producer: PRODUCER,
    stream: "publish",
};

/// Histogram of how long verdicts take.
const JUDGED_SECONDS: &str = "taint_manager_cluster_judged_seconds";

/// The index, and a bell for those who tell the queue.
pub(crate) type Shared = producer::Shared<Index>;

pub(crate) async fn run(ctx: Context, flags: Flags, wiring: Wiring) -> Result<()> {
    ctx.require_kinds(&[
        RequiredKind::of::<Cluster>(),
        RequiredKind::of::<ClusterTaintPolicy>(),
        RequiredKind::with::<Binding>(&BindingKind::Namespaced),
        RequiredKind::with::<Binding>(&BindingKind::Cluster),
    ])
    .await?;
    let informers = Informers::of(&ctx);
    let streams = informers.streams();
    let Ok(stores) = informers.synced().await else {
        return Ok(());
    };
    let switches = flags.switches(&ctx.gates, wiring.mode);
    let shared = Arc::new(Shared::new(Index::new(stores.clone(), switches.clone())));
    metrics(&ctx, &shared);
    let queue = (wiring.queue)(&ctx);
    let pace = Arc::new(Pace::per_second(flags.status_writes_per_second));
    let drops = Drops::new(&ctx, stores.clone(), queue.clone(), pace.clone());
    let mut pending = Pending::new(&ctx, &shared, stores, queue.clone(), pace, drops.clone());
    if wiring.mode.is_beside() {
        pending = pending.saying_again();
    }
    let tellers = Tellers { pending, drops };
    let follow = follow(&ctx, &shared, streams, SwitchedOff::new(&ctx, switches), &tellers);
    let publish = producer::publish(&ctx, PUBLISHER, &shared, &queue);
    let ((), (), (), ()) = tokio::join!(follow, publish, tellers.pending.run(), tellers.drops.run());
    ctx.metrics.remove_collector(PRODUCER);
    Ok(())
}

/// Those who write on bindings what the queue holds.
struct Tellers {
    pending: Pending,
    drops: Drops,
}

/// Takes in every change until shutdown.
async fn follow(
    ctx: &Context,
    shared: &Shared,
    mut streams: Streams,
    mut switched_off: SwitchedOff,
    tellers: &Tellers,
) {
    loop {
        let touched = tokio::select! {
            biased;
            () = ctx.shutdown.cancelled() => return,
            Some(change) = streams.clusters.recv() => {
                switched_off.see(&change);
                let touched = cluster_changed(ctx, shared, &change);
                if !index::same_for_evictions_of(&change) {
                    tellers.drops.cluster_changed();
                }
                touched
            }
            Some(change) = streams.policies.recv() => policy_changed(shared, &change),
            Some(change) = streams.namespaced.recv() => binding_changed(shared, tellers, &change),
            Some(change) = streams.cluster_wide.recv() => binding_changed(shared, tellers, &change),
            else => return,
        };
        if !touched.is_empty() {
            shared.changed.notify_one();
            touched.iter().for_each(|key| tellers.pending.look_at(key));
        }
    }
}

fn cluster_changed(ctx: &Context, shared: &Shared, change: &Change<Cluster>) -> Touched {
    let name = change.key.name.as_str().into();
    let mut index = shared.index.lock();
    let began = Instant::now();
    let touched = index.cluster_changed(&name, change.before.as_deref(), change.after.as_deref());
    // What has nothing to say of any binding is no verdict, and most changes of Clusters are such.
    if !touched.is_empty() {
        ctx.metrics.histogram(JUDGED_SECONDS, &[]).record(began.elapsed());
    }
    touched
}

fn policy_changed(shared: &Shared, change: &Change<ClusterTaintPolicy>) -> Touched {
    let suspended = |policy: &Option<Arc<ClusterTaintPolicy>>| policy.as_ref().map(|policy| policy.spec.suspended);
    if suspended(&change.before) == suspended(&change.after) {
        return Touched::new();
    }
    shared.index.lock().policy_changed()
}

fn binding_changed(shared: &Shared, tellers: &Tellers, change: &Change<JudgedPart>) -> Touched {
    let key = binding_key(&change.key);
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    tellers.pending.binding_changed(&key, before, after);
    if let Some(binding) = after {
        tellers.drops.binding_changed(&key, binding);
    }
    shared.index.lock().binding_changed(&key)
}

fn metrics(ctx: &Context, shared: &Arc<Shared>) {
    ctx.metrics.describe(
        JUDGED_SECONDS,
        "How long all verdicts took that a change of one Cluster gave reason for.",
    );
    let shared = shared.clone();
    ctx.metrics.collector(PRODUCER, move || {
        let family = Family::gauge(
            "taint_manager_published_entries",
            "Entries that the taint manager publishes to the eviction queue, by cluster.",
        );
        #[expect(clippy::cast_precision_loss, reason = "a count of bindings")]
        let with = |family: Family, (cluster, count): (api_types::ClusterName, usize)| {
            family.with(&[("cluster_name", cluster.as_str())], count as f64)
        };
        let index = shared.index.lock();
        let verdicts = Family::counter(
            "taint_manager_verdicts_total",
            "Pairs of binding and cluster that were judged.",
        );
        #[expect(clippy::cast_precision_loss, reason = "nobody judges 2^52 times")]
        let verdicts = verdicts.with(&[], index.judged as f64);
        vec![index.ledger.counts().into_iter().fold(family, with), verdicts]
    });
}
