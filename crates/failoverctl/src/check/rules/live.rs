//! What runs, once it is installed.

use api_types::taint_policy::{ClusterTaintPolicy, TaintEffect};
use jiff::Timestamp;

use crate::check::facts::{Facts, Stage};
use crate::check::verdict::Verdict;
use crate::controllers::{self, ControllerView, Mode, NotDone, Severity};
use crate::status::{by_second_owners, queue_not_done};
use crate::versions::Apart;

/// Leases by which a stock Karmada says that it runs.
const STOCK_LEASES: [&str; 2] = ["karmada-controller-manager", "karmada-scheduler"];
/// What stock does beside us, and ours would do too.
const STOCKS_JOBS: [&str; 9] = [
    "clusterStatus",
    "cluster",
    "detector",
    "dependencies",
    "binding",
    "execution",
    "workStatus",
    "bindingStatus",
    "namespace",
];

/// The controllers, or why nothing is said of them.
fn views(facts: &Facts) -> Result<Vec<ControllerView>, Verdict> {
    if facts.stage == Stage::BeforeInstall {
        return Err(Verdict::not_applicable("nothing of ours is installed yet"));
    }
    match &facts.leases {
        Ok(leases) => Ok(controllers::controllers(leases, facts.taken_for(), facts.now)),
        Err(why) => Err(Verdict::not_seen(why.as_str())),
    }
}

/// What `status` finds that is not done, of these subjects.
pub(super) fn not_done(facts: &Facts, wanted: impl Fn(&NotDone) -> bool) -> Result<Vec<NotDone>, Verdict> {
    let views = views(facts)?;
    let mut found = controllers::not_done(&views, &facts.system_namespace, facts.now);
    found.retain(wanted);
    Ok(found)
}

fn messages(found: &[NotDone]) -> Vec<String> {
    found.iter().map(|item| item.message.clone()).collect()
}

pub(super) fn controllers(facts: &Facts) -> Verdict {
    let found = match not_done(facts, |item| item.subject.starts_with("controller/")) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    if found.is_empty() {
        return Verdict::fine("every controller that is needed holds a fresh Lease");
    }
    Verdict::problem(
        format!("{} of the controllers that are needed do not run", found.len()),
        "look at their pods and logs on the host cluster; who is installed in half, install the rest",
    )
    .details(messages(&found))
}

pub(super) fn gates(facts: &Facts) -> Verdict {
    let found = match not_done(facts, |item| item.subject.starts_with("gate")) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    if found.iter().any(|item| item.severity == Severity::Problem) {
        return Verdict::problem(
            "the components do not agree about their gates, or do not say them",
            "give all components the same --feature-gates",
        )
        .details(messages(&found));
    }
    if !found.is_empty() {
        return Verdict::note("feature gate Failover is off: no cluster's failure moves a workload")
            .next("to switch it on: --feature-gates=Failover=true for all components");
    }
    match views(facts).map(|views| controllers::failover_gate(&views)) {
        Ok(None) => Verdict::not_seen("the taint manager does not say how it has its gates"),
        Ok(Some(_)) => Verdict::fine("feature gate Failover is on, and the components agree"),
        Err(verdict) => verdict,
    }
}

pub(super) fn versions(facts: &Facts) -> Verdict {
    let views = match views(facts) {
        Ok(views) => views,
        Err(verdict) => return verdict,
    };
    let mut versions = controllers::versions(&views);
    if versions.apart() == Apart::NotSaid {
        return Verdict::not_seen("no controller that runs says its version");
    }
    let ours = controller_kit::VERSION.split_whitespace().next().unwrap_or_default();
    versions.add("failoverctl", ours);
    let details = versions.each().map(|(version, names)| format!("{version}: {names}"));
    let details: Vec<String> = details.collect();
    match versions.apart() {
        Apart::NotSaid | Apart::NotAtAll => Verdict::fine(format!("all are of {ours}")),
        Apart::OneMinor => {
            Verdict::note("versions differ, and work together: at most one minor version lies between them")
                .details(details)
                .next("finish the upgrade")
        }
        Apart::TooFar => Verdict::problem(
            "versions differ by more than one minor version, or are not known to work together",
            "upgrade the older ones, one minor version at a time",
        )
        .details(details),
    }
}

pub(super) fn caches(facts: &Facts) -> Verdict {
    let found = match not_done(facts, |item| item.subject.starts_with("process/")) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    if found.is_empty() {
        return Verdict::fine("no process says that it is disturbed");
    }
    Verdict::note("what some processes know or do may be late")
        .details(messages(&found))
        .next("look at the API server's load and at the network; docs/weather.md says what each word means")
}

