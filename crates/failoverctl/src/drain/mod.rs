//! `drain` and `undrain`: a taint that makes everything leave a cluster that may, and its end.
//!
//! Rooms: `ready` (whether anything would leave), `abandoned` (what an end keeps there, and what not), `taint` (the change, and
//! the only place here that writes to the API server), `works` (what the cluster still has), `left` (what is left, and whether
//! that is all), `follow` (how far it is), `report` (what is said). What would move is [`crate::plan`]. Here is the order of
//! things.

mod abandoned;
mod follow;
mod left;
mod ready;
mod report;
mod taint;
mod works;

pub use abandoned::StillLeaving;
pub use report::{DrainResult, DrainState, UndrainResult};
pub use taint::Change;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::names::taint::DRAIN;
use api_types::work::Binding;
use eviction_queue_api::v1;
use k8s_openapi::api::core::v1::Taint;
use scheduler_filters::FewerCopies;
use scheduler_filters::plan::Proposal;

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
use abandoned::split;
use follow::follow;
use taint::{DryRun, Taints, added, fewer_copies_of, removed, wanted};
use works::bindings_of_works;

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
    if !args.detach && !args.change.dry_run {
        // Who may not see whether it is empty is told before anything is changed.
        bindings_of_works(control_plane, &cluster.cluster_name()).await?;
    }
    let said = said(args);
    let planned = wanted(&cluster, said, now);
    let preview = preview(&gathered, args, &planned, around)?;

    let taints = Taints::of(control_plane, &what);
    let edit = |at| move |read: &Cluster| Ok(added(read, &wanted(read, said, at)).map(|(_, operations)| operations));
    let change = added(&cluster, &planned).map_or(Change::None, |(change, _)| change);
    let checked = taints.write(&args.cluster, DryRun::Yes, edit(now)).await?;
    let checked = taint::on(&checked).unwrap_or(&planned).clone();
    let mut result = DrainResult {
        cluster: args.cluster.clone(),
        dry_run: args.change.dry_run,
        change,
        taint: TaintView::of(&checked),
        plan: preview,
        state: DrainState::Planned,
        held: Vec::new(),
        old_copies: 0,
        unconfirmed_copies: 0,
        queue_error: gathered.queue.as_ref().err().map(Failure::one_line),
        undo: undo(change, taint::on(&cluster), &args.cluster, target),
        end: command(target, &["undrain".to_owned(), args.cluster.clone()]),
        follow: drain_so(&checked, &args.cluster, target),
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
        let written = taints
            .write(&args.cluster, DryRun::No, edit(around.clock.now()))
            .await?;
        let stored = taint::on(&written).unwrap_or(&checked);
        result.taint = TaintView::of(stored);
        result.follow = drain_so(stored, &args.cluster, target);
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
        (Change::None | Change::TimeAdded, _) => None,
        (Change::ValueChanged, Some(before)) if fewer_copies_of(before) == FewerCopies::Refused => {
            let back = ["drain", cluster, "--accept-fewer-copies=false"];
            Some(command(target, &back.map(str::to_owned)))
        }
        (Change::ValueChanged, Some(before)) => Some(drain_so(before, cluster, target)),
        (Change::Added | Change::ValueChanged, _) => Some(command(target, &["undrain".to_owned(), cluster.to_owned()])),
    }
}

/// The command that drains a cluster by a taint like this one.
fn drain_so(taint: &Taint, cluster: &str, target: &Target) -> String {
    let mut again = vec!["drain".to_owned(), cluster.to_owned()];
    if fewer_copies_of(taint) == FewerCopies::AcceptedIfOneIsHealthy {
        again.push("--accept-fewer-copies".to_owned());
    }
    command(target, &again)
}

/// What the command line says of fewer copies; nothing when it says nothing.
fn said(args: &DrainArgs) -> Option<FewerCopies> {
    let accepted = args.accept_fewer_copies?;
    Some(if accepted {
        FewerCopies::AcceptedIfOneIsHealthy
    } else {
        FewerCopies::Refused
    })
}

fn preview(
    gathered: &plan::Gathered,
    args: &DrainArgs,
    planned: &Taint,
    around: &Surroundings,
) -> Result<FailoverPlan, Failure> {
    let proposal = Proposal {
        draining: [(ClusterName::from(args.cluster.as_str()), fewer_copies_of(planned))].into(),
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
async fn told(taints: &Taints<'_>, around: &Surroundings, cluster: &Cluster, event: &str, reason: Option<&str>) {
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
    let waiting = waiting(queue, &args.cluster).await;
    let taints = Taints::of(control_plane, &what);
    let gone = |read: &Cluster| removed(read).map(Some).ok_or_else(|| not_drained(&what, read));
    taints.write(&args.cluster, DryRun::Yes, gone).await?;
    let (abandons, still_leaving) = split(
        waiting.as_deref().unwrap_or_default(),
        &about,
        &taint::without(&cluster),
    );
    let mut result = UndrainResult {
        cluster: args.cluster.clone(),
        dry_run: args.change.dry_run,
        taint: TaintView::of(&present),
        queue_error: waiting.as_ref().err().map(Failure::one_line),
        abandons,
        still_leaving,
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

fn not_drained(what: &str, cluster: &Cluster) -> Failure {
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

/// The entries that rest on the taint.
async fn waiting(queue: Result<Queue, Failure>, cluster: &str) -> Result<Vec<EntryView>, Failure> {
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
