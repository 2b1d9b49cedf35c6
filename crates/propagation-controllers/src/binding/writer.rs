//! The only place where the binding controller writes.

use api_types::BindingKey;
use api_types::cluster::condition::DELETION_BLOCKED;
use api_types::conditions::{self, Say};
use api_types::work::{Binding, Work};
use controller_kit::{Context, api_errors};
use kube::Api;
use kube::api::{DeleteParams, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};

use crate::patches::{Changes, status_onto};

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// What is there is not what was read: the change that tells so brings us back.
    Outdated,
}

/// Creates a Work. One that is there already was made by an earlier try that we have not read yet.
pub async fn create(ctx: &Context, work: &Work) -> Result<Outcome, kube::Error> {
    match works(ctx, work).create(&PostParams::default(), work).await {
        Ok(_) => Ok(Outcome::Done),
        Err(error) if api_errors::is_already_exists(&error) => Ok(Outcome::Outdated),
        Err(error) => Err(error),
    }
}

/// Makes the parts of a Work that we write be as wanted.
pub async fn update(ctx: &Context, present: &Work, wanted: &Work) -> Result<Outcome, kube::Error> {
    let value = |work: &Work| serde_json::to_value(work).unwrap_or_default();
    let (before, after) = (value(present), value(wanted));
    let mut changes = Changes::new();
    changes.field("/spec", before.get("spec"), after.get("spec"));
    for map in ["labels", "annotations"] {
        let path = format!("/metadata/{map}");
        if let Some(wanted) = after.pointer(&path).and_then(Value::as_object) {
            changes.entries(&path, before.pointer(&path).and_then(Value::as_object), wanted);
        }
    }
    let mut finalizers = present.metadata.finalizers.clone().unwrap_or_default();
    for needed in wanted.metadata.finalizers.iter().flatten() {
        if !finalizers.contains(needed) {
            finalizers.push(needed.clone());
        }
    }
    changes.field(
        "/metadata/finalizers",
        before.pointer("/metadata/finalizers"),
        Some(&json!(finalizers)),
    );
    let Some(patch) = changes.onto(present) else {
        return Ok(Outcome::Done);
    };
    let name = present.metadata.name.as_deref().unwrap_or_default();
    outdated_or(
        works(ctx, present)
            .patch(name, &PatchParams::default(), &patch)
            .await
            .map(drop),
    )
}

/// Deletes exactly the Work that was read.
pub async fn delete(ctx: &Context, work: &Work) -> Result<Outcome, kube::Error> {
    let params = DeleteParams::default().preconditions(Preconditions {
        uid: work.metadata.uid.clone(),
        resource_version: work.metadata.resource_version.clone(),
    });
    let name = work.metadata.name.as_deref().unwrap_or_default();
    outdated_or(works(ctx, work).delete(name, &params).await.map(drop))
}

/// Lets a binding go whose Works are gone.
pub async fn release(ctx: &Context, key: &BindingKey, binding: &Binding) -> Result<Outcome, kube::Error> {
    let present = binding.metadata.finalizers.clone().unwrap_or_default();
    let left: Vec<&String> = present
        .iter()
        .filter(|name| name.as_str() != key.kind().finalizer())
        .collect();
    let mut changes = Changes::new();
    changes.field("/metadata/finalizers", Some(&json!(present)), Some(&json!(left)));
    let Some(patch) = changes.onto(binding) else {
        return Ok(Outcome::Done);
    };
    outdated_or(
        binding_writer::api(&ctx.client, key)
            .patch(&key.name, &PatchParams::default(), &patch)
            .await
            .map(drop),
    )
}

/// Says on a binding which clusters keep it. Writes nothing when it says so already.
pub async fn say_blocked(
    ctx: &Context,
    key: &BindingKey,
    binding: &Binding,
    message: &str,
) -> Result<Outcome, kube::Error> {
    let mut all = binding
        .status
        .as_ref()
        .map(|status| status.conditions.clone())
        .unwrap_or_default();
    let say = Say {
        type_: DELETION_BLOCKED,
        status: "True",
        reason: "ClustersNotReady",
        message,
    };
    if !conditions::set(&mut all, say, binding.metadata.generation, ctx.clock.now()) {
        return Ok(Outcome::Done);
    }
    let patch = status_onto(binding, &json!({"conditions": all}));
    outdated_or(
        binding_writer::api(&ctx.client, key)
            .patch_status(&key.name, &PatchParams::default(), &patch)
            .await
            .map(drop),
    )
}

fn outdated_or(result: Result<(), kube::Error>) -> Result<Outcome, kube::Error> {
    match result {
        Ok(()) => Ok(Outcome::Done),
        Err(error) if api_errors::is_outdated(&error) || api_errors::is_not_found(&error) => Ok(Outcome::Outdated),
        Err(error) => Err(error),
    }
}

fn works(ctx: &Context, work: &Work) -> Api<Work> {
    Api::namespaced(
        ctx.client.clone(),
        work.metadata.namespace.as_deref().unwrap_or_default(),
    )
}
