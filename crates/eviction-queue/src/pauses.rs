//! Writes the status of FailoverPauses, at most once a second, and tells in events when one begins and ends; as often it
//! says on the Lease why nothing is released.

use std::collections::BTreeMap;
use std::time::Duration;

use api_types::failover::{FailoverPause, FailoverPauseStatus};
use controller_kit::{Context, EventType, ObjectKey, Store, api_errors};
use failover_core::eviction::queue::{PauseScopeView, PauseView, Queue};
use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::shell::Shell;
use crate::standstill::Standstill;

const AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// Runs until the process stops.
pub async fn report(ctx: &Context, shell: &Shell) {
    let Ok(store) = ctx.informers.of::<FailoverPause>().synced().await else {
        return;
    };
    let mut beats = shell.beats();
    let mut standstill = Standstill::default();
    loop {
        let verdict = shell.look(|queue, _| queue.verdict().clone());
        standstill.say(ctx, &verdict);
        let wanted = shell.look(|queue, now| statuses(queue, now.wall));
        for (name, wanted) in &wanted {
            write(ctx, &store, name, wanted).await;
        }
        tokio::time::sleep(AT_MOST_EVERY).await;
        if beats.changed().await.is_err() {
            return;
        }
    }
}

/// What the status of a pause should say.
struct Wanted {
    view: PauseView,
    /// Whether it is in effect.
    active: bool,
    /// How many entries would leave without it.
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

async fn write(ctx: &Context, store: &Store<FailoverPause>, name: &str, wanted: &Wanted) {
    let Wanted { view, active, .. } = wanted;
    let active = *active;
    let Some(pause) = store.get(&ObjectKey::cluster_scoped(name)) else {
        return;
    };
    let before = pause.status.clone().unwrap_or_default();
    let held_entries = i64::try_from(wanted.held_entries).unwrap_or(i64::MAX);
    let wanted = FailoverPauseStatus {
        active,
        held_entries,
        conditions: before.conditions.clone(),
    };
    if pause.status.as_ref() == Some(&wanted) {
        return;
    }
    let pauses: Api<FailoverPause> = Api::all(ctx.client.clone());
    let patch = json!({
        "metadata": {"resourceVersion": pause.metadata.resource_version},
        "status": {"active": active, "heldEntries": held_entries},
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
        }
        // Somebody else wrote it, or it is gone: the informer will tell.
        Err(error) if api_errors::is_conflict(&error) || api_errors::is_not_found(&error) => {}
        Err(error) => {
            tracing::warn!(
                pause = name,
                error = api_errors::one_line(&error),
                "cannot write the status of a pause"
            );
        }
    }
}

fn scope(view: &PauseView) -> String {
    let listed = |names: &std::collections::BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    match &view.scope {
        PauseScopeView::All => "all evictions".to_owned(),
        PauseScopeView::Clusters(clusters) => format!("evictions from clusters {}", listed(clusters)),
        PauseScopeView::Namespaces(namespaces) => format!("evictions of namespaces {}", listed(namespaces)),
    }
}
