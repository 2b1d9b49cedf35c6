//! The taints that stand on a Cluster: whose they are, and what becomes of them. Pure.

use api_types::cluster::effect;
use api_types::names::taint as key;
use failover_core::taint_policy::{ManagedTaint, TaintChange, TaintId};
use k8s_openapi::api::core::v1::Taint;
use serde::Serialize;

use crate::controllers::Mode;
use crate::explain::taints::{Engine, PolicyOnCluster, TaintWord, join};
use crate::output::At;
use crate::status::TaintView;

/// A taint on the Cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StandingTaint {
    /// The taint.
    #[serde(flatten)]
    pub taint: TaintView,
    /// The policies that added it; none: it is not ours.
    pub policies: Vec<String>,
    /// What it does to workloads.
    pub does: &'static str,
    /// When it goes, if nothing changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goes_at: Option<At>,
    /// What becomes of it, in a sentence.
    pub fate: String,
}

/// The taints of the Cluster in their order.
pub(super) fn standing(engine: &Engine<'_>, rows: &[PolicyOnCluster], mode: Mode) -> Vec<StandingTaint> {
    let managed = engine.managed();
    let taints = engine.cluster.spec.taints.iter();
    taints
        .map(|taint| {
            let id = TaintId::of(taint);
            let ours = managed.taints.get(&id).filter(|entry| entry.is(taint));
            let (goes_at, fate) = match ours {
                Some(entry) => ours_goes(engine, rows, &id, entry),
                None => (None, theirs_goes(taint, mode)),
            };
            StandingTaint {
                taint: TaintView::of(taint),
                policies: ours
                    .map(|entry| entry.policies.keys().cloned().collect())
                    .unwrap_or_default(),
                does: does(taint),
                goes_at,
                fate,
            }
        })
        .collect()
}

/// A taint of ours goes when no policy wants it any more.
fn ours_goes(
    engine: &Engine<'_>,
    rows: &[PolicyOnCluster],
    id: &TaintId,
    entry: &ManagedTaint,
) -> (Option<At>, String) {
    let text = id.to_string();
    let stopped = engine.settings.not_running.as_ref();
    let removed = engine.evaluation.taints.iter().find_map(|change| match change {
        TaintChange::Remove { id: gone, why, .. } if gone == id => Some(why),
        _ => None,
    });
    if let Some(why) = removed {
        let blocked = stopped.map(|why| format!(", but {why}")).unwrap_or_default();
        return (None, format!("goes with the controller's next look: {why}{blocked}"));
    }
    let states = rows.iter().flat_map(|row| {
        let of_this = row.taints.iter().filter(|taint| taint.taint == text);
        of_this.map(move |taint| (row, taint))
    });
    let (mut stay, mut kept, mut leaving) = (Vec::new(), Vec::new(), Vec::new());
    for (row, taint) in states {
        match taint.state {
            TaintWord::Stands => stay.push(row.policy.clone()),
            TaintWord::Kept => kept.push(row.policy.clone()),
            TaintWord::PendingRemove => leaving.push((row.policy.clone(), taint.at)),
            _ => {}
        }
    }
    if !stay.is_empty() {
        let policies = join(&stay);
        let matches = if stay.len() == 1 { "matches" } else { "match" };
        return (None, format!("stays while {policies} {matches}"));
    }
    if !kept.is_empty() {
        return (None, format!("stays: {} does nothing at present", join(&kept)));
    }
    let at = leaving.iter().filter_map(|(_, at)| *at).max();
    let policies: Vec<String> = leaving.into_iter().map(|(policy, _)| policy).collect();
    if policies.is_empty() {
        let policies: Vec<String> = entry.policies.keys().cloned().collect();
        return (None, format!("stays until {} is evaluated again", join(&policies)));
    }
    let matches = if policies.len() == 1 {
        "still does not match"
    } else {
        "still do not match"
    };
    let blocked = stopped.map(|why| format!("; but {why}")).unwrap_or_default();
    (at, format!("goes if {} {matches}{blocked}", join(&policies)))
}

fn theirs_goes(taint: &Taint, mode: Mode) -> String {
    let by = match taint.key.as_str() {
        key::UNSCHEDULABLE => "a person cordoned the cluster: it stays until it is uncordoned",
        key::DRAIN => "a person drains the cluster: it stays until it is undrained",
        key::NOT_READY | key::UNREACHABLE if taint.effect == effect::NO_SCHEDULE && mode == Mode::Beside => {
            "stock Karmada's: it goes when the cluster is Ready again"
        }
        _ => "not ours: it stays until whoever added it takes it away",
    };
    let unstamped =
        taint.time_added.is_none() && matches!(taint.effect.as_str(), effect::NO_EXECUTE | effect::PREFER_NO_EXECUTE);
    if unstamped {
        format!("{by}; without timeAdded, which controller clusterTaintPolicy stamps, it moves nothing")
    } else {
        by.to_owned()
    }
}

fn does(taint: &Taint) -> &'static str {
    match taint.effect.as_str() {
        effect::NO_SCHEDULE => "nothing new comes",
        effect::PREFER_NO_SCHEDULE => "other clusters are chosen first",
        effect::NO_EXECUTE => "nothing new comes; what does not tolerate it leaves",
        effect::PREFER_NO_EXECUTE => "what opted in leaves",
        _ => "nothing that is known here",
    }
}