pub(super) fn queue(facts: &Facts) -> Verdict {
    let views = match views(facts) {
        Ok(views) => views,
        Err(verdict) => return verdict,
    };
    let status = match &facts.queue {
        Ok(status) => status,
        // Its address is one of the host cluster's network: from here no way has to lead there.
        Err(why)
            if facts.taken_for() == Mode::Beside
                && !facts.way_to_queue_named
                && controllers::is_running(&views, "evictionQueue") =>
        {
            return Verdict::not_seen(format!("it holds a fresh Lease, and is not asked from here: {why}"))
                .next("name the cluster that runs it with --host-kubeconfig, or give --queue-address");
        }
        Err(why) => {
            return Verdict::problem(
                why.as_str(),
                "start it, or make it reachable from here: --host-kubeconfig for a port-forward, or --queue-address",
            );
        }
    };
    let found = queue_not_done(status, facts.now);
    if found.is_empty() {
        return Verdict::fine(format!("it answers, {} connected", evictors(status.consumers)));
    }
    let details = messages(&found);
    if found.iter().any(|item| item.severity == Severity::Problem) {
        return Verdict::problem("it does not do its work", "see why: failoverctl status").details(details);
    }
    Verdict::note("it does less than it could")
        .details(details)
        .next("see why: failoverctl status")
}

fn evictors(count: u32) -> String {
    if count == 1 {
        "1 evictor is".to_owned()
    } else {
        format!("{count} evictors are")
    }
}

pub(super) fn policies(facts: &Facts) -> Verdict {
    if facts.stage == Stage::BeforeInstall {
        return Verdict::not_applicable("nothing of ours is installed yet");
    }
    let policies = match &facts.policies {
        Ok(policies) => policies,
        Err(why) => return Verdict::not_seen(why),
    };
    let moving: Vec<&str> = policies
        .iter()
        .filter(|policy| moves(policy))
        .filter_map(|policy| policy.metadata.name.as_deref())
        .collect();
    if moving.is_empty() {
        return Verdict::note("no ClusterTaintPolicy adds a NoExecute or PreferNoExecute taint: a failed cluster is left by nothing")
            .next("there are samples: values policies.notReadyNoExecute and notReadyPreferNoExecute of the chart control-plane");
    }
    Verdict::fine(format!("workloads leave a failed cluster by {}", moving.join(", ")))
}

fn moves(policy: &ClusterTaintPolicy) -> bool {
    let spec = &policy.spec;
    let windowed = spec.taints_to_add.iter().map(|taint| &taint.effect);
    let plain = spec.taints.iter().map(|taint| &taint.effect);
    let evicts = |effect: &TaintEffect| matches!(effect, TaintEffect::NoExecute | TaintEffect::PreferNoExecute);
    !spec.suspended && windowed.chain(plain).any(evicts)
}

pub(super) fn second_owner(facts: &Facts) -> Verdict {
    let leases = match &facts.leases {
        Ok(leases) => leases,
        Err(why) => return Verdict::not_seen(why),
    };
    let views = controllers::controllers(leases, facts.taken_for(), facts.now);
    let runs = |name: &str| controllers::is_running(&views, name);
    let mut found = Vec::new();
    if facts.taken_for() == Mode::Standalone {
        let stock = controllers::held(leases, &STOCK_LEASES, facts.now);
        found.extend(stock.into_iter().map(|holder| {
            format!("{holder} runs here, and this control plane is taken for standalone: both do everything")
        }));
    }
    if facts.taken_for() == Mode::Beside {
        let twice = STOCKS_JOBS.iter().filter(|name| runs(name));
        found.extend(twice.map(|name| format!("controller {name} of ours runs, and stock does the same")));
    }
    let held = facts.queue.as_ref().ok().and_then(by_second_owners);
    found.extend(held.map(|entries| {
        format!(
            "the queue holds evictions because of one that was seen ({entries}): failoverctl queue list --state held says where, and \
             what it did"
        )
    }));
    match (&facts.stock_events, facts.stage) {
        (Ok(events), Stage::Installed) => {
            let began = started(facts);
            for event in events
                .iter()
                .filter(|event| began.is_some_and(|began| event.at > began))
            {
                found.push(format!(
                    "stock's {} told something of {} at {}",
                    event.source, event.about, event.at
                ));
            }
        }
        (Err(why), Stage::Installed) if found.is_empty() => return Verdict::not_seen(why),
        _ => {}
    }
    if found.is_empty() {
        return Verdict::fine("nobody else is seen at our work");
    }
    Verdict::problem(
        "some work has two owners",
        "switch one of the two off: the checks stock-… say which of stock's, mode in the charts' values which of ours",
    )
    .details(found)
}

/// When the last of ours took over: what stock told before that is no sign of a second owner.
fn started(facts: &Facts) -> Option<Timestamp> {
    let ours = |lease: &&k8s_openapi::api::coordination::v1::Lease| {
        let annotations = lease.metadata.annotations.as_ref();
        annotations.is_some_and(|all| all.contains_key(controller_kit::leader::CONTROLLERS_ANNOTATION))
    };
    let leases = facts.leases.iter().flatten().filter(ours);
    leases
        .filter_map(|lease| Some(lease.spec.as_ref()?.acquire_time.as_ref()?.0))
        .max()
}
