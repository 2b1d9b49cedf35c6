//! Controller `taintManager`: who is affected by a cluster's failure, told to the queue; and what the queue holds, told
//! on the bindings.
//!
//! Rooms: `index` (what is known; what is wanted follows from it by [`failover_core::eviction::desired_entry`]),
//! `published` (what is published and not told yet), `publish` (the stream to the queue), `pending` (what the queue
//! holds, and the writes that follow from it), `switched_off` (what is not done because of a switch). Here is the
//! wiring.

mod index;
mod pending;
mod publish;
mod published;
mod switched_off;

use std::sync::Arc;

use anyhow::Result;
use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, BindingKind};
use binding_writer::binding_key;
use controller_kit::metrics::Family;
use controller_kit::{Change, Context, RequiredKind};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Flags, Wiring};
use index::{Index, Informers, Streams, Touched};
use pending::Pending;
use switched_off::SwitchedOff;

/// Name under which entries are published.
pub(crate) const PRODUCER: &str = failover_core::graceful::record::TAINT_MANAGER;

/// The index, and a bell for those who tell the queue.
pub(crate) struct Shared {
    pub index: Mutex<Index>,
    pub changed: Notify,
}

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
    let switches = flags.switches(&ctx.gates);
    let shared = Arc::new(Shared {
        index: Mutex::new(Index::new(stores.clone(), switches.clone())),
        changed: Notify::new(),
    });
    metrics(&ctx, &shared);
    let queue = (wiring.queue)(&ctx);
    let pending = Pending::new(&ctx, &shared, stores, queue.clone(), flags.status_writes_per_second);
    let follow = follow(&ctx, &shared, streams, SwitchedOff::new(&ctx, switches), &pending);
    let publish = publish::run(&ctx, &shared, &queue);
    let ((), (), ()) = tokio::join!(follow, publish, pending.run());
    ctx.metrics.remove_collector(PRODUCER);
    Ok(())
}

/// Takes in every change until shutdown.
async fn follow(
    ctx: &Context,
    shared: &Shared,
    mut streams: Streams,
    mut switched_off: SwitchedOff,
    pending: &Pending,
) {
    loop {
        let touched = tokio::select! {
            biased;
            () = ctx.shutdown.cancelled() => return,
            Some(change) = streams.clusters.recv() => {
                switched_off.see(&change);
                cluster_changed(shared, &change)
            }
            Some(change) = streams.policies.recv() => policy_changed(shared, &change),
            Some(change) = streams.namespaced.recv() => binding_changed(shared, pending, &change),
            Some(change) = streams.cluster_wide.recv() => binding_changed(shared, pending, &change),
            else => return,
        };
        if !touched.is_empty() {
            shared.changed.notify_one();
            touched.iter().for_each(|key| pending.look_at(key));
        }
    }
}

fn cluster_changed(shared: &Shared, change: &Change<Cluster>) -> Touched {
    let name = change.key.name.as_str().into();
    shared
        .index
        .lock()
        .cluster_changed(&name, change.before.as_deref(), change.after.as_deref())
}

fn policy_changed(shared: &Shared, change: &Change<ClusterTaintPolicy>) -> Touched {
    let suspended = |policy: &Option<Arc<ClusterTaintPolicy>>| policy.as_ref().map(|policy| policy.spec.suspended);
    if suspended(&change.before) == suspended(&change.after) {
        return Touched::new();
    }
    shared.index.lock().policy_changed()
}

fn binding_changed(shared: &Shared, pending: &Pending, change: &Change<Binding>) -> Touched {
    pending.binding_changed(change.before.as_deref(), change.after.as_deref());
    shared.index.lock().binding_changed(&binding_key(&change.key))
}

fn metrics(ctx: &Context, shared: &Arc<Shared>) {
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
        vec![shared.index.lock().published.counts().into_iter().fold(family, with)]
    });
}
