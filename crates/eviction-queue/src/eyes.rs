//! What the queue sees: Clusters and FailoverPauses, from the process's informers.

use api_types::cluster::Cluster;
use api_types::failover::FailoverPause;
use controller_kit::Context;
use failover_core::eviction::queue::{ClusterView, Event, PauseView};

use crate::shell::Shell;

/// Tells the queue about every Cluster and pause and their changes, until the process stops.
pub async fn watch(ctx: &Context, shell: &Shell) {
    tokio::join!(clusters(ctx, shell), pauses(ctx, shell));
}

async fn clusters(ctx: &Context, shell: &Shell) {
    let keys = shell.look(|queue, _| queue.settings().regime.non_failure_taint_keys.clone());
    let informer = ctx.informers.of::<Cluster>();
    let mut changes = informer.changes();
    let Ok(store) = informer.synced().await else { return };
    for cluster in store.list() {
        shell.tell(Event::ClusterSeen(ClusterView::of(&cluster, &keys)));
    }
    shell.tell(Event::ClustersSynced);
    while let Some(change) = changes.recv().await {
        shell.tell(match change.after {
            Some(cluster) => Event::ClusterSeen(ClusterView::of(&cluster, &keys)),
            None => Event::ClusterGone(change.key.name.into()),
        });
    }
}

async fn pauses(ctx: &Context, shell: &Shell) {
    let informer = ctx.informers.of::<FailoverPause>();
    let mut changes = informer.changes();
    let Ok(store) = informer.synced().await else { return };
    for pause in store.list() {
        shell.tell(Event::PauseSeen(PauseView::of(&pause)));
    }
    shell.tell(Event::PausesSynced);
    while let Some(change) = changes.recv().await {
        shell.tell(match change.after {
            Some(pause) => Event::PauseSeen(PauseView::of(&pause)),
            None => Event::PauseGone(change.key.name),
        });
    }
}
