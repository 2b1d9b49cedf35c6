//! The answer in one sentence: what the policy does next, or why it does nothing. Pure.

use jiff::Timestamp;

use super::report::PolicyExplanation;
use crate::controllers::Severity;
use crate::explain::Conclusion;
use crate::explain::taints::{
    CALM_THE_REPORTER, PolicyOnCluster, TaintOfPolicy, TaintWord, but_restless, join, lead, number,
};
use crate::output::{At, relative};

/// Concludes: the first that applies of a policy for which nothing can be done, one that nobody carries out, one at
/// odds with another, and else what it does and is kept from, in numbers, with the first time.
pub(super) fn conclude(report: &PolicyExplanation, now: Timestamp) -> Conclusion {
    hopeless(report)
        .or_else(|| unattended(report, now))
        .or_else(|| conflicting(report))
        .unwrap_or_else(|| at_work(report, now))
}

fn hopeless(report: &PolicyExplanation) -> Option<Conclusion> {
    let name = &report.policy;
    let problem = |summary: String, change: &str| Some(Conclusion::new(Some(Severity::Problem), summary, change));
    if let Some(why) = &report.invalid {
        return problem(
            format!("nothing is done for {name}: {why}"),
            "correct the policy; failoverctl lint FILE says what is wrong with it",
        );
    }
    if report.clusters.is_empty() {
        let count = report.clusters_not_targeted.len();
        return problem(
            format!(
                "{name} does nothing: it speaks of {}, and none of the {} is one",
                report.target,
                number(count, "cluster")
            ),
            "correct its targetCluster, or the labels of the clusters",
        );
    }
    let everywhere: Vec<String> = report
        .condition_types
        .iter()
        .filter(|condition| condition.missing_on.len() == report.clusters.len())
        .map(|condition| condition.type_.clone())
        .collect();
    if everywhere.is_empty() {
        return None;
    }
    problem(
        format!(
            "{name} can never match: none of its {} has condition {}",
            number(report.clusters.len(), "cluster"),
            join(&everywhere)
        ),
        "check how the condition type is spelled, and whether its reporter runs",
    )
}

fn unattended(report: &PolicyExplanation, now: Timestamp) -> Option<Conclusion> {
    use TaintWord::{Due, Leaving, PendingAdd, PendingRemove};
    let moving = in_state(report, &[Due, PendingAdd, Leaving, PendingRemove]);
    let (row, taint, why) = moving
        .iter()
        .find_map(|(row, taint)| Some((row, taint, taint.held_by.as_ref()?)))?;
    let verb = match taint.state {
        Due | PendingAdd => "should get",
        _ => "should lose",
    };
    let summary = format!("{} {}, but {why}", lead(row, verb, taint), when(taint.at, now));
    Some(Conclusion::new(
        Some(Severity::Problem),
        summary,
        "start the taint-policy-controller",
    ))
}

fn conflicting(report: &PolicyExplanation) -> Option<Conclusion> {
    let (row, conflict) = report
        .clusters
        .iter()
        .find_map(|row| Some((row, row.conflict.as_ref()?)))?;
    Some(Conclusion::new(
        Some(Severity::Problem),
        format!(
            "{} is at odds with another policy about {}: {conflict}",
            report.policy, row.cluster
        ),
        "give both the same value, or another key to one of them",
    ))
}

fn at_work(report: &PolicyExplanation, now: Timestamp) -> Conclusion {
    use TaintWord::{Dismissed, Due, Foreign, GateOff, Kept, Leaving, PendingAdd, PendingRemove, Stands, Suspended};
    let matching = report.clusters.iter().filter(|row| row.matches).count();
    let all = report.clusters.len();
    let mut parts = vec![match (matching, all) {
        (0, 1) => format!("{} does not match its only cluster", report.policy),
        (_, 1) => format!("{} matches its only cluster", report.policy),
        (0, _) => format!("{} matches none of its {}", report.policy, number(all, "cluster")),
        (count, _) => format!("{} matches {count} of its {}", report.policy, number(all, "cluster")),
    }];
    let tainted = clusters(&in_state(report, &[Stands, Kept, PendingRemove, Leaving]));
    if !tainted.is_empty() {
        let have = if tainted.len() == 1 { "has" } else { "have" };
        parts.push(format!("{} {have} its taints", join(&tainted)));
    }
    if let Some((row, taint)) = in_state(report, &[PendingAdd, Due]).first() {
        let but = but_restless(row);
        parts.push(format!("{} {}{but}", lead(row, "gets", taint), when(taint.at, now)));
    }
    if let Some((row, taint)) = in_state(report, &[PendingRemove, Leaving]).first() {
        let but = but_restless(row);
        parts.push(format!("{} {}{but}", lead(row, "loses", taint), when(taint.at, now)));
    }
    let held = in_state(report, &[GateOff, Suspended, Kept, Dismissed, Foreign]);
    if let Some((row, taint)) = held.first() {
        let why = taint.held_by.clone().unwrap_or_default();
        parts.push(format!("on {} it is held: {why}", row.cluster));
    }
    let restless = report.clusters.iter().any(|row| row.restless.is_some());
    let severity = if restless {
        Some(Severity::Problem)
    } else {
        (!held.is_empty() || report.suspended).then_some(Severity::Note)
    };
    let change = match held.first().filter(|_| !restless).map(|(_, taint)| taint.state) {
        Some(GateOff) => {
            "to add it: --feature-gates=Failover=true for the taint-policy-controller (and the taint manager)"
        }
        Some(Suspended | Kept) => "to let the policy act: take spec.suspended away",
        Some(Dismissed) => "to have it back now, edit the policy or add the taint by hand",
        Some(Foreign) => "it stays when the policy stops matching: whoever added it takes it away",
        _ if restless => CALM_THE_REPORTER,
        _ if report.suspended => "it is suspended: to let it act, take spec.suspended away",
        _ => "",
    };
    Conclusion::new(severity, parts.join("; "), change)
}

fn in_state<'a>(report: &'a PolicyExplanation, states: &[TaintWord]) -> Vec<(&'a PolicyOnCluster, &'a TaintOfPolicy)> {
    let all = report
        .clusters
        .iter()
        .flat_map(|row| row.taints.iter().map(move |taint| (row, taint)));
    let mut found: Vec<_> = all.filter(|(_, taint)| states.contains(&taint.state)).collect();
    found.sort_by_key(|(_, taint)| taint.at);
    found
}

fn clusters(found: &[(&PolicyOnCluster, &TaintOfPolicy)]) -> Vec<String> {
    let mut names: Vec<String> = found.iter().map(|(row, _)| row.cluster.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn when(at: Option<At>, now: Timestamp) -> String {
    at.map_or_else(
        || "at a time that is not known".to_owned(),
        |at| format!("at {at} ({})", relative(at.0, now)),
    )
}
