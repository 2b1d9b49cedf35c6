//! Which controllers run, read off their Leases, and what is not done because one does not. Pure.
//!
//! A Lease counts by the clock of this machine: a holder that renewed it within the duration that it states runs.

use std::collections::{BTreeMap, BTreeSet};

use api_types::policy::PurgeMode;
use controller_kit::leader::{CONTROLLERS_ANNOTATION, GATES_ANNOTATION, NoGates, lease_name, said};
use controller_kit::{FeatureGates, Gate, Mode as MeantMode};
use failover_core::eviction::{DeletedClusters, FailoverGate, Switches};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use scheduler_filters::DeletionBy;
use serde::Serialize;

use crate::output::{At, relative};
use crate::versions::{Apart, Versions};

/// Duration of a Lease that states none.
const DEFAULT_LEASE_SECONDS: i32 = 15;

/// Whose control plane it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// All components are ours.
    Standalone,
    /// A stock Karmada schedules, propagates and watches the members.
    Beside,
    /// We may not ask.
    Unknown,
}

/// Where a controller of ours is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needed {
    /// Everywhere.
    Always,
    /// Where there is no stock Karmada that does it.
    Standalone,
}

/// What is left undone without a controller.
struct Duty {
    controller: &'static str,
    needed: Needed,
    undone: &'static str,
}

const fn duty(controller: &'static str, needed: Needed, undone: &'static str) -> Duty {
    Duty {
        controller,
        needed,
        undone,
    }
}

/// In the order of the pipeline.
const DUTIES: [Duty; 16] = [
    duty(
        "clusterStatus",
        Needed::Standalone,
        "no push member is probed: one that fails or recovers goes unnoticed",
    ),
    duty(
        "cluster",
        Needed::Standalone,
        "Clusters whose reporter is silent are not set to Unknown",
    ),
    duty(
        "clusterTaintPolicy",
        Needed::Always,
        "no ClusterTaintPolicy adds or removes a taint",
    ),
    duty(
        "taintManager",
        Needed::Always,
        "no taint puts a workload into the eviction queue",
    ),
    duty(
        "applicationFailover",
        Needed::Always,
        "no application that fails on a healthy cluster leaves it",
    ),
    duty(
        "evictionQueue",
        Needed::Always,
        "nothing is queued or released for eviction",
    ),
    duty("evictor", Needed::Always, "nothing is evicted"),
    duty("scheduler", Needed::Standalone, "no workload gets a new place"),
    duty(
        "gracefulEviction",
        Needed::Always,
        "no old copy is removed after a move, and nothing is restored",
    ),
    duty(
        "detector",
        Needed::Standalone,
        "no policy reaches a workload: bindings are not made or changed",
    ),
    duty(
        "dependencies",
        Needed::Standalone,
        "nothing that a workload needs goes where it goes, such as its ConfigMaps",
    ),
    duty("binding", Needed::Standalone, "no Work is made, changed or removed"),
    duty(
        "execution",
        Needed::Standalone,
        "nothing is applied to or removed from push members",
    ),
    duty(
        "workStatus",
        Needed::Standalone,
        "no status is collected from push members",
    ),
    duty(
        "bindingStatus",
        Needed::Standalone,
        "no binding shows the status of its copies, so no old copy may go",
    ),
    duty("namespace", Needed::Standalone, "no namespace is made in the members"),
];

/// Whether somebody does a controller's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Running {
    /// A holder renews the Lease.
    Running,
    /// The last holder stopped renewing.
    Lapsed,
    /// Nobody holds the Lease, or there is none.
    NotRunning,
}

/// A controller as its Lease shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControllerView {
    /// Name as in `--controllers`; the Lease's for one that this version does not know.
    pub name: String,
    /// Whether it runs.
    pub state: Running,
    /// Who holds the Lease, or held it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// When the Lease was last renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewed_at: Option<At>,
    /// Version of the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Feature gates of the holder, as in `--feature-gates`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature_gates: Option<String>,
    /// Whose control plane the holder takes it for, `standalone` or `beside`, where that makes a difference to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'static str>,
    /// Where the holder serves gRPC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What disturbs the holder's process, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbances: Option<String>,
    /// The feature gates, as far as they are known here.
    #[serde(skip)]
    gates: Result<FeatureGates, NoGates>,
    /// Whether it is needed here.
    #[serde(skip)]
    needed: bool,
    /// Whether the holder takes the control plane for what it is not.
    #[serde(skip)]
    mistaken: bool,
}

