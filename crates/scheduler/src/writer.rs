//! The only place that writes.

use std::collections::BTreeSet;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind};
use controller_kit::{Context, EventType, api_errors};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Api;
use kube::Resource;
use kube::api::{Patch, PatchParams};

use crate::own::Deciding;
use crate::plan::{Plan, Said, spec_patch, status_patch};

/// What became of the writes.
pub(crate) enum Outcome {
    /// All is as planned.
    Done,
    /// The binding changed since it was read: decide anew.
    Conflict,
    /// The binding is gone.
    Gone,
}

/// The binding as it is stored now.
pub(crate) async fn read(ctx: &Context, key: &BindingKey) -> Result<Option<Binding>, kube::Error> {
    binding_writer::api(&ctx.client, key).get_opt(&key.name).await
}

/// The clusters of these names, and the names for which the API server has none. A cache may lag; taking a cluster out
/// of a result wants the server's own word.
pub(crate) async fn look_up(ctx: &Context, names: &[String]) -> Result<(Vec<Cluster>, BTreeSet<String>), kube::Error> {
    let clusters: Api<Cluster> = Api::all(ctx.client.clone());
    let (mut found, mut gone) = (Vec::new(), BTreeSet::new());
    for name in names {
        match clusters.get_opt(name).await? {
            Some(cluster) => found.push(cluster),
            None => {
                gone.insert(name.clone());
            }
        }
    }
    Ok((found, gone))
}

/// Writes the result, then the status of what was written, then the events.
pub(crate) async fn write(
    ctx: &Context,
    deciding: &Deciding<'_>,
    read: &Binding,
    plan: &Plan,
    now: Timestamp,
) -> Result<Outcome, kube::Error> {
    let key = read.key();
    let api = binding_writer::api(&ctx.client, &key);
    let params = PatchParams::default();
    let mut stored = read.clone();
    if let Some(change) = &plan.spec {
        match settle(
            api.patch(&key.name, &params, &Patch::Merge(spec_patch(read, change)))
                .await,
        )? {
            Ok(written) => {
                deciding.wrote(read, &written);
                stored = written;
            }
            Err(outcome) => return Ok(outcome),
        }
        // The result is written: what people are told must not wait for the status.
        publish(ctx, &stored, plan);
    }
    if let Some(patch) = status_patch(&stored, &plan.saying, now) {
        match settle(api.patch_status(&key.name, &params, &Patch::Merge(patch)).await)? {
            Ok(written) => deciding.wrote(&stored, &written),
            Err(outcome) => return Ok(outcome),
        }
    }
    if plan.spec.is_none() {
        publish(ctx, &stored, plan);
    }
    Ok(Outcome::Done)
}

fn settle(written: Result<Binding, kube::Error>) -> Result<Result<Binding, Outcome>, kube::Error> {
    match written {
        Ok(binding) => Ok(Ok(binding)),
        Err(error) if api_errors::is_conflict(&error) => Ok(Err(Outcome::Conflict)),
        Err(error) if api_errors::is_not_found(&error) => Ok(Err(Outcome::Gone)),
        Err(error) => Err(error),
    }
}

fn publish(ctx: &Context, binding: &Binding, plan: &Plan) {
    let kind: BindingKind = binding.key().kind();
    let about = [binding.object_ref(&kind), (&binding.spec.resource).into()];
    for said in &plan.events {
        let (event_type, reason, note) = match said {
            Said::Succeeded(note) | Said::Moved(note) => (EventType::Normal, "ScheduleBindingSucceed", note.clone()),
            Said::Failed(note) => (EventType::Warning, "ScheduleBindingFailed", note.clone()),
            Said::ClustersGone(names) => (
                EventType::Warning,
                "ClusterGone",
                format!("Removed from the scheduling result because the Cluster does not exist any more: {names}"),
            ),
        };
        let trigger = plan.trigger.map(|trigger| format!("{trigger:?}"));
        tracing::info!(binding = %binding.key(), trigger, reason, "{note}");
        for object in said_on(said, &about) {
            ctx.events.publish(object, event_type, reason, note.clone());
        }
    }
}

/// A success is told on the template alone: on the binding it is the condition and the result themselves, and a move is to
/// cost few writes.
fn said_on<'a>(said: &Said, about: &'a [ObjectReference; 2]) -> &'a [ObjectReference] {
    let [_, template] = about;
    match said {
        Said::Succeeded(_) => std::slice::from_ref(template),
        Said::Moved(_) => &[],
        Said::Failed(_) | Said::ClustersGone(_) => about,
    }
}
