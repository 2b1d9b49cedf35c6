//! What would leave a Cluster when a taint comes whose window runs. Pure: the verdicts are those that the taint manager
//! would give on the Cluster with that taint. Of its switches the Lease tells one, the gate; what it does not tell is
//! taken as on, and that is said.

use std::collections::BTreeMap;

use api_types::cluster::{Cluster, effect};
use api_types::work::Binding;
use failover_core::eviction::{FailoverGate, Verdict, verdict};
use failover_core::taint_policy::TaintId;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use crate::controllers::{self, Mode};
use crate::explain::taints::{PolicyOnCluster, TaintWord};
use crate::output::At;

/// What is assumed when the taint manager does not say how it has the gate.
const GATE_ON: &str = "feature gate Failover is on for the taint manager";
/// What is assumed of a switch that nothing tells.
const NO_EXECUTE_ON: &str = "--enable-no-execute-taint-eviction is on, as by default";
/// How many bindings are named.
const NAMED: usize = 10;

/// What one taint would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WouldLeave {
    /// `key:effect`.
    pub taint: String,
    /// When it comes.
    pub at: At,
    /// Workloads on the Cluster.
    pub workloads: usize,
    /// Of them, those that would have to leave because of it.
    pub leaving: usize,
    /// When the first would be due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_due_at: Option<At>,
    /// The first ones, by when they would be due.
    pub bindings: Vec<String>,
    /// How many stay, by the word for why.
    pub staying: BTreeMap<String, usize>,
    /// What is taken for granted about the taint manager's switches, because nothing tells.
    pub assuming: Vec<&'static str>,
}

/// The taints that are coming, are not there in whatever form, and may move workloads; each once, the first one first.
pub(super) fn coming(cluster: &Cluster, rows: &[PolicyOnCluster]) -> Vec<(TaintId, String, At)> {
    let stands = |id: &TaintId| cluster.spec.taints.iter().any(|taint| TaintId::of(taint) == *id);
    let mut coming: Vec<(TaintId, String, At)> = Vec::new();
    for taint in rows.iter().flat_map(|row| &row.taints) {
        let is_coming = matches!(taint.state, TaintWord::PendingAdd | TaintWord::Due);
        let (Some((key, effect)), Some(at)) = (taint.taint.rsplit_once(':'), taint.at) else {
            continue;
        };
        let id = TaintId {
            key: key.to_owned(),
            effect: effect.to_owned(),
        };
        if is_coming && moves_workloads(&id) && !stands(&id) {
            match coming.iter_mut().find(|(known, ..)| *known == id) {
                Some((_, _, first)) => *first = at.min(*first),
                None => coming.push((id, taint.value.clone(), at)),
            }
        }
    }
    coming.sort_by_key(|(.., at)| *at);
    coming
}

fn moves_workloads(id: &TaintId) -> bool {
    let taint = Taint {
        key: id.key.clone(),
        effect: id.effect.clone(),
        ..Taint::default()
    };
    crate::status::TaintView::of(&taint).evicts()
}

/// What has to be so for anything to leave because of this taint, and is not known.
fn assuming(id: &TaintId, gate: Option<FailoverGate>) -> Vec<&'static str> {
    let gate = gate.is_none().then_some(GATE_ON);
    let switch = (id.effect == effect::NO_EXECUTE).then_some(NO_EXECUTE_ON);
    gate.into_iter().chain(switch).collect()
}

/// What each of them would do to the bindings that are on the Cluster.
pub(super) fn would_leave(
    cluster: &Cluster,
    bindings: &[Binding],
    rows: &[PolicyOnCluster],
    mode: Mode,
    gate: Option<FailoverGate>,
) -> Vec<WouldLeave> {
    let switches = controllers::switches(mode, gate);
    coming(cluster, rows)
        .into_iter()
        .map(|(id, value, at)| {
            let mut tainted = cluster.clone();
            tainted.spec.taints.push(Taint {
                key: id.key.clone(),
                value: Some(value).filter(|value| !value.is_empty()),
                effect: id.effect.clone(),
                time_added: Some(Time(at.0)),
            });
            let mut leaving: Vec<(At, String)> = Vec::new();
            let mut staying: BTreeMap<String, usize> = BTreeMap::new();
            for binding in bindings {
                let why = match verdict(binding, &tainted, &switches) {
                    Verdict::Affected(affected) if affected.cause.taint().as_ref() == Some(&id) => {
                        // Times on objects have whole seconds; nothing leaves before the taint is there.
                        leaving.push((At(affected.due_at).max(at), binding.key().to_string()));
                        continue;
                    }
                    Verdict::Affected(_) => "LeavesAnyway".to_owned(),
                    Verdict::NotAffected(why) => why.word().to_owned(),
                };
                *staying.entry(why).or_default() += 1;
            }
            leaving.sort();
            WouldLeave {
                taint: id.to_string(),
                at,
                workloads: bindings.len(),
                leaving: leaving.len(),
                first_due_at: leaving.first().map(|(due, _)| *due),
                bindings: leaving.into_iter().take(NAMED).map(|(_, binding)| binding).collect(),
                staying,
                assuming: assuming(&id, gate),
            }
        })
        .collect()
}
