//! `TaintToleration`: no workload goes where it is not tolerated, or from where it would soon be evicted again.

use api_types::cluster::{Cluster, effect};
use api_types::policy::PurgeMode;
use failover_core::eviction::tolerations::{Tolerance, tolerance};
use failover_core::eviction::{Switches, Verdict, cause_on_cluster};
use k8s_openapi::api::core::v1::Taint;

use crate::plugin::Filter;
use crate::request::{Refusal, Request};

/// Refuses clusters with a NoSchedule or NoExecute taint that the placement does not tolerate, and clusters from which
/// the taint manager's own verdict would take the binding before it could settle: a timed toleration that has run out
/// or soon will, or a PreferNoExecute taint where `spec.failover.cluster` opts in. Else the workload would come back
/// and be evicted again, for ever. Clusters in the result are not judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaintToleration;

impl Filter for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn filter(&self, request: &Request<'_>, cluster: &Cluster) -> Result<(), Refusal> {
        if request.is_present(cluster) {
            return Ok(());
        }
        let tolerations = &request.placement.cluster_tolerations;
        let untolerated = cluster.spec.taints.iter().find(|taint| {
            matches!(taint.effect.as_str(), effect::NO_SCHEDULE | effect::NO_EXECUTE)
                && tolerance(tolerations, taint) == Tolerance::None
        });
        if let Some(taint) = untolerated {
            return Err(Refusal::new(
                self.name(),
                format!("cluster(s) had untolerated taint {{{}}}", as_text(taint)),
            ));
        }
        match cause_on_cluster(request.binding, cluster, &Switches::all_on(PurgeMode::Gracefully)) {
            Verdict::Affected(affected)
                if affected.due_at <= request.now.saturating_add(request.rules.settle).unwrap_or(request.now) =>
            {
                Err(Refusal::new(
                    self.name(),
                    format!("cluster(s) would be left again at once: {}", affected.reason()),
                ))
            }
            Verdict::Affected(_) | Verdict::NotAffected(_) => Ok(()),
        }
    }
}

fn as_text(taint: &Taint) -> String {
    match taint.value.as_deref().filter(|value| !value.is_empty()) {
        Some(value) => format!("{}={value}:{}", taint.key, taint.effect),
        None => format!("{}:{}", taint.key, taint.effect),
    }
}
