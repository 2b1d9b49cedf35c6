//! `drain` and `undrain`: a taint that makes everything leave a cluster that may, and its end.
//!
//! Rooms: `ready` (whether anything would leave), `taint` (the change, and the only place here that writes to the API server),
//! `left` (what is left, and whether that is all), `follow` (how far it is), `report` (what is said). What would move is
//! [`crate::plan`]. Here is the order of things.

mod follow;
mod left;
mod ready;
mod report;
mod taint;

pub use report::{DrainResult, DrainState, UndrainResult};
pub use taint::Change;

use api_types::ClusterName;
use api_types::names::taint::DRAIN;
use api_types::work::Binding;
use eviction_queue_api::v1;
use k8s_openapi::api::core::v1::Taint;
use scheduler_filters::FewerCopies;
use scheduler_filters::feasibility::ACCEPT_FEWER_COPIES;
use scheduler_filters::plan::{Proposal, drain_taint};

use crate::change::{Go, agreed, command, require_consent};
use crate::cli::{DrainArgs, Target, UndrainArgs};
use crate::control_plane::ControlPlane;
use crate::controllers;
use crate::entry::EntryView;
use crate::failure::{ExitStatus, Failure};
use crate::plan::{self, FailoverPlan};
use crate::queue::Queue;
use crate::run::{Came, Surroundings};
use crate::status::TaintView;
use follow::follow;
use taint::{DryRun, Taints, added, removed};

/// Rows of the preview.
const PREVIEW: usize = 20;

/// Drains a cluster, and follows that until nothing is left.
///
/// # Errors
/// There is no such Cluster, nothing would leave it because something is off, the server refuses, or nobody can be asked.
pub async fn drain(
    control_plane: &ControlPlane,
    queue: Result<Queue, Failure>,
    args: &DrainArgs,
    target: &Target,
    around: &Surroundings,
) -> Result<Came<DrainResult>, Failure> {
    let what = format!("drain {}", args.cluster);
    require_consent(around.console.as_ref(), &args.change, &what)?;
    let cluster = control_plane.cluster_to(&what, &args.cluster).await?;
    let leases = control_plane.leases().await?;
    let mode = control_plane.mode().await?;
    let gathered = plan::gather(control_plane, leases, mode, queue.clone()).await?;
    let now = around.clock.now();
    let all = controllers::controllers(&gathered.leases, gathered.mode, now);
    ready::check(&what, &all, gathered.queue.as_ref().ok())?;
    let preview = preview(&gathered, args, around)?;

    let taints = Taints::of(control_plane, &what);
    let fewer_copies = fewer_copies(args);
    let wanted = drain_taint(fewer_copies, now);
    let change = added(&cluster, &wanted).map_or(Change::None, |(change, _)| change);
    let checked = taints
        .write(&args.cluster, DryRun::Yes, |read| {
            Ok(added(read, &wanted).map(|(_, ops)| ops))
        })
        .await?;
    let mut result = DrainResult {
        cluster: args.cluster.clone(),
        dry_run: args.change.dry_run,
        change,
        taint: TaintView::of(taint::on(&checked).unwrap_or(&wanted)),
        plan: preview,
        state: DrainState::Planned,
        held: Vec::new(),
        old_copies: 0,
        queue_error: gathered.queue.as_ref().err().map(Failure::one_line),
        undo: undo(change, taint::on(&cluster), &args.cluster, target),
        end: command(target, &["undrain".to_owned(), args.cluster.clone()]),
    };
    if args.change.dry_run {
        return Ok(Came::To(result));
    }
    if change != Change::None {
        let announcement = result.announcement(args.reason.as_deref(), now);
        if agreed(&around.console, &args.change, &announcement).await == Go::Not {
            return Ok(Came::Nothing);
        }
        // What was agreed on begins now.
        let wanted = drain_taint(fewer_copies, around.clock.now());
        let written = taints
            .write(&args.cluster, DryRun::No, |read| {
                Ok(added(read, &wanted).map(|(_, ops)| ops))
            })
            .await?;
        result.taint = TaintView::of(taint::on(&written).unwrap_or(&wanted));
        told(&taints, around, &written, "ClusterDrainStarted", args.reason.as_deref()).await;
        around.console.note(&format!("{}\n", result.begun()));
    }
    result.state = DrainState::Started;
    if args.detach {
        return Ok(Came::To(result));
    }
    follow(control_plane, queue, args, target, around, &mut result).await?;
    Ok(Came::To(result))
}

/// What takes a change back: another value is changed back, and not the drain of somebody else ended.
fn undo(change: Change, before: Option<&Taint>, cluster: &str, target: &Target) -> Option<String> {
    match (change, before) {
        (Change::None, _) => None,
        (Change::ValueChanged, Some(before)) => Some(drain_so(before, cluster, target)),
        (Change::Added | Change::ValueChanged, _) => Some(command(target, &["undrain".to_owned(), cluster.to_owned()])),
    }
}

/// The command that drains a cluster by a taint like this one.
fn drain_so(taint: &Taint, cluster: &str, target: &Target) -> String {
    let mut again = vec!["drain".to_owned(), cluster.to_owned()];
    if taint.value.as_deref() == Some(ACCEPT_FEWER_COPIES) {
        again.push("--accept-fewer-copies".to_owned());
    }
    command(target, &again)
}

