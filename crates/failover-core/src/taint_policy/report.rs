//! What the engine says about one policy on one cluster: rendered to status, metrics, events and command line.

use api_types::cluster::Cluster;
use api_types::taint_policy::PolicyClusterState;
use jiff::Timestamp;

use super::conditions::{describe, missing};
use super::form::{Form, PolicyTaint, Rule};
use super::records::Window;
use super::wanted::Want;

/// Condition types of a policy that a cluster does not have.
pub type Missing = Vec<String>;

/// Something to tell as an event on the Cluster, once it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Reason of the event.
    pub reason: &'static str,
    /// Whether a person should look.
    pub is_warning: bool,
    /// A sentence.
    pub text: String,
}

/// Where one targeted cluster stands with one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// UID of the policy.
    pub policy_uid: String,
    /// Whether the conditions match now (in stock's form: latched).
    pub matching: bool,
    /// Whether the cluster carries, or is getting right now, a taint of this policy.
    pub tainted: bool,
    /// The state to show; absent when the cluster is quiet.
    pub state: Option<PolicyClusterState>,
    /// Since when the policy matches, or does not any more.
    pub since: Option<Timestamp>,
    /// When the next window ends.
    pub fires_at: Option<Timestamp>,
    /// A sentence with the conditions behind it. Holds no running time, so that it stays while nothing changes.
    pub message: String,
    /// Condition types that the cluster does not have.
    pub missing: Missing,
    /// The policies that want another value for the same taint, in words.
    pub conflict: Option<String>,
    /// Whether the Failover gate alone keeps a taint away.
    pub held_by_gate: bool,
}

/// The conditions behind a policy's state, in words.
pub(super) fn conditions_text(form: &Form<'_>, cluster: &Cluster) -> String {
    match form.rule {
        Rule::Matching(wanted) => describe(wanted.iter(), cluster),
        Rule::Latched { add, remove } => describe(add.iter().chain(remove), cluster),
    }
}

/// Renders what a policy wants of each of its taints.
pub(super) fn render(
    form: &Form<'_>,
    cluster: &Cluster,
    window: &Window,
    wants: &[(&PolicyTaint, Want)],
    foreign: &[String],
    conflict: Option<String>,
) -> Report {
    let earliest = |pick: fn(&Want) -> Option<Timestamp>| wants.iter().filter_map(|(_, want)| pick(want)).min();
    let adds_at = earliest(|want| match want {
        Want::AddAt(at) => Some(*at),
        _ => None,
    });
    let removes_at = earliest(|want| match want {
        Want::RemoveAt(at) => Some(*at),
        _ => None,
    });
    let has = |wanted: fn(&Want) -> bool| wants.iter().any(|(_, want)| wanted(want));
    let tainted = wants
        .iter()
        .any(|(t, want)| want.is_wanted() && !foreign.contains(&t.id.to_string()));
    let dismissed = has(|want| *want == Want::Dismissed);
    let held_by_gate = has(|want| *want == Want::HeldByGate);
    let (state, fires_at) = if removes_at.is_some() {
        (Some(PolicyClusterState::PendingRemove), removes_at)
    } else if adds_at.is_some() {
        (Some(PolicyClusterState::PendingAdd), adds_at)
    } else if dismissed {
        (Some(PolicyClusterState::Dismissed), None)
    } else if tainted {
        (Some(PolicyClusterState::Tainted), None)
    } else {
        (None, None)
    };
    let names = |wanted: fn(&Want) -> bool| -> String {
        let ids: Vec<String> = wants
            .iter()
            .filter(|(_, w)| wanted(w))
            .map(|(t, _)| t.id.to_string())
            .collect();
        ids.join(", ")
    };
    let mut parts = vec![conditions_text(form, cluster)];
    if form.suspended && window.matching {
        parts.push("the policy is suspended and does nothing".to_owned());
    }
    if dismissed {
        parts.push(format!(
            "{} was taken back by hand and is not added again until the policy has stopped matching or is edited",
            names(|want| *want == Want::Dismissed)
        ));
    }
    if held_by_gate {
        parts.push(format!(
            "{} is not added: feature gate Failover is off",
            names(|want| *want == Want::HeldByGate)
        ));
    }
    if !foreign.is_empty() {
        parts.push(format!(
            "{} stands already and is not ours: it stays when the policy stops matching",
            foreign.join(", ")
        ));
    }
    let quiet = state.is_none() && !window.matching;
    Report {
        policy_uid: form.uid.to_owned(),
        matching: window.matching,
        tainted,
        state,
        since: (!quiet).then_some(window.since),
        fires_at,
        message: if quiet { String::new() } else { parts.join("; ") },
        missing: match form.rule {
            Rule::Matching(wanted) => missing(wanted.iter(), cluster),
            Rule::Latched { add, remove } => missing(add.iter().chain(remove), cluster),
        },
        conflict,
        held_by_gate,
    }
}
