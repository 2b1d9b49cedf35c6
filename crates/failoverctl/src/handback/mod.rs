//! `handback`: the way back to stock, or to nothing. Everything of ours is taken off a control plane after our controllers have
//! gone.
//!
//! It refuses while a controller of ours runs, which would write it all again, and while a mirror task is in use: without it
//! a workload that is being moved would lose what it needs on the cluster that it leaves.
//!
//! Rooms: `ours` (what of an object is ours), `api` (the only place that writes), `report` (what is said). Here is the order of
//! things.

mod api;
pub mod ours;
mod report;

pub use report::{HandbackResult, Object, ObjectAndWhy};

use std::collections::BTreeMap;

use api_types::names::depended_by_label;
use api_types::names::taint::DRAIN;
use api_types::work::Binding;
use controller_kit::leader::CONTROLLERS_ANNOTATION;
use failover_core::graceful::mirrors::{self, MirrorState};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;

use crate::change::{Go, agreed, quoted, require_consent};
use crate::cli::HandbackArgs;
use crate::control_plane::ControlPlane;
use crate::controllers;
use crate::explain::taints::number;
use crate::failure::{ExitStatus, Failure};
use crate::run::{Came, Surroundings};
use api::{Found, KINDS};
use ours::Settings;

/// Writes at once.
const AT_ONCE: usize = 8;
/// Items that an error names.
const NAMED: usize = 5;

/// Takes off what is ours.
///
/// # Errors
/// Our controllers run, mirrors are in use, the server refuses, or nobody can be asked.
pub async fn handback(
    control_plane: &ControlPlane,
    args: &HandbackArgs,
    around: &Surroundings,
) -> Result<Came<HandbackResult>, Failure> {
    require_consent(around.console.as_ref(), &args.change, "hand back")?;
    let settings = if args.settings {
        Settings::Removed
    } else {
        Settings::Kept
    };
    let mut found = Vec::new();
    for kind in KINDS {
        found.extend(api::found(control_plane, kind, settings).await?);
    }
    let (leases, blocked) = look(control_plane, &found, around).await?;
    let mut result = result(&found, &leases, control_plane.system_namespace());
    result.dry_run = args.change.dry_run;
    if args.change.dry_run {
        result.blocked = blocked;
        return Ok(Came::To(result));
    }
    refuse(&blocked)?;
    if result.objects.is_empty() {
        return Ok(Came::To(result));
    }
    // What stays needs no write.
    found.retain(|found| found.removal.is_written());
    // Who may not do it is told before anything is changed.
    if let Some(first) = found.first() {
        api::take_off(control_plane, first, settings, true).await?;
    }
    if agreed(&around.console, &args.change, &result.announcement()).await == Go::Not {
        return Ok(Came::Nothing);
    }
    // The answer may have taken minutes.
    let (leases, blocked) = look(control_plane, &found, around).await?;
    refuse(&blocked)?;
    carry_out(control_plane, &found, &leases, settings, &mut result).await?;
    Ok(Came::To(result))
}

/// The Leases of ours that nobody renews, and why it cannot be done now.
async fn look(
    control_plane: &ControlPlane,
    found: &[Found],
    around: &Surroundings,
) -> Result<(Vec<Lease>, Vec<String>), Failure> {
    let leases = control_plane.leases().await?;
    let mut blocked = running(&leases, around.clock.now());
    if found.iter().any(|found| !found.removal.mirrors.is_empty()) {
        blocked.extend(in_use(&control_plane.all_bindings().await?, around.clock.now()));
    }
    Ok((lapsed(leases, around.clock.now()), blocked))
}

fn refuse(blocked: &[String]) -> Result<(), Failure> {
    let Some(first) = blocked.first() else { return Ok(()) };
    let more = match blocked.len() - 1 {
        0 => String::new(),
        more => format!("; and {more} more: failoverctl handback --dry-run"),
    };
    Err(Failure::new(
        ExitStatus::Problem,
        "cannot hand back now",
        format!("{first}{more}"),
        "stop our controllers, the graceful eviction controller last, when no move goes on any more: failoverctl history --open",
    ))
}

async fn carry_out(
    control_plane: &ControlPlane,
    found: &[Found],
    lapsed: &[Lease],
    settings: Settings,
    result: &mut HandbackResult,
) -> Result<(), Failure> {
    let writes = found.iter().map(|found| async move {
        let done = api::take_off(control_plane, found, settings, false).await;
        (found.in_words(), done)
    });
    let mut done: Vec<(String, Result<(), Failure>)> = stream::iter(writes).buffered(AT_ONCE).collect().await;
    for lease in lapsed {
        let told = lease_in_words(control_plane.system_namespace(), lease);
        // One that was not there before the question was not spoken of.
        if result.objects.iter().any(|object| object.object == told) {
            done.push((told, api::delete_lease(control_plane, lease).await));
        }
    }
    let failures: BTreeMap<String, Failure> = done
        .into_iter()
        .filter_map(|(object, done)| Some((object, done.err()?)))
        .collect();
    if let (Some(failure), true) = (failures.values().next(), failures.len() == result.objects.len()) {
        return Err(failure.clone());
    }
    result.objects.retain(|object| !failures.contains_key(&object.object));
    result
        .failed
        .extend(failures.into_iter().map(|(object, failure)| ObjectAndWhy {
            object,
            why: failure.one_line(),
        }));
    Ok(())
}