fn fewer_copies(args: &DrainArgs) -> FewerCopies {
    if args.accept_fewer_copies {
        FewerCopies::AcceptedIfOneIsHealthy
    } else {
        FewerCopies::Refused
    }
}

fn preview(gathered: &plan::Gathered, args: &DrainArgs, around: &Surroundings) -> Result<FailoverPlan, Failure> {
    let proposal = Proposal {
        draining: [(ClusterName::from(args.cluster.as_str()), fewer_copies(args))].into(),
        ..Proposal::default()
    };
    let plan = plan::report(
        gathered,
        &proposal,
        &args.settings,
        plan::Gate::AsItIs,
        around.clock.now(),
    )?;
    Ok(plan.limited(PREVIEW))
}

/// The reason is kept as an Event. It is a courtesy: who may not write Events drains all the same.
async fn told(
    taints: &Taints<'_>,
    around: &Surroundings,
    cluster: &api_types::cluster::Cluster,
    event: &str,
    reason: Option<&str>,
) {
    let now = around.clock.now();
    if let Err(why) = taints.tell(cluster, event, reason, now).await {
        around
            .console
            .note(&format!("no Event on the Cluster says so: {}\n", why.one_line()));
    }
}

/// Ends the drain of a cluster.
///
/// # Errors
/// There is no such Cluster, it is not drained, the server refuses, or nobody can be asked.
pub async fn undrain(
    control_plane: &ControlPlane,
    queue: Result<Queue, Failure>,
    args: &UndrainArgs,
    target: &Target,
    around: &Surroundings,
) -> Result<Came<UndrainResult>, Failure> {
    let what = format!("end the drain of {}", args.cluster);
    require_consent(around.console.as_ref(), &args.change, &what)?;
    let cluster = control_plane.cluster_to(&what, &args.cluster).await?;
    let Some(present) = taint::on(&cluster).cloned() else {
        return Err(not_drained(&what, &cluster));
    };
    let name = ClusterName::from(args.cluster.as_str());
    let about = control_plane.bindings_about(&name).await?;
    let abandoned = abandoned(queue, &args.cluster).await;
    let taints = Taints::of(control_plane, &what);
    let gone = |read: &api_types::cluster::Cluster| removed(read).map(Some).ok_or_else(|| not_drained(&what, read));
    taints.write(&args.cluster, DryRun::Yes, gone).await?;
    let mut result = UndrainResult {
        cluster: args.cluster.clone(),
        dry_run: args.change.dry_run,
        taint: TaintView::of(&present),
        queue_error: abandoned.as_ref().err().map(Failure::one_line),
        abandons: abandoned.unwrap_or_default(),
        left_already: left_already(&about, &name),
        undo: drain_so(&present, &args.cluster, target),
    };
    if args.change.dry_run {
        return Ok(Came::To(result));
    }
    let announcement = result.announcement(args.reason.as_deref(), around.clock.now());
    if agreed(&around.console, &args.change, &announcement).await == Go::Not {
        return Ok(Came::Nothing);
    }
    let written = taints.write(&args.cluster, DryRun::No, gone).await?;
    result.dry_run = false;
    told(&taints, around, &written, "ClusterDrainEnded", args.reason.as_deref()).await;
    Ok(Came::To(result))
}

fn not_drained(what: &str, cluster: &api_types::cluster::Cluster) -> Failure {
    let name = cluster.cluster_name();
    let others: Vec<String> = cluster
        .spec
        .taints
        .iter()
        .filter(|taint| TaintView::of(taint).evicts())
        .map(|taint| format!("{}:{}", taint.key, taint.effect))
        .collect();
    let why = match &others[..] {
        [] => format!("Cluster {name} has no taint {DRAIN}:NoExecute"),
        others => format!(
            "Cluster {name} has no taint {DRAIN}:NoExecute; what makes workloads leave it is {}, which is not ours to remove",
            others.join(", ")
        ),
    };
    let next = if others.is_empty() {
        "nothing to do".to_owned()
    } else {
        format!("whose it is: failoverctl explain cluster {name}")
    };
    Failure::new(ExitStatus::Problem, format!("cannot {what}"), why, next)
}

/// The entries that go with the taint.
async fn abandoned(queue: Result<Queue, Failure>, cluster: &str) -> Result<Vec<EntryView>, Failure> {
    let filter = v1::EntryFilter {
        cluster: cluster.to_owned(),
        ..v1::EntryFilter::default()
    };
    let found = queue?.list(&filter, 0).await?;
    let rests_on_it = |entry: &EntryView| entry.cause.short() == format!("{DRAIN}:NoExecute");
    Ok(found.entries.iter().map(EntryView::of).filter(rests_on_it).collect())
}

/// The bindings that have a task by which they leave the cluster.
fn left_already(about: &[Binding], cluster: &ClusterName) -> Vec<String> {
    let left = about.iter().filter(|binding| binding.spec.task(cluster).is_some());
    left.map(|binding| binding.key().to_string()).collect()
}
