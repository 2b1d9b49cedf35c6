//! What the rest of the control plane is doing, as far as it is stored: Leases and pauses.

use std::collections::BTreeSet;
use std::time::Duration;

use api_types::failover::FailoverPause;
use api_types::names::annotation;
use controller_kit::leader::{lease_name, said};
use controller_kit::{Context, Gate, ObjectKey, api_errors};
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
            failover: Some(ctx.gates.enabled(Gate::Failover).into()),
            standstill: None,
            pauses,
        });
    }
    let running: BTreeSet<String> = NEEDED
        .into_iter()
        .filter(|name| held(ctx, index, name).is_some())
        .map(str::to_owned)
        .collect();
    let failover = held(ctx, index, controllers::TAINT_MANAGER).map(|lease| failover_of(&lease));
    let standstill = held(ctx, index, controllers::EVICTION_QUEUE).and_then(|lease| {
        lease
            .metadata
            .annotations
            .as_ref()?
            .get(annotation::STANDSTILL)
            .cloned()
    });
    Ok(Operations {
        running,
        failover,
        standstill: standstill.filter(|why| !why.is_empty()),
        pauses,
    })
}

/// The gate as the holder of the taint manager's Lease has it. One that does not say, or says what cannot be read, is at
/// work: only a gate that is said to be off hands the cluster to the scheduler, which reads it in the same way.
fn failover_of(lease: &Lease) -> FailoverGate {
    said(lease)
        .gates
        .map_or(FailoverGate::On, |gates| gates.enabled(Gate::Failover).into())
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::off(json!({"failover.karmada.io/gates": "Failover=false"}), FailoverGate::Off)]
    #[case::on(json!({"failover.karmada.io/gates": "Failover=true"}), FailoverGate::On)]
    #[case::of_a_newer_process(json!({"failover.karmada.io/gates": "Failover=false,Tomorrow=true"}), FailoverGate::Off)]
    #[case::on_in_a_newer_process(json!({"failover.karmada.io/gates": "Failover=true,Tomorrow=true"}), FailoverGate::On)]
    #[case::unsaid(json!({}), FailoverGate::On)]
    #[case::unreadable(json!({"failover.karmada.io/gates": "Failover=perhaps"}), FailoverGate::On)]
    fn only_what_is_said_to_be_off_is_off(#[case] annotations: serde_json::Value, #[case] expected: FailoverGate) {
        let lease = json!({"metadata": {"annotations": annotations}, "spec": {"holderIdentity": "a"}});
        assert_eq!(failover_of(&serde_json::from_value(lease).unwrap()), expected);
    }
}
