//! What a stock Karmada beside ours has to do, and to leave.

use crate::check::facts::{Facts, Trial};
use crate::check::stock::{Deployed, Program, Stock};
use crate::check::verdict::Verdict;
use crate::controllers::Mode;

/// Minor versions of v1 that are supported.
const SUPPORTED: std::ops::RangeInclusive<u32> = 16..=19;

/// What stock's controller manager has to go on doing, and what is not done without it.
const DUTIES: [(&str, &str); 8] = [
    ("cluster", "Clusters are not tainted NoSchedule, and not removed"),
    (
        "clusterStatus",
        "no member is looked at: one that fails or recovers goes unnoticed",
    ),
    ("binding", "no Work is made or removed: nothing moves"),
    ("execution", "nothing is applied to or removed from members"),
    ("workStatus", "no status is collected: no old copy may go"),
    (
        "bindingStatus",
        "no binding shows the health of its copies: no old copy may go",
    ),
    ("namespace", "no namespace is made in the members"),
    ("unifiedAuth", "impersonation is not set up in the members"),
];

/// What differs there, whatever is switched on.
const STAYS: [&str; 6] = [
    "blockPredecessorSeconds beyond the life of an eviction task needs our scheduler (by schedulerName)",
    "labels of preserved state need stock's gate StatefulFailoverInjection, one target and purge mode Directly; they are lost where \
     a Directly task had to be turned into Gracefully",
    "after a cluster's return the deletion of an old copy waits for stock's back-off, up to 17 minutes",
    "deleting a Cluster places its workloads anew at once, whatever the rate",
    "spec.suspended of a ClusterTaintPolicy is dropped: a policy acts as soon as it is stored; failoverctl plan --policy tries it out, \
     failoverctl pause holds back what it would move",
    "what tolerates every taint also tolerates the companion taint failover.karmada.io/prefer-no-execute: failoverctl lint names it",
];

fn here(facts: &Facts) -> Result<&Stock, Verdict> {
    if facts.taken_for() == Mode::Standalone {
        return Err(Verdict::not_applicable("no stock Karmada here"));
    }
    match &facts.stock {
        Ok(stock) => Ok(stock),
        Err(why) => Err(Verdict::not_seen(why.as_str())),
    }
}

fn program(facts: &Facts, program: Program) -> Result<&Deployed, Verdict> {
    let stock = here(facts)?;
    stock.program(program).ok_or_else(|| {
        Verdict::not_seen(format!("no Deployment of {program} is there"))
            .next("give the namespace of the stock Karmada with --host-namespace")
    })
}

/// A check of one program's arguments.
fn of(facts: &Facts, wanted: Program, rule: impl Fn(&Deployed) -> Verdict) -> Verdict {
    match program(facts, wanted) {
        Ok(deployed) => rule(deployed),
        Err(verdict) => verdict,
    }
}

pub(super) fn version(facts: &Facts) -> Verdict {
    let stock = match here(facts) {
        Ok(stock) => stock,
        Err(verdict) => return verdict,
    };
    let (mut good, mut bad, mut unsaid) = (Vec::new(), Vec::new(), Vec::new());
    for (program, deployed) in stock.programs() {
        let tag = deployed.tag.as_deref().unwrap_or("no tag");
        let line = format!("{program} is {tag} ({})", deployed.deployment);
        match deployed.version() {
            Some((1, minor)) if SUPPORTED.contains(&minor) => good.push(line),
            Some(_) => bad.push(line),
            None => unsaid.push(line),
        }
    }
    match (&bad[..], &good[..], &unsaid[..]) {
        ([], [], []) => Verdict::not_seen("no Deployment of a stock Karmada is there")
            .next("give its namespace with --host-namespace"),
        ([], _, []) => Verdict::fine("all are of v1.16 to v1.19").details(good),
        ([], _, _) => Verdict::not_seen("the tags of its images say no version")
            .details(unsaid)
            .next("make sure that it is of v1.16 to v1.19"),
        _ => Verdict::problem(
            "it is of a version that is not supported: supported are v1.16 to v1.19",
            "bring the stock Karmada to one of them before you install ours beside it",
        )
        .details(bad),
    }
}

pub(super) fn failover(facts: &Facts) -> Verdict {
    of(facts, Program::ControllerManager, |manager| {
        if manager.gate("Failover") == Some(true) {
            return Verdict::problem(
                "feature gate Failover of karmada-controller-manager is on: its taint manager and its ClusterTaintPolicies run",
                format!(
                    "take Failover=true out of --feature-gates of Deployment {} on the host cluster",
                    manager.deployment
                ),
            );
        }
        Verdict::fine("feature gate Failover of karmada-controller-manager is off")
    })
}

