//! A policy's status from the reports of all clusters. A projection: it says nothing that is not on the Clusters.

use std::collections::BTreeMap;

use api_types::conditions::{self, Say};
use api_types::taint_policy::{ClusterTaintPolicy, ClusterTaintPolicyStatus, PolicyClusterStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::form::Form;
use super::input::FailoverGate;
use super::report::Report;
use super::times::{whole_second, whole_second_up};

/// How many clusters `status.clusters` names at most; the rest is counted.
const MOST_CLUSTERS: usize = 500;

/// Condition types of a policy.
pub mod condition {
    /// Whether the policy does what it says.
    pub const READY: &str = "Ready";
    /// Whether another policy wants another value for the same taint of a cluster.
    pub const CONFLICTING: &str = "Conflicting";
    /// Whether it is suspended.
    pub const SUSPENDED: &str = "Suspended";
}

/// The status that `policy` is to have. `reports` are those of all Clusters it targets, by name, in any order.
#[must_use]
pub fn of_policy(
    policy: &ClusterTaintPolicy,
    reports: &[(&str, &Report)],
    gate: FailoverGate,
    now: Timestamp,
) -> ClusterTaintPolicyStatus {
    let mut reports = reports.to_vec();
    reports.sort_by_key(|(name, _)| *name);
    let reports = &reports[..];
    let form = Form::read(policy);
    let generation = policy.metadata.generation;
    let mut conditions = policy.status.as_ref().map(|s| s.conditions.clone()).unwrap_or_default();
    let (status, reason, message) = ready(&form, reports, gate);
    let say = Say {
        type_: condition::READY,
        status,
        reason,
        message: &message,
    };
    conditions::set(&mut conditions, say, generation, now);

    let conflicts: Vec<String> = reports
        .iter()
        .filter_map(|(name, r)| r.conflict.as_ref().map(|c| format!("{name}: {c}")))
        .collect();
    let message = match &conflicts[..] {
        [] => "no other policy wants another value".to_owned(),
        [only] => only.clone(),
        [first, rest @ ..] => format!(
            "{first}; and on {} more {}",
            rest.len(),
            if rest.len() == 1 { "cluster" } else { "clusters" }
        ),
    };
    let (status, reason) = if conflicts.is_empty() {
        ("False", "NoConflict")
    } else {
        ("True", "DifferentValues")
    };
    let say = Say {
        type_: condition::CONFLICTING,
        status,
        reason,
        message: &message,
    };
    conditions::set(&mut conditions, say, generation, now);

    let (status, reason, message) = if form.suspended {
        (
            "True",
            "Suspended",
            "spec.suspended is set: conditions are evaluated, taints are neither added nor removed",
        )
    } else {
        ("False", "Active", "taints are added and removed")
    };
    conditions::set(
        &mut conditions,
        Say {
            type_: condition::SUSPENDED,
            status,
            reason,
            message,
        },
        generation,
        now,
    );

    let count = |counts: fn(&Report) -> bool| {
        i32::try_from(reports.iter().filter(|(_, report)| counts(report)).count()).unwrap_or(i32::MAX)
    };
    let mut clusters: Vec<PolicyClusterStatus> = reports
        .iter()
        .filter_map(|(name, report)| {
            Some(PolicyClusterStatus {
                name: (*name).to_owned(),
                state: report.state.clone()?,
                since: report.since.map(whole_second).map(Time),
                fires_at: report.fires_at.map(whole_second_up).map(Time),
                message: report.message.chars().take(1024).collect(),
            })
        })
        .collect();
    let omitted = clusters.len().saturating_sub(MOST_CLUSTERS);
    clusters.truncate(MOST_CLUSTERS);
    ClusterTaintPolicyStatus {
        observed_generation: generation,
        conditions,
        target_clusters: count(|_| true),
        matching: count(|r| r.matching),
        tainted: count(|r| r.tainted),
        pending: count(|r| r.fires_at.is_some() || r.restless.is_some()),
        next_change_at: next_change(reports),
        clusters,
        clusters_omitted: i32::try_from(omitted).unwrap_or(i32::MAX),
    }
}

/// The gravest thing decides status and reason; the message names all of them.
fn ready(form: &Form<'_>, reports: &[(&str, &Report)], gate: FailoverGate) -> (&'static str, &'static str, String) {
    if let Some(why) = &form.invalid {
        return ("False", "Invalid", format!("{why}; nothing is added or removed"));
    }
    let mut told: Vec<(&'static str, &'static str, String)> = Vec::new();
    let moves = form.taints.iter().any(super::form::PolicyTaint::moves_workloads);
    if gate == FailoverGate::Disabled && moves {
        let held = reports.iter().filter(|(_, report)| report.held_by_gate).count();
        let message = format!(
            "feature gate Failover is off: NoExecute and PreferNoExecute taints are not added ({held} clusters would have one now); \
             start the taint-policy-controller with --feature-gates=Failover=true to change that"
        );
        told.push(("False", "FailoverGateOff", message));
    }
    let about = |status, reason, lead: &str, names: fn(&str, &Report) -> Option<String>| {
        let named: Vec<String> = reports
            .iter()
            .filter_map(|(name, report)| names(name, report))
            .collect();
        (!named.is_empty()).then(|| (status, reason, format!("{lead}: {}", some_names(&named))))
    };
    told.extend(about(
        "False",
        "WindowsStartAnew",
        "windows start anew again and again, because lastTransitionTime of a condition moves without another status: nothing \
         is added or removed until its writer leaves the time alone while the status stays",
        |name, report| report.restless.is_some().then(|| name.to_owned()),
    ));
    told.extend(about(
        "True",
        "Dismissed",
        "taken back by hand, and not added again until the policy has stopped matching or is edited",
        |name, report| report.dismissed.then(|| name.to_owned()),
    ));
    told.extend(about(
        "True",
        "ForeignTaint",
        "somebody else's taint stands already, and stays when the policy stops matching",
        |name, report| (!report.foreign.is_empty()).then(|| format!("{} on {name}", report.foreign.join(" and "))),
    ));
    told.extend(missing(reports).map(|message| ("True", "ConditionsMissing", message)));
    match &told[..] {
        [] => ("True", "Evaluated", "evaluated on every targeted cluster".to_owned()),
        [(status, reason, _), ..] => {
            let messages: Vec<&str> = told.iter().map(|(.., message)| message.as_str()).collect();
            (status, reason, messages.join("; "))
        }
    }
}

/// `3 of 5 clusters lack condition Disk: …`
fn missing(reports: &[(&str, &Report)]) -> Option<String> {
    let mut lacking: BTreeMap<&str, usize> = BTreeMap::new();
    for type_ in reports.iter().flat_map(|(_, report)| &report.missing) {
        *lacking.entry(type_).or_default() += 1;
    }
    let counts: Vec<String> = lacking
        .into_iter()
        .map(|(type_, count)| format!("{count} of {} clusters lack condition {type_}", reports.len()))
        .collect();
    (!counts.is_empty()).then(|| format!("{}: a cluster without the condition never matches", counts.join(", ")))
}

/// `m1, m2`; of many the first ones and how many more.
fn some_names(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The earliest end of a running window.
fn next_change(reports: &[(&str, &Report)]) -> Option<Time> {
    let times = reports.iter().filter_map(|(_, report)| report.fires_at);
    times.min().map(whole_second_up).map(Time)
}