/// Whether something is wrong or only switched off by somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Severity {
    /// Wrong: exit status 1.
    Problem,
    /// A switch, a pause or a brake that somebody chose.
    Note,
}

/// Something that is not done, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotDone {
    /// Problem or Note.
    pub severity: Severity,
    /// What is responsible: `controller/NAME`, `gate/NAME`, `pause/NAME`, `producer/NAME`, `regime`, `queue`, `gates`,
    /// `gates/NAME` (of a controller), `process/NAME` (the holder of Leases), `mode` or `versions`.
    pub subject: String,
    /// What is not done, and why, in one line.
    pub message: String,
}

impl NotDone {
    /// Something wrong.
    pub fn problem(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Problem,
            subject: subject.into(),
            message: message.into(),
        }
    }

    /// Something chosen.
    pub fn note(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Note,
            subject: subject.into(),
            message: message.into(),
        }
    }
}

/// All controllers that are known or hold a Lease of ours: those known first, in the order of the pipeline.
#[must_use]
pub fn controllers(leases: &[Lease], mode: Mode, now: Timestamp) -> Vec<ControllerView> {
    let mut by_name: BTreeMap<&str, &Lease> = leases
        .iter()
        .filter_map(|lease| Some((lease.metadata.name.as_deref()?, lease)))
        .collect();
    let mut views: Vec<ControllerView> = DUTIES
        .iter()
        .map(|duty| {
            let needed = duty.needed == Needed::Always || mode == Mode::Standalone;
            let lease = by_name.remove(lease_name(duty.controller).as_str());
            ControllerView {
                needed,
                ..view(duty.controller, lease, now)
            }
        })
        .filter(|view| view.needed || view.state != Running::NotRunning)
        .collect();
    let ours = |lease: &Lease| annotation(lease, CONTROLLERS_ANNOTATION).is_some();
    views.extend(
        by_name
            .into_iter()
            .filter(|(_, lease)| ours(lease))
            .map(|(name, lease)| view(name, Some(lease), now)),
    );
    for view in &mut views {
        view.mistaken = matches!(
            (mode, view.mode.and_then(MeantMode::named)),
            (Mode::Standalone, Some(MeantMode::Beside)) | (Mode::Beside, Some(MeantMode::Standalone))
        );
    }
    views
}

/// What a Lease says of a controller; whether it is needed, the caller says.
fn view(name: &str, lease: Option<&Lease>, now: Timestamp) -> ControllerView {
    let spec = lease.and_then(|lease| lease.spec.as_ref());
    let holder = spec
        .and_then(|spec| spec.holder_identity.clone())
        .filter(|holder| !holder.is_empty());
    let renewed_at = spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
    let seconds = spec
        .and_then(|spec| spec.lease_duration_seconds)
        .unwrap_or(DEFAULT_LEASE_SECONDS);
    let fresh = renewed_at.is_some_and(|at| now.duration_since(at) <= SignedDuration::from_secs(seconds.into()));
    let state = match (&holder, fresh) {
        (None, _) => Running::NotRunning,
        (Some(_), true) => Running::Running,
        (Some(_), false) => Running::Lapsed,
    };
    let said = lease.map(said);
    ControllerView {
        name: name.to_owned(),
        state,
        renewed_at: renewed_at.map(At),
        version: said.as_ref().and_then(|said| said.version.clone()),
        // As it is written, also where a part of it is not known here; a former holder's says nothing now.
        feature_gates: lease
            .filter(|_| holder.is_some())
            .and_then(|lease| annotation(lease, GATES_ANNOTATION)),
        mode: said.as_ref().and_then(|said| said.mode).map(MeantMode::name),
        address: said.as_ref().and_then(|said| said.address.clone()),
        disturbances: said.as_ref().and_then(|said| said.disturbances.clone()),
        gates: said.map_or(Err(NoGates::Unsaid), |said| said.gates),
        holder,
        needed: false,
        mistaken: false,
    }
}

/// Of the Leases of these names, whoever they belong to, those that somebody holds and renews: `NAME (HOLDER)`.
#[must_use]
pub fn held(leases: &[Lease], names: &[&str], now: Timestamp) -> Vec<String> {
    let named = leases.iter().filter_map(|lease| {
        let name = lease.metadata.name.as_deref()?;
        names.contains(&name).then(|| view(name, Some(lease), now))
    });
    let held = named.filter(|view| view.state == Running::Running);
    held.map(|view| format!("{} ({})", view.name, view.holder.unwrap_or_default()))
        .collect()
}

