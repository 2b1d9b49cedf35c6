//! Controller `clusterStatus`: probes the Push members and writes what it sees.
//!
//! Guarantees: each member has its own task, so that one that hangs never delays another; every probe ends within the
//! update period; the condition follows what is seen by the thresholds alone, whatever went wrong; the status is
//! written only when it changes, and only the parts that are ours.

mod collect;
mod credentials;
mod probe;
mod report;
mod reporter;

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::cluster::{Cluster, ClusterSyncMode};
use controller_kit::informer::Stopped;
use controller_kit::tasks::TaskGuard;
use controller_kit::{Context, ObjectKey, RequiredKind};
use tracing::debug;

use crate::flags::Flags;
use crate::metrics;
use reporter::Reporter;

pub(crate) use collect::quantity_as_number;

/// Runs until shutdown.
pub(crate) async fn run(ctx: Context, flags: Flags) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>()]).await?;
    let clusters = ctx.informers.of::<Cluster>();
    let store = match clusters.synced().await {
        Ok(store) => store,
        Err(Stopped) => return Ok(()),
    };
    let timings = metrics::publish(&ctx, &store);
    let mut changes = clusters.changes();
    let mut reporters: BTreeMap<ObjectKey, (Option<String>, TaskGuard)> = BTreeMap::new();
    loop {
        let change = tokio::select! {
            biased;
            () = ctx.shutdown.cancelled() => break,
            change = changes.recv() => change,
        };
        let Some(change) = change else { break };
        match change.after.filter(|cluster| reports_on(cluster)) {
            Some(cluster) => {
                let uid = cluster.metadata.uid.clone();
                if reporters.get(&change.key).is_some_and(|(known, _)| *known == uid) {
                    continue;
                }
                debug!(cluster = %change.key, "probing begins");
                let reporter = Reporter::new(&ctx, &flags, store.clone(), change.key.clone(), Arc::clone(&timings));
                let task = ctx
                    .tasks
                    .spawn(format!("cluster status of {}", change.key), reporter.run());
                reporters.insert(change.key, (uid, task.abort_on_drop()));
            }
            None => {
                if reporters.remove(&change.key).is_some() {
                    debug!(cluster = %change.key, "probing ends");
                }
                timings.forget(&change.key.name);
            }
        }
    }
    Ok(())
}

/// Pull members are reported on by their agents. One that is being deleted is still reported on: whether it answers
/// decides how its deletion ends.
fn reports_on(cluster: &Cluster) -> bool {
    cluster.spec.sync_mode == ClusterSyncMode::Push
}
