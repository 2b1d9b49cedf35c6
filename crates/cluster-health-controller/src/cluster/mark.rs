//! Says in a Cluster's conditions what the monitor thinks of it. Checks again right before it acts: the Lease on which a
//! mark rests is read live, and a Ready condition that somebody wrote meanwhile is not overwritten.

use std::sync::Arc;

use api_types::cluster::{Cluster, condition};
use api_types::conditions::Say;
use controller_kit::leader::lease_name;
use controller_kit::{Context, EventType, ObjectKey, api_errors};
use failover_core::cluster_health::saying::{Said, say};
use failover_core::cluster_health::silence::ReadyMark;
use failover_core::cluster_health::standing::{ReportedBy, Standing};
use failover_core::cluster_health::{transition, words};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use tracing::info;

use super::index::Index;
use super::listen::REPORTER;
use super::writer::condition_operations;
use crate::conditional::{self, Half, Outcome};

/// Whether the Cluster has changed by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    Something,
    Nothing,
}

/// Brings the conditions of a Cluster in line with what is thought of it.
pub(super) async fn health(
    ctx: &Context,
    index: &Index,
    key: &ObjectKey,
    cluster: &Arc<Cluster>,
) -> Result<Wrote, kube::Error> {
    let name = cluster.cluster_name();
    let lease_key = ObjectKey::namespaced(index.monitor.names().agents.as_str(), name.as_str());
    // What is judged is what is looked at here, however far the listener has come.
    index
        .monitor
        .note_cluster(cluster, index.agents.get(&lease_key).as_deref());
    let standing = index.monitor.standing(&name);
    tell_if_it_was_stored(ctx, index, key, cluster, &standing);
    if !marks(&wanted(index, cluster, &standing)) {
        return write(ctx, index, key, cluster, &standing).await;
    }
    look_again(ctx, index, cluster).await?;
    let standing = index.monitor.standing(&name);
    write(ctx, index, key, cluster, &standing).await
}

fn wanted(index: &Index, cluster: &Cluster, standing: &Standing) -> Vec<Said> {
    let stored = cluster.status.as_ref().map(|status| status.conditions.as_slice());
    say(
        standing,
        stored.unwrap_or_default(),
        &cluster.cluster_name(),
        index.monitor.names(),
    )
}

fn marks(said: &[Said]) -> bool {
    said.iter().any(|said| said.type_ == condition::READY)
}

/// Reads the Lease that speaks for the Cluster from the API server itself.
async fn look_again(ctx: &Context, index: &Index, cluster: &Cluster) -> Result<(), kube::Error> {
    let name = cluster.cluster_name();
    match ReportedBy::from(&cluster.spec.sync_mode) {
        ReportedBy::Agent => {
            let leases = Api::<Lease>::namespaced(ctx.client.clone(), &index.monitor.names().agents);
            let lease = leases.get_opt(name.as_str()).await?;
            index.monitor.note_cluster(cluster, lease.as_ref());
        }
        ReportedBy::Reporter => {
            let leases = Api::<Lease>::namespaced(ctx.client.clone(), &ctx.system_namespace);
            let lease = leases.get_opt(&lease_name(REPORTER)).await?;
            index.monitor.note_reporter(lease.as_ref());
        }
    }
    Ok(())
}

async fn write(
    ctx: &Context,
    index: &Index,
    key: &ObjectKey,
    cluster: &Arc<Cluster>,
    standing: &Standing,
) -> Result<Wrote, kube::Error> {
    if wanted(index, cluster, standing).is_empty() {
        return Ok(Wrote::Nothing);
    }
    let now = ctx.clock.now();
    let judged = ReadyMark::of(cluster.condition(condition::READY));
    let change = |current: &Cluster| {
        // Whoever wrote it meanwhile is alive; the change brings the Cluster here again.
        if ReadyMark::of(current.condition(condition::READY)) != judged {
            return Vec::new();
        }
        let said = wanted(index, current, standing);
        let says: Vec<Say<'_>> = said
            .iter()
            .map(|said| Say {
                type_: said.type_,
                status: said.status,
                reason: said.reason,
                message: &said.message,
            })
            .collect();
        condition_operations(current, &says, now)
    };
    match conditional::patch(ctx, Arc::clone(cluster), Half::Status, change).await {
        Ok(Outcome::Written { before }) => {
            if marks(&wanted(index, &before, standing)) {
                tell(ctx, index, &before, standing);
            }
            Ok(Wrote::Something)
        }
        Ok(Outcome::Unchanged | Outcome::Gone) => Ok(Wrote::Nothing),
        Err(error) => {
            if marks(&wanted(index, cluster, standing)) && !api_errors::is_outdated(&error) {
                index.unsure.lock().insert(key.clone(), Arc::clone(cluster));
            }
            Err(error)
        }
    }
}

/// A write of which the answer was lost may have been stored: its transition has not been told then.
fn tell_if_it_was_stored(ctx: &Context, index: &Index, key: &ObjectKey, cluster: &Cluster, standing: &Standing) {
    let Some(before) = index.unsure.lock().remove(key) else {
        return;
    };
    let ready = cluster.condition(condition::READY);
    let is_ours = ready.is_some_and(|ready| ready.status == "Unknown" && ready.reason == words::UNKNOWN);
    if is_ours && before.metadata.uid == cluster.metadata.uid {
        tell(ctx, index, &before, standing);
    }
}

/// An event for a settled transition.
fn tell(ctx: &Context, index: &Index, before: &Cluster, standing: &Standing) {
    let status = before.condition(condition::READY).map(|ready| ready.status.as_str());
    let name = before.cluster_name();
    let words = standing.reason(&name, index.monitor.names());
    let (reason, note) = match transition(status, "Unknown") {
        Some(settled) => (settled.event_reason, format!("Ready is Unknown: {words}")),
        // It was Unknown before; now it is known what to look for.
        None => (
            "ClusterNeverReported",
            format!("nobody has reported on this cluster yet: {words}"),
        ),
    };
    info!(cluster = %name, reason, note, "Ready has settled");
    ctx.events.publish_for(before, EventType::Warning, reason, note);
}
