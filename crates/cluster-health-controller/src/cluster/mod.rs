//! Controller `cluster`: what every Cluster has from its first moment, who reports on it, and how it ends.
//!
//! Guarantees: a Cluster gets a Ready condition the moment it is seen, so that nobody takes silence for health; its
//! execution namespace and our finalizer. A Cluster of which nobody reports any more becomes Unknown, by the rules of
//! [`failover_core::cluster_health::watch`]; when it is rather the reporter of all Push clusters or this monitor that is
//! cut off, conditions, events and metrics say so and nothing is marked. A deletion waits until no binding names the
//! Cluster, says what it waits for, and ends with the namespace and then the finalizer, or without waiting when a person
//! says so by `failover.karmada.io/force-delete: "true"` or the administrator's time is over.

mod blocked;
mod flags;
mod index;
mod listen;
mod mark;
mod monitor;
mod operations;
mod reconcile;
mod series;
mod writer;

use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::names::namespace;
use controller_kit::informer::Stopped;
use controller_kit::leader::lease_name;
use controller_kit::{Context, ObjectKey, RequiredKind, Scope, WorkQueue};
use failover_core::cluster_health::standing::LeaseNames;
use failover_core::cluster_health::watch::Graces;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;

use crate::flags::Flags;
pub use flags::ClusterFlags;
use index::Index;
use listen::{Ears, Listener, REPORTER};
use monitor::{Election, Monitor};

/// Runs until shutdown.
pub(crate) async fn run(ctx: Context, flags: Flags) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>()]).await?;
    let clusters = ctx.informers.of::<Cluster>();
    let namespaces = ctx.informers.of::<Namespace>();
    let leases = |namespace: &str| ctx.informers.get::<Lease>(Scope::namespace(namespace), &());
    let (agents, controllers) = (leases(namespace::CLUSTER), leases(&ctx.system_namespace));
    let synced = async {
        Ok::<_, Stopped>((
            clusters.synced().await?,
            namespaces.synced().await?,
            agents.synced().await?,
            controllers.synced().await?,
        ))
    };
    let Ok((cluster_store, namespace_store, agent_store, controller_store)) = synced.await else {
        return Ok(());
    };
    let monitor = monitor(&ctx, &flags);
    let shown = monitor.clone();
    let _metrics = ctx
        .metrics
        .guarded_collector("cluster", move || series::families(&shown));
    let index = Index::new(
        cluster_store.clone(),
        namespace_store,
        agent_store.clone(),
        controller_store.clone(),
        monitor.clone(),
    );
    let queue: WorkQueue<ObjectKey> = WorkQueue::new("cluster", &ctx);
    let listener = Listener {
        ctx: ctx.clone(),
        monitor,
        queue: queue.clone(),
        agents_namespace: namespace::CLUSTER.to_owned(),
        period: flags.cluster.cluster_monitor_period,
    };
    let ears = Ears {
        clusters: clusters.changes(),
        agents: agents.changes(),
        controllers: controllers.changes(),
        cluster_store,
        agent_store,
        controller_store,
    };
    ctx.tasks.spawn("monitor of reporters", listener.run(ears));
    queue.follow(&ctx, clusters.changes(), |change| [change.key.clone()]);
    queue.follow(&ctx, namespaces.changes(), |change| {
        index::cluster_of_namespace(&change.key.name)
    });
    let (worker, requeue, index) = (ctx.clone(), queue.clone(), Arc::new(index));
    let timeout = flags.cluster.cluster_deletion_timeout;
    queue
        .run(&ctx, flags.concurrent_cluster_syncs.max(1), move |key| {
            let (ctx, index, queue) = (worker.clone(), Arc::clone(&index), requeue.clone());
            async move { writer::bring_about(&ctx, &index, &queue, &key, timeout).await }
        })
        .await;
    Ok(())
}

fn monitor(ctx: &Context, flags: &Flags) -> Monitor {
    let graces = Graces {
        grace: flags.cluster_monitor_grace_period,
        startup: flags.cluster.cluster_startup_grace_period,
    };
    let system = &ctx.system_namespace;
    let names = LeaseNames {
        reporter: format!("{system}/{}", lease_name(REPORTER)),
        monitor: format!("{system}/{}", lease_name(ctx.controller)),
        agents: namespace::CLUSTER.to_owned(),
    };
    let election = if ctx.leadership.epoch().lease_uid.is_empty() {
        tracing::warn!(
            "without a Lease of clusterStatus (--leader-elect=false) nobody sees that it has ended, or does not get to a \
             member: a Push cluster then stays as it was last reported"
        );
        Election::Off
    } else {
        Election::On
    };
    Monitor::new(graces, names, election)
}
