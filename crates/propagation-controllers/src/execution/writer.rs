//! Writes of execution to the control plane.

use api_types::names::finalizer;
use api_types::work::{ManifestStatus, Work};
use controller_kit::{Context, api_errors};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Api;
use kube::api::PatchParams;
use serde_json::json;

use super::conditions::{self, Applied};
use crate::patches::{Changes, status_onto};

/// Tries of one status write before it is left to the queue.
const TRIES: usize = 5;

/// Whether something was said that was not said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// It was, and is written.
    News,
    /// All was said already, or nobody is there to be told.
    Nothing,
}

/// Says on a Work how applying it ended. Worked out anew from what is there when another writer was first; nothing is
/// written about a version that is no longer the newest, or when all is said already.
///
/// `first` is what the objects are like: said together with it while nobody has reported on the Work yet, which saves
/// workStatus a write for each copy of what has no status of its own. Later reports are not ours.
pub async fn say_applied(
    ctx: &Context,
    work: &Work,
    applied: &Applied,
    first: &[ManifestStatus],
) -> Result<Spoken, kube::Error> {
    let api = works(ctx, work);
    let name = work.metadata.name.as_deref().unwrap_or_default();
    let mut current = work.clone();
    let mut conflict = None;
    for _ in 0..TRIES {
        if current.metadata.uid != work.metadata.uid || current.metadata.generation != work.metadata.generation {
            return Ok(Spoken::Nothing);
        }
        let Some(wanted) = conditions::after(&current, applied, ctx.clock.now()) else {
            return Ok(Spoken::Nothing);
        };
        let reported = current
            .status
            .as_ref()
            .is_some_and(|status| !status.manifest_statuses.is_empty());
        let first = (!reported && !first.is_empty()).then_some(first);
        match write(&api, name, &current, &wanted, first).await {
            Ok(()) => return Ok(Spoken::News),
            Err(error) if api_errors::is_not_found(&error) => return Ok(Spoken::Nothing),
            Err(error) if api_errors::is_conflict(&error) => conflict = Some(error),
            Err(error) => return Err(error),
        }
        let Some(newest) = api.get_opt(name).await? else {
            return Ok(Spoken::Nothing);
        };
        current = newest;
    }
    conflict.map_or(Ok(Spoken::Nothing), Err)
}

async fn write(
    api: &Api<Work>,
    name: &str,
    read: &Work,
    wanted: &[Condition],
    first: Option<&[ManifestStatus]>,
) -> Result<(), kube::Error> {
    let mut status = json!({"conditions": wanted});
    if let Some(first) = first {
        status["manifestStatuses"] = json!(first);
    }
    let patch = status_onto(read, &status);
    api.patch_status(name, &PatchParams::default(), &patch).await.map(drop)
}

/// Lets a Work go: its objects are gone from the member, or the member is gone.
pub async fn release(ctx: &Context, work: &Work) -> Result<(), kube::Error> {
    let api = works(ctx, work);
    let name = work.metadata.name.as_deref().unwrap_or_default();
    let mut current = work.clone();
    let mut conflict = None;
    for _ in 0..TRIES {
        if current.metadata.uid != work.metadata.uid {
            return Ok(());
        }
        let present = current.metadata.finalizers.clone().unwrap_or_default();
        let left: Vec<&String> = present
            .iter()
            .filter(|name| name.as_str() != finalizer::EXECUTION)
            .collect();
        let mut changes = Changes::new();
        changes.field("/metadata/finalizers", Some(&json!(present)), Some(&json!(left)));
        let Some(patch) = changes.onto(&current) else {
            return Ok(());
        };
        match api.patch(name, &PatchParams::default(), &patch).await {
            Ok(_) => return Ok(()),
            Err(error) if api_errors::is_not_found(&error) => return Ok(()),
            Err(error) if api_errors::is_outdated(&error) => conflict = Some(error),
            Err(error) => return Err(error),
        }
        let Some(newest) = api.get_opt(name).await? else {
            return Ok(());
        };
        current = newest;
    }
    conflict.map_or(Ok(()), Err)
}

/// Whether this Work still waits for us.
#[must_use]
pub fn is_ours(work: &Work) -> bool {
    work.metadata
        .finalizers
        .iter()
        .flatten()
        .any(|name| name == finalizer::EXECUTION)
}

fn works(ctx: &Context, work: &Work) -> Api<Work> {
    Api::namespaced(
        ctx.client.clone(),
        work.metadata.namespace.as_deref().unwrap_or_default(),
    )
}
