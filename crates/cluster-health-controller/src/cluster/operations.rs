//! What the rest of the control plane is doing, as far as it is stored: Leases and pauses.

use std::collections::BTreeSet;
use std::time::Duration;

use api_types::failover::FailoverPause;
use api_types::names::annotation;
use controller_kit::leader::{GATES_ANNOTATION, lease_name};
use controller_kit::{Context, FeatureGates, Gate, ObjectKey, api_errors};
use failover_core::cluster_health::deletion::{Operations, controllers};
use failover_core::eviction::FailoverGate;
use failover_core::eviction::queue::PauseView;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::ListParams;

use super::index::Index;
use super::monitor::Election;

/// Duration of a Lease that states none.
const DEFAULT_LEASE: Duration = Duration::from_secs(15);

/// The controllers that matter to a deletion.
const NEEDED: [&str; 6] = [
    controllers::TAINT_MANAGER,
    controllers::EVICTION_QUEUE,
    controllers::EVICTOR,
    controllers::SCHEDULER,
    controllers::GRACEFUL_EVICTION,
    controllers::BINDING,
];

/// Reads it. Pauses are asked of the API server: only deletions that are blocked need them, and nobody else here does.
pub(super) async fn operations(ctx: &Context, index: &Index) -> Result<Operations, kube::Error> {
    let now = ctx.clock.now();
    let pauses = pauses(ctx).await?;
    let pauses = pauses
        .iter()
        .map(PauseView::of)
        .filter(|pause| pause.is_active(now))
        .collect();
    if index.monitor.election() == Election::Off {
        // No Lease says anything: taken for running, with our own gates.
        return Ok(Operations {
            running: NEEDED.into_iter().map(str::to_owned).collect(),
            failover: Some(gate(&ctx.gates)),
            standstill: None,
            pauses,
        });
    }
    let running: BTreeSet<String> = NEEDED
        .into_iter()
        .filter(|name| held(ctx, index, name).is_some())
        .map(str::to_owned)
        .collect();
    let failover = held(ctx, index, controllers::TAINT_MANAGER).map(|lease| {
        let gates: Vec<String> = said(&lease, GATES_ANNOTATION)
            .unwrap_or_default()
            .split(',')
            .map(str::to_owned)
            .collect();
        FeatureGates::parse(&gates).map_or(FailoverGate::Off, |(gates, _)| gate(&gates))
    });
    let standstill =
        held(ctx, index, controllers::EVICTION_QUEUE).and_then(|lease| said(&lease, annotation::STANDSTILL));
    Ok(Operations {
        running,
        failover,
        standstill: standstill.filter(|why| !why.is_empty()),
        pauses,
    })
}

fn gate(gates: &FeatureGates) -> FailoverGate {
    if gates.enabled(Gate::Failover) {
        FailoverGate::On
    } else {
        FailoverGate::Off
    }
}

/// The controller's Lease, if somebody holds it and renews it before our eyes.
fn held(ctx: &Context, index: &Index, controller: &str) -> Option<std::sync::Arc<Lease>> {
    let name = lease_name(controller);
    let lease = index
        .controllers
        .get(&ObjectKey::namespaced(ctx.system_namespace.as_ref(), name.as_str()))?;
    let spec = lease.spec.as_ref()?;
    spec.holder_identity.as_ref().filter(|holder| !holder.is_empty())?;
    let stated = spec
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok());
    let limit = stated.map_or(DEFAULT_LEASE, Duration::from_secs).max(DEFAULT_LEASE);
    let silent_for = index.monitor.controller_silent_for(&name)?;
    (silent_for <= limit).then_some(lease)
}

fn said(lease: &Lease, name: &str) -> Option<String> {
    lease.metadata.annotations.as_ref()?.get(name).cloned()
}

async fn pauses(ctx: &Context) -> Result<Vec<FailoverPause>, kube::Error> {
    match Api::<FailoverPause>::all(ctx.client.clone())
        .list(&ListParams::default())
        .await
    {
        Ok(list) => Ok(list.items),
        // This control plane does not know the kind: nobody can have paused anything.
        Err(error) if api_errors::is_not_found(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
