//! What the engine says about one policy on one cluster: rendered to status, metrics, events and command line.

use api_types::cluster::Cluster;
use api_types::taint_policy::PolicyClusterState;
use jiff::Timestamp;

use super::conditions::{describe, missing};
use super::forecast::{dismissal_over, frozen};
use super::form::{Form, PolicyTaint, Rule};
use super::input::Input;
use super::records::Window;
use super::restless::{lasting, restless, shown_since};
use super::times::whole_second_up;
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

impl Notice {
    /// Reason of the Warning that somebody else wrote or removed what says which taints are ours.
    pub const RECORD_LOST: &'static str = "TaintRecordLost";
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
    /// Since when the policy matches, or does not any more; by the wall clock. Of a window that starts anew again and
    /// again, since when it would run.
    pub since: Option<Timestamp>,
    /// When the next window ends; by the wall clock. Absent while it starts anew again and again.
    pub fires_at: Option<Timestamp>,
    /// A sentence with the conditions behind it. Holds no running time, so that it stays while nothing changes.
    pub message: String,
    /// Condition types that the cluster does not have.
    pub missing: Missing,
    /// The policies that want another value for the same taint, in words.
    pub conflict: Option<String>,
    /// Whether the Failover gate alone keeps a taint away now.
    pub held_by_gate: bool,
    /// Whether a person took a taint of the policy back.
    pub dismissed: bool,
    /// What keeps the window that runs from ending, in words.
    pub restless: Option<String>,
    /// Taints that the policy wants and that stand already, but are not ours.
    pub foreign: Vec<String>,
}

/// The conditions behind a policy's state, in words.
pub(super) fn conditions_text(form: &Form<'_>, cluster: &Cluster) -> String {
    match form.rule {
        Rule::Matching(wanted) => describe(wanted.iter(), cluster),
        Rule::Latched { add, remove } | Rule::Until { add, remove } => describe(add.iter().chain(remove), cluster),
    }
}

/// Renders what a policy wants of each of its taints.
pub(super) fn render(
    form: &Form<'_>,
    input: Input<'_>,
    window: &Window,
    wants: &[(&PolicyTaint, Want)],
    foreign: Vec<String>,
    conflict: Option<String>,
) -> Report {
    let cluster = input.cluster;
    let has = |wanted: fn(&Want) -> bool| wants.iter().any(|(_, want)| wanted(want));
    let tainted = wants
        .iter()
        .any(|(t, want)| want.is_wanted() && !foreign.contains(&t.id.to_string()));
    let dismissed = has(|want| *want == Want::Dismissed);
    let restless = restless(window);
    let (state, fires_at) = state(wants, tainted);
    let quiet = state.is_none() && !window.matching;
    Report {
        policy_uid: form.uid.to_owned(),
        matching: window.matching,
        tainted,
        state,
        since: (!quiet).then(|| shown_since(window)),
        fires_at: fires_at.filter(|_| restless.is_none()),
        message: if quiet {
            String::new()
        } else {
            message(form, cluster, window, wants, &foreign)
        },
        missing: match form.rule {
            Rule::Matching(wanted) => missing(wanted.iter(), cluster),
            Rule::Latched { add, remove } | Rule::Until { add, remove } => missing(add.iter().chain(remove), cluster),
        },
        conflict,
        held_by_gate: wants
            .iter()
            .any(|(_, want)| matches!(want, Want::HeldByGate(at) if *at <= input.now)),
        dismissed,
        restless,
        foreign,
    }
}

/// The state to show and when it changes. What a switch keeps away is shown as pending, without a time: it does not
/// come by time alone.
fn state(wants: &[(&PolicyTaint, Want)], tainted: bool) -> (Option<PolicyClusterState>, Option<Timestamp>) {
    let earliest = |pick: fn(&Want) -> Option<Timestamp>| wants.iter().filter_map(|(_, want)| pick(want)).min();
    let has = |wanted: fn(&Want) -> bool| wants.iter().any(|(_, want)| wanted(want));
    let removes_at = earliest(|want| match want {
        Want::RemoveAt(at) => Some(*at),
        _ => None,
    });
    let adds_at = earliest(|want| match want {
        Want::AddAt(at) => Some(*at),
        _ => None,
    });
    if removes_at.is_some() {
        (Some(PolicyClusterState::PendingRemove), removes_at)
    } else if adds_at.is_some() {
        (Some(PolicyClusterState::PendingAdd), adds_at)
    } else if has(|want| *want == Want::Dismissed) {
        (Some(PolicyClusterState::Dismissed), None)
    } else if tainted {
        (Some(PolicyClusterState::Tainted), None)
    } else if has(|want| matches!(want, Want::HeldByGate(_) | Want::FrozenWithout(_))) {
        (Some(PolicyClusterState::PendingAdd), None)
    } else {
        (None, None)
    }
}

/// What matches, what follows from it and when, and what keeps it from following.
fn message(
    form: &Form<'_>,
    cluster: &Cluster,
    window: &Window,
    wants: &[(&PolicyTaint, Want)],
    foreign: &[String],
) -> String {
    let restless = lasting(window);
    let when = |at: &Timestamp| match &restless {
        Some(_) => "once its window has ended".to_owned(),
        None => format!("at {}", whole_second_up(*at)),
    };
    let mut parts = vec![conditions_text(form, cluster)];
    for (taint, want) in wants {
        let id = &taint.id;
        let is_foreign = foreign.contains(&id.to_string());
        parts.extend(match want {
            Want::Have | Want::RemoveAt(_) | Want::FrozenWith if is_foreign => Some(format!(
                "{id} stands already and is not ours: it stays when the policy stops matching"
            )),
            Want::Nothing | Want::Have | Want::Remove => None,
            Want::AddAt(at) => Some(format!("{id} is added {}", when(at))),
            Want::RemoveAt(at) => Some(format!("{id} is removed {} unless another policy wants it", when(at))),
            Want::Dismissed => Some(format!(
                "{id} was taken back by hand and is not added again until the policy {}",
                dismissal_over(form, taint)
            )),
            Want::HeldByGate(at) => Some(format!(
                "{id} is not added at {}: feature gate Failover is off",
                whole_second_up(*at)
            )),
            Want::FrozenWith => Some(format!("{id} stays: the policy {}", frozen(form))),
            Want::FrozenWithout(at) => Some(format!(
                "{id} is not added at {}: the policy {}",
                whole_second_up(*at),
                frozen(form)
            )),
        });
    }
    parts.extend(restless.as_ref().map(|why| format!("but {why}")));
    parts.join("; ")
}