fn annotation(lease: &Lease, name: &str) -> Option<String> {
    lease.metadata.annotations.as_ref()?.get(name).cloned()
}

/// What is not done because a controller does not run or a gate is off, and where the running ones disagree.
#[must_use]
pub fn not_done(controllers: &[ControllerView], system_namespace: &str, now: Timestamp) -> Vec<NotDone> {
    let mut found: Vec<NotDone> = controllers
        .iter()
        .filter(|view| view.needed && view.state != Running::Running)
        .filter_map(|view| {
            let duty = DUTIES.iter().find(|duty| duty.controller == view.name)?;
            let lease = lease_name(&view.name);
            let seen = match (&view.holder, view.renewed_at) {
                (Some(holder), Some(renewed)) => {
                    format!("{holder} last renewed Lease {lease} {}", relative(renewed.0, now))
                }
                (Some(holder), None) => format!("{holder} never renewed Lease {lease}"),
                (None, _) => format!("nobody holds Lease {lease} in namespace {system_namespace}"),
            };
            let message = format!("{}: controller {} is not running ({seen})", duty.undone, view.name);
            Some(NotDone::problem(format!("controller/{}", view.name), message))
        })
        .collect();
    let running: Vec<&ControllerView> = controllers
        .iter()
        .filter(|view| view.state == Running::Running)
        .collect();
    if failover_gate(controllers) == Some(FailoverGate::Off) {
        found.push(NotDone::note(
            "gate/Failover",
            "no cluster's failure moves a workload: feature gate Failover is off for taintManager; \
             to switch it on: --feature-gates=Failover=true",
        ));
    }
    // Members' agents have Leases here too, and no part in what the gates govern.
    let governs = |view: &ControllerView| DUTIES.iter().any(|duty| duty.controller == view.name);
    found.extend(
        running
            .iter()
            .filter(|view| governs(view))
            .filter_map(|view| gates_unreadable(view)),
    );
    // A gate that only a newer process has is no disagreement.
    found.extend(disagreement(&running, "gates", |view| {
        view.gates
            .as_ref()
            .ok()
            .filter(|_| governs(view))
            .map(ToString::to_string)
    }));
    found.extend(wrong_mode(&running));
    found.extend(versions_apart(&running));
    found.extend(disturbed(&running));
    found.sort_by_key(|item| item.severity);
    found
}

/// That what a controller says about its gates makes no sense, which leaves unknown whether Failover is on for it.
fn gates_unreadable(view: &ControllerView) -> Option<NotDone> {
    let Err(why @ NoGates::Unreadable { .. }) = &view.gates else {
        return None;
    };
    let message = format!(
        "whether feature gate Failover is on for {} is not known: in its Lease {why}",
        view.name
    );
    Some(NotDone::problem(format!("gates/{}", view.name), message))
}

/// That controllers were started for another kind of control plane than this. Where nobody may say what it is, they differ at
/// least from each other.
fn wrong_mode(running: &[&ControllerView]) -> Option<NotDone> {
    let of = |mode: MeantMode| {
        let mistaken = running
            .iter()
            .filter(|view| view.mistaken && view.mode == Some(mode.name()));
        mistaken.map(|view| view.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (standalone, beside) = (of(MeantMode::Standalone), of(MeantMode::Beside));
    if !standalone.is_empty() {
        let message = format!(
            "a stock Karmada is there, and {standalone} run as if all were ours: set mode: beside in the charts' values, or check \
             their --kubeconfig"
        );
        return Some(NotDone::problem("mode", message));
    }
    if !beside.is_empty() {
        let message = format!(
            "no stock Karmada is there, and {beside} run with --beside-stock: set mode: standalone in the charts' values, or \
             check their --kubeconfig"
        );
        return Some(NotDone::problem("mode", message));
    }
    disagreement(running, "mode", |view| view.mode.map(str::to_owned))
}

/// That those who run are of several versions, members' agents among them: what an upgrade looks like while it goes on is no
/// problem.
fn versions_apart(running: &[&ControllerView]) -> Option<NotDone> {
    let versions = versions(running.iter().copied());
    let listed: Vec<String> = versions
        .each()
        .map(|(version, names)| format!("{version} for {names}"))
        .collect();
    let listed = listed.join("; ");
    match versions.apart() {
        Apart::NotSaid | Apart::NotAtAll => None,
        Apart::OneMinor => Some(NotDone::note(
            "versions",
            format!("an upgrade is not finished: versions, at most one minor apart, are {listed}"),
        )),
        Apart::TooFar => Some(NotDone::problem(
            "versions",
            format!("the components are not known to work together, being more than one minor version apart: {listed}"),
        )),
    }
}

/// The versions of those that run, as far as they say them.
pub fn versions<'a>(controllers: impl IntoIterator<Item = &'a ControllerView>) -> Versions<'a> {
    let running = controllers.into_iter().filter(|view| view.state == Running::Running);
    running
        .filter_map(|view| Some((view.name.as_str(), view.version.as_deref()?)))
        .collect()
}

