//! Controller `cluster`: what every Cluster has from its first moment, and how it ends.
//!
//! Guarantees: a Cluster gets a Ready condition the moment it is seen, so that nobody takes silence for health; its
//! execution namespace and our finalizer; a deletion waits until no binding names the Cluster, says what it waits for,
//! and ends with the namespace and then the finalizer, or at once when a person says so by
//! `failover.karmada.io/force-delete: "true"`.

mod index;
mod reconcile;
mod writer;

use api_types::cluster::Cluster;
use controller_kit::informer::Stopped;
use controller_kit::{Context, ObjectKey, RequiredKind, WorkQueue};
use k8s_openapi::api::core::v1::Namespace;

use crate::flags::Flags;
use index::Index;

/// Runs until shutdown.
pub(crate) async fn run(ctx: Context, flags: Flags) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>()]).await?;
    let clusters = ctx.informers.of::<Cluster>();
    let namespaces = ctx.informers.of::<Namespace>();
    let (clusters_store, namespaces_store) = match (clusters.synced().await, namespaces.synced().await) {
        (Ok(clusters), Ok(namespaces)) => (clusters, namespaces),
        (Err(Stopped), _) | (_, Err(Stopped)) => return Ok(()),
    };
    let queue: WorkQueue<ObjectKey> = WorkQueue::new("cluster", &ctx);
    queue.follow(&ctx, clusters.changes(), |change| [change.key.clone()]);
    queue.follow(&ctx, namespaces.changes(), |change| {
        index::cluster_of_namespace(&change.key.name)
    });
    let index = Index::new(clusters_store, namespaces_store);
    let worker = ctx.clone();
    let requeue = queue.clone();
    queue
        .run(&ctx, flags.concurrent_cluster_syncs.max(1), move |key| {
            let (ctx, index, queue) = (worker.clone(), index.clone(), requeue.clone());
            async move { writer::bring_about(&ctx, &index, &queue, &key).await }
        })
        .await;
    Ok(())
}
