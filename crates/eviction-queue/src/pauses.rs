//! Writes the status of FailoverPauses, at most once a second, and tells in events when one begins and ends; as often it
//! says on the Lease why nothing is released.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::conditions::Say;
use api_types::failover::{FailoverPause, FailoverPauseStatus};
use controller_kit::metrics::{CollectorGuard, Family};
use controller_kit::{Context, EventType, ObjectKey, Store, api_errors};
use failover_core::eviction::pause::problem;
use failover_core::eviction::queue::{PauseScopeView, PauseView, Queue};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::shell::Shell;
use crate::standstill::Standstill;

const AT_MOST_EVERY: Duration = Duration::from_secs(1);
/// The longest wait after writes that failed.
const RETRIED_WITHIN: Duration = Duration::from_secs(60);

/// Runs until the process stops.
pub async fn report(ctx: &Context, shell: &Arc<Shell>) {
    let Ok(store) = ctx.informers.of::<FailoverPause>().synced().await else {
        return;
    };
    let _ages = show_ages(ctx, shell, &store);
    let mut beats = shell.beats();
    let mut standstill = Standstill::default();
    let mut wait = AT_MOST_EVERY;
    loop {
        let verdict = shell.look(|queue, _| queue.verdict().clone());
        standstill.say(ctx, &verdict);
        let wanted = shell.look(|queue, now| statuses(queue, now.wall));
        let mut all = Written::Yes;
        for (name, wanted) in &wanted {
            if write(ctx, &store, name, wanted).await == Written::NotYet {
                all = Written::NotYet;
            }
        }
        tokio::time::sleep(wait).await;
        if all == Written::NotYet {
            // At rest nobody would bring it here again.
            wait = (wait * 2).min(RETRIED_WITHIN);
            continue;
        }
        wait = AT_MOST_EVERY;
        if beats.changed().await.is_err() {
            return;
        }
    }
}

/// Shows how long each pause has been in effect, for as long as the guard lives.
fn show_ages(ctx: &Context, shell: &Arc<Shell>, store: &Store<FailoverPause>) -> CollectorGuard {
    let (shell, store, clock) = (Arc::downgrade(shell), store.clone(), ctx.clock.clone());
    ctx.metrics.guarded_collector("pauses", move || {
        let now = clock.now();
        let active: BTreeSet<String> = shell.upgrade().map_or_else(BTreeSet::new, |shell| {
            shell.look(|queue, now| {
                let active = queue.pauses().filter(|pause| pause.is_active(now.wall));
                active.map(|pause| pause.name.clone()).collect()
            })
        });
        let ages = store.list().into_iter().fold(
            Family::gauge(
                "failover_queue_pause_age_seconds",
                "How long a pause has been in effect, by name, and by whether it ends ByItself or ByHand.",
            ),
            |family, pause| match (&pause.metadata.name, &pause.metadata.creation_timestamp) {
                (Some(name), Some(since)) if active.contains(name) => {
                    let ends = if pause.spec.until.is_some() {
                        "ByItself"
                    } else {
                        "ByHand"
                    };
                    let age = now.duration_since(since.0).as_secs_f64().max(0.0);
                    family.with(&[("pause", name), ("ends", ends)], age)
                }
                _ => family,
            },
        );
        vec![ages]
    })
}

/// Whether a status says what it should, as far as that is up to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// It does, or the informer will tell of what is in the way.
    Yes,
    /// The write failed.
    NotYet,
}

/// What the status of a pause should say.
struct Wanted {
    view: PauseView,
    /// Whether it is in effect.
    active: bool,
    /// How many entries it keeps in the queue, alone or together with others.
    held_entries: usize,
}

fn statuses(queue: &Queue, now: Timestamp) -> BTreeMap<String, Wanted> {
    let wanted = |view: &PauseView| Wanted {
        view: view.clone(),
        active: view.is_active(now),
        held_entries: 0,
    };
    let mut statuses: BTreeMap<_, _> = queue
        .pauses()
        .map(|pause| (pause.name.clone(), wanted(pause)))
        .collect();
    for held in queue.pauses_held(now) {
        if let Some(wanted) = statuses.get_mut(&held.pause.name) {
            wanted.held_entries = held.held_entries;
        }
    }
    statuses
}

async fn write(ctx: &Context, store: &Store<FailoverPause>, name: &str, wanted: &Wanted) -> Written {
    let Wanted { view, active, .. } = wanted;
    let active = *active;
    let Some(pause) = store.get(&ObjectKey::cluster_scoped(name)) else {
        return Written::Yes;
    };
    let before = pause.status.clone().unwrap_or_default();
    let held_entries = i64::try_from(wanted.held_entries).unwrap_or(i64::MAX);
    let problem = problem(&pause).map(|problem| problem.message);
    let mut conditions = before.conditions.clone();
    let generation = pause.metadata.generation;
    if problem.is_some() || conditions.iter().any(|condition| condition.type_ == ACCEPTED) {
        api_types::conditions::set(
            &mut conditions,
            accepted(problem.as_deref()),
            generation,
            ctx.clock.now(),
        );
    }
    let wanted = FailoverPauseStatus {
        active,
        held_entries,
        conditions,
    };
    if pause.status.as_ref() == Some(&wanted) {
        return Written::Yes;
    }
    let pauses: Api<FailoverPause> = Api::all(ctx.client.clone());
    let patch = json!({
        "metadata": {"resourceVersion": pause.metadata.resource_version},
        "status": wanted,
    });
    match pauses
        .patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
    {
        Ok(_) => {
            if before.active != active {
                let (reason, what) = if active {
                    ("PauseBegan", "held back")
                } else {
                    ("PauseEnded", "released again")
                };
                let note = format!("{} are {what}: {}", scope(view), view.reason);
                ctx.events.publish_for(pause.as_ref(), EventType::Normal, reason, note);
            }
            if let Some(problem) = problem.filter(|problem| !says(&before.conditions, problem)) {
                ctx.events
                    .publish_for(pause.as_ref(), EventType::Warning, "PauseInvalid", problem);
            }
            Written::Yes
        }
        // Somebody else wrote it, or it is gone: the informer will tell.
        Err(error) if api_errors::is_conflict(&error) || api_errors::is_not_found(&error) => Written::Yes,
        Err(error) => {
            tracing::warn!(
                pause = name,
                error = api_errors::one_line(&error),
                "cannot write the status of a pause"
            );
            Written::NotYet
        }
    }
}

/// Whether the pause does what its spec looks like; absent while nobody ever had a doubt.
const ACCEPTED: &str = "Accepted";

fn accepted(problem: Option<&str>) -> Say<'_> {
    match problem {
        None => Say {
            type_: ACCEPTED,
            status: "True",
            reason: "Accepted",
            message: "",
        },
        Some(problem) => Say {
            type_: ACCEPTED,
            status: "False",
            reason: "InvalidSpec",
            message: problem,
        },
    }
}

fn says(conditions: &[Condition], problem: &str) -> bool {
    let mut conditions = conditions.iter();
    conditions.any(|condition| condition.type_ == ACCEPTED && condition.message == problem)
}

fn scope(view: &PauseView) -> String {
    let listed = |names: &std::collections::BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    match &view.scope {
        PauseScopeView::All => "all evictions".to_owned(),
        PauseScopeView::Clusters(clusters) => format!("evictions from clusters {}", listed(clusters)),
        PauseScopeView::Namespaces(namespaces) => format!("evictions of namespaces {}", listed(namespaces)),
    }
}