fn off(facts: &Facts, controller: &str) -> Verdict {
    of(facts, Program::ControllerManager, |manager| {
        if manager.list_has("controllers", controller) {
            return Verdict::problem(
                format!("controller {controller} of karmada-controller-manager is on"),
                format!(
                    "give Deployment {} on the host cluster --controllers=*,-gracefulEviction,-applicationFailover",
                    manager.deployment
                ),
            );
        }
        Verdict::fine(format!("controller {controller} of karmada-controller-manager is off"))
    })
}

pub(super) fn graceful_eviction(facts: &Facts) -> Verdict {
    off(facts, "gracefulEviction")
}

pub(super) fn application_failover(facts: &Facts) -> Verdict {
    off(facts, "applicationFailover")
}

pub(super) fn duties(facts: &Facts) -> Verdict {
    let stock = match here(facts) {
        Ok(stock) => stock,
        Err(verdict) => return verdict,
    };
    let mut undone = Vec::new();
    for (program, deployed) in stock.programs().filter(|(_, deployed)| deployed.replicas < 1) {
        undone.push(format!("{program}: Deployment {} has no replicas", deployed.deployment));
    }
    let Some(manager) = stock.program(Program::ControllerManager) else {
        return Verdict::not_seen("no Deployment of karmada-controller-manager is there")
            .next("give the namespace of the stock Karmada with --host-namespace");
    };
    let is_off = |(controller, _): &&(&str, &str)| !manager.list_has("controllers", controller);
    undone.extend(
        DUTIES
            .iter()
            .filter(is_off)
            .map(|(controller, undone)| format!("controller {controller} is off: {undone}")),
    );
    let webhook = stock.program(Program::Webhook);
    let refuses = webhook.is_some_and(|webhook| webhook.switch("allow-no-execute-taint-policy") != Some(true));
    // A trial shows it better.
    if refuses && facts.no_execute_policy != Ok(Trial::Taken) {
        undone.push(
            "karmada-webhook has no --allow-no-execute-taint-policy=true: NoExecute policies are refused".to_owned(),
        );
    }
    let unseen: Vec<&str> = [Program::Scheduler, Program::Webhook]
        .into_iter()
        .filter(|wanted| stock.program(*wanted).is_none())
        .map(Program::name)
        .collect();
    if undone.is_empty() && !unseen.is_empty() {
        return Verdict::not_seen(format!(
            "what karmada-controller-manager has to do is on; no Deployment of {} is there",
            unseen.join(" and ")
        ))
        .next("give the namespace of the stock Karmada with --host-namespace");
    }
    if undone.is_empty() {
        return Verdict::fine("status, scheduling, propagation and admission are stock's");
    }
    Verdict::problem(
        "ours rest on what stock does not do",
        "switch it on again in stock's Deployments on the host cluster",
    )
    .details(undone)
}

pub(super) fn scheduler(facts: &Facts) -> Verdict {
    of(facts, Program::Scheduler, |scheduler| {
        if scheduler.list_has("plugins", "ClusterEviction") {
            return Verdict::fine("plugin ClusterEviction of karmada-scheduler is on");
        }
        Verdict::problem(
            "plugin ClusterEviction of karmada-scheduler is off: a workload may be placed back at once on the cluster that it leaves",
            format!(
                "take -ClusterEviction out of --plugins of Deployment {} on the host cluster",
                scheduler.deployment
            ),
        )
    })
}

pub(super) fn stays(facts: &Facts) -> Verdict {
    if facts.taken_for() != Mode::Beside {
        return Verdict::not_applicable("no stock Karmada here");
    }
    let mut details: Vec<String> = STAYS.iter().map(|&line| line.to_owned()).collect();
    let manager = facts
        .stock
        .as_ref()
        .ok()
        .and_then(|stock| stock.program(Program::ControllerManager));
    match manager.map(|manager| manager.gate("StatefulFailoverInjection")) {
        Some(Some(true)) => details.push("gate StatefulFailoverInjection of stock is on".to_owned()),
        Some(_) => details.push("gate StatefulFailoverInjection of stock is off: no state is preserved".to_owned()),
        None => {}
    }
    Verdict::note("some things stay as stock does them").details(details)
}
