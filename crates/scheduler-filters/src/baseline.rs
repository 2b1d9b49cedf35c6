//! Rules that no flag switches off: they keep a workload from going where it would be lost or evicted again.
//!
//! A cluster that holds the binding already is judged by none of them (but deletion, where the scheduler evicts).

use api_types::cluster::{Cluster, condition};
use failover_core::graceful::cause::{self, CauseState};

use crate::request::{DeletionBy, Refusal, Request};

/// The name that refusals of these rules carry.
pub const NAME: &str = "Baseline";

/// Judges one cluster.
///
/// # Errors
/// - It is being deleted: it takes nothing new.
/// - It never reported Ready: nobody knows whether it lives.
/// - The binding has an open task there, and the cause stands or the cluster is not Ready.
pub fn check(request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal> {
    let present = request.is_present(cluster);
    if cluster.is_being_deleted() && (!present || request.rules.deletion == DeletionBy::Scheduler) {
        return Err(Refusal::new(NAME, "cluster(s) is being deleted"));
    }
    if present {
        return Ok(());
    }
    if cluster.condition(condition::READY).is_none() {
        return Err(Refusal::new(NAME, "cluster(s) never reported a Ready condition"));
    }
    let Some(task) = request.binding.spec.task(&cluster.cluster_name()) else {
        return Ok(());
    };
    let refusal = Refusal::new(NAME, "cluster(s) is in the process of eviction");
    match cause::gone(request.binding, task, cluster, request.now) {
        CauseState::Gone(_) => Ok(()),
        CauseState::Stands { until: Some(until), .. } => Err(refusal.until(until)),
        CauseState::Stands { until: None, .. } => Err(refusal),
    }
}