/// What would be said if it were done.
fn result(found: &[Found], lapsed: &[Lease], namespace: &str) -> HandbackResult {
    let mut objects: Vec<Object> = found
        .iter()
        .filter(|found| found.removal.is_written())
        .map(|found| Object {
            object: found.in_words(),
            removed: found.removal.parts.clone(),
        })
        .collect();
    objects.extend(lapsed.iter().map(|lease| Object {
        object: lease_in_words(namespace, lease),
        removed: vec!["itself".to_owned()],
    }));
    let mut undo = Vec::new();
    if !objects.is_empty() {
        undo.push(
            "start our controllers again: they add anew what the policies and the state of the clusters ask for"
                .to_owned(),
        );
    }
    for found in found {
        for (name, value) in &found.removal.settings {
            let words: Vec<String> = found.annotate(name, value).iter().map(|word| quoted(word)).collect();
            undo.push(words.join(" "));
        }
    }
    let unknown = found.iter().filter_map(|found| {
        Some(ObjectAndWhy {
            object: found.in_words(),
            why: found.removal.unknown.clone()?,
        })
    });
    HandbackResult {
        objects,
        undo,
        failed: unknown.collect(),
        left: left(found),
        ..HandbackResult::default()
    }
}

/// What is ours and stays, and how it goes.
fn left(found: &[Found]) -> Vec<String> {
    let mut left = vec![
        "FailoverRecords and FailoverPauses, with their CRDs; to remove them: kubectl delete crd \
         failoverrecords.failover.karmada.io failoverpauses.failover.karmada.io"
            .to_owned(),
    ];
    let drained: Vec<&str> = found
        .iter()
        .filter(|found| found.removal.drained)
        .map(|found| found.name.as_str())
        .collect();
    if !drained.is_empty() {
        left.push(format!(
            "taint {}, which a person set, on {}; to end a drain: failoverctl undrain CLUSTER",
            DRAIN,
            join_some(&drained)
        ));
    }
    let leaving: Vec<&Found> = found.iter().filter(|found| found.removal.tasks > 0).collect();
    if !leaving.is_empty() {
        let tasks: usize = leaving.iter().map(|found| found.removal.tasks).sum();
        let names: Vec<String> = leaving.iter().map(|found| found.in_words()).collect();
        left.push(format!(
            "{}, by which workloads leave clusters, of {}; stock's graceful eviction ends them, and nobody does where that is off",
            number(tasks, "eviction task"),
            join_some(&names)
        ));
    }
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    for name in found.iter().flat_map(|found| &found.removal.kept) {
        *kept.entry(name).or_default() += 1;
    }
    left.extend(kept.into_iter().map(|(name, count)| {
        let times = if count == 1 { "time" } else { "times" };
        format!(
            "annotation {name}, {count} {times}, which people wrote and stock does not read; to take it off, too: failoverctl \
             handback --settings"
        )
    }));
    left.extend(found.iter().filter(|found| found.removal.waits_by_ours).map(|found| {
        format!(
            "{}, whose windows stood in an annotation that only ours read: with its gate Failover on, stock adds the taints at once \
             and never takes them away; before that delete it, or give it spec.removeOnConditions",
            found.in_words()
        )
    }));
    left
}

/// The first ones by name, and how many there are more.
fn join_some<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

fn lease_in_words(namespace: &str, lease: &Lease) -> String {
    format!(
        "Lease {namespace}/{}",
        lease.metadata.name.as_deref().unwrap_or_default()
    )
}

fn is_ours(lease: &Lease) -> bool {
    let annotations = lease.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.contains_key(CONTROLLERS_ANNOTATION))
}

/// Our processes that run, and the Leases by which they say so. Pure.
fn running(leases: &[Lease], now: Timestamp) -> Vec<String> {
    let mut by_holder: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for lease in leases.iter().filter(|lease| is_ours(lease)) {
        let name = lease.metadata.name.as_deref().unwrap_or_default();
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
        if !controllers::held(leases, &[name], now).is_empty() {
            by_holder.entry(holder.unwrap_or_default()).or_default().push(name);
        }
    }
    let told = |(holder, leases): (&str, Vec<&str>)| {
        format!("{holder}, which is one of ours, runs: it renews {}", leases.join(", "))
    };
    by_holder.into_iter().map(told).collect()
}

/// The Leases of ours that nobody renews. Pure.
fn lapsed(mut leases: Vec<Lease>, now: Timestamp) -> Vec<Lease> {
    leases.retain(|lease| {
        let name = lease.metadata.name.as_deref().unwrap_or_default();
        is_ours(lease) && controllers::held(std::slice::from_ref(lease), &[name], now).is_empty()
    });
    leases
}

/// Mirror tasks without which a workload would lose something that it needs. Pure.
fn in_use(bindings: &[Binding], now: Timestamp) -> Vec<String> {
    let by_label: BTreeMap<String, &Binding> = bindings
        .iter()
        .map(|binding| (depended_by_label(&binding.key()), binding))
        .collect();
    let mut found = Vec::new();
    for attached in bindings {
        for task in attached
            .spec
            .graceful_eviction_tasks
            .iter()
            .filter(|task| mirrors::is_mirror(task))
        {
            let labels = mirrors::owner_labels(attached);
            let owners = labels.iter().filter_map(|label| by_label.get(label).copied());
            if let MirrorState::Needed { why, .. } = mirrors::state(attached, task, owners, now) {
                found.push(format!(
                    "the mirror task of {} for {} is in use: {why}",
                    attached.key(),
                    task.from_cluster
                ));
            }
        }
    }
    let more = found.len().saturating_sub(NAMED);
    found.truncate(NAMED);
    if more > 0 {
        found.push(format!("{more} more mirror tasks are in use"));
    }
    found
}