/// What the processes say disturbs them: once for each, however many controllers it runs.
fn disturbed(running: &[&ControllerView]) -> Vec<NotDone> {
    let mut by_holder: BTreeMap<&str, &str> = BTreeMap::new();
    for view in running {
        if let (Some(holder), Some(text)) = (&view.holder, &view.disturbances) {
            by_holder.insert(holder, text);
        }
    }
    let tell = |(holder, text): (&str, &str)| {
        // No reason to fail a script: it is told for a while after it is over, and what is not done because of it is a
        // problem of its own.
        NotDone::note(
            format!("process/{holder}"),
            format!("what {holder} does may be late or fail for a while: it is disturbed by {text}"),
        )
    };
    by_holder.into_iter().map(tell).collect()
}

/// Adds what is not said yet about the same subject, and puts problems first.
pub fn add(known: &mut Vec<NotDone>, more: Vec<NotDone>) {
    for item in more {
        if !known.iter().any(|said| said.subject == item.subject) {
            known.push(item);
        }
    }
    known.sort_by_key(|item| item.severity);
}

/// The gate as the taint manager has it, which alone decides who is affected; nothing when it says nothing that can be
/// read, or does not run: neither means that it is off.
#[must_use]
pub fn failover_gate(controllers: &[ControllerView]) -> Option<FailoverGate> {
    failover_gate_of(controllers, "taintManager")
}

/// The gate as this controller has it; nothing when it says nothing that can be read, or does not run.
#[must_use]
pub fn failover_gate_of(controllers: &[ControllerView], name: &str) -> Option<FailoverGate> {
    let controller = controllers
        .iter()
        .find(|view| view.name == name && view.state == Running::Running)?;
    let gates = controller.gates.as_ref().ok()?;
    Some(gates.enabled(Gate::Failover).into())
}

/// The taint manager's switches as far as its Lease tells them (`gate`); what it does not tell is taken at its default. Beside a
/// stock Karmada a Cluster that is being deleted is its scheduler's matter.
#[must_use]
pub fn switches(mode: Mode, gate: Option<FailoverGate>) -> Switches {
    Switches {
        failover: gate.unwrap_or(FailoverGate::On),
        deleted_clusters: match mode {
            Mode::Beside => DeletedClusters::LeftToStock,
            Mode::Standalone | Mode::Unknown => DeletedClusters::Evicted,
        },
        ..Switches::all_on(PurgeMode::Gracefully)
    }
}

/// Who takes workloads off a Cluster that is being deleted, by the same.
#[must_use]
pub fn deletion_by(switches: &Switches) -> DeletionBy {
    match (switches.failover, switches.deleted_clusters) {
        (FailoverGate::On, DeletedClusters::Evicted) => DeletionBy::Queue,
        (FailoverGate::Off, _) | (_, DeletedClusters::LeftToStock) => DeletionBy::Scheduler,
    }
}

/// Whether this controller runs.
#[must_use]
pub fn is_running(controllers: &[ControllerView], name: &str) -> bool {
    controllers
        .iter()
        .any(|view| view.name == name && view.state == Running::Running)
}

fn disagreement(
    running: &[&ControllerView],
    subject: &str,
    said: impl Fn(&ControllerView) -> Option<String>,
) -> Option<NotDone> {
    let mut by_value: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for view in running {
        if let Some(value) = said(view) {
            by_value.entry(value).or_default().insert(&view.name);
        }
    }
    if by_value.len() < 2 {
        return None;
    }
    let listed: Vec<String> = by_value
        .iter()
        .map(|(value, names)| format!("{value} for {}", names.iter().copied().collect::<Vec<_>>().join(", ")))
        .collect();
    Some(NotDone::problem(
        subject,
        format!("the components do not agree: {subject} are {}", listed.join("; ")),
    ))
}
