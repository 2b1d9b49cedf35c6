//! The only place where `dependencies` writes.

use api_types::BindingKey;
use api_types::names::finalizer;
use api_types::work::Binding;
use controller_kit::Context;
use kube::api::{PatchParams, PostParams};
use serde_json::{Map, Value, json};

use super::reconcile::changes;
use crate::interpreter::DependentObject;
use crate::patches::Changes;

/// JSON list of what the template of a binding needs: API version, kind, namespace, name or labels. Stock's name.
const DEPENDENCIES: &str = "resourcebinding.karmada.io/dependencies";

/// Creates an attached binding.
pub async fn create(ctx: &Context, binding: &Binding) -> Result<(), kube::Error> {
    let api = binding_writer::api(&ctx.client, &binding.key());
    api.create(&PostParams::default(), binding).await.map(drop)
}

/// Makes our fields of an attached binding be as wanted. Says whether there was anything to write.
pub async fn update(ctx: &Context, present: &Binding, wanted: &Binding) -> Result<bool, kube::Error> {
    patch(ctx, present, changes(present, wanted)).await
}

/// Notes on a referrer what its template needs.
pub async fn note(ctx: &Context, referrer: &Binding, dependencies: &[DependentObject]) -> Result<(), kube::Error> {
    let annotations = referrer.metadata.annotations.clone().map(|all| json!(all));
    let present = annotations.as_ref().and_then(Value::as_object);
    let is_noted = present.is_some_and(|all| all.contains_key(DEPENDENCIES));
    if dependencies.is_empty() && !is_noted {
        return Ok(());
    }
    // In the order of stock's fields.
    let note = serde_json::to_string(dependencies).unwrap_or_default();
    let wanted = Map::from_iter([(DEPENDENCIES.to_owned(), Value::String(note))]);
    let mut changes = Changes::new();
    changes.entries("/metadata/annotations", present, &wanted);
    patch(ctx, referrer, changes).await.map(drop)
}

/// Lets a binding go that stock's finalizer keeps.
pub async fn let_go(ctx: &Context, leaving: &Binding) -> Result<(), kube::Error> {
    let present = leaving.metadata.finalizers.clone().unwrap_or_default();
    let left: Vec<&String> = present.iter().filter(|name| *name != finalizer::DEPENDENCIES).collect();
    let mut changes = Changes::new();
    changes.field("/metadata/finalizers", Some(&json!(present)), Some(&json!(left)));
    patch(ctx, leaving, changes).await.map(drop)
}

async fn patch(ctx: &Context, present: &Binding, changes: Changes) -> Result<bool, kube::Error> {
    let key: BindingKey = present.key();
    let Some(patch) = changes.onto(present) else {
        return Ok(false);
    };
    let api = binding_writer::api(&ctx.client, &key);
    api.patch(&key.name, &PatchParams::default(), &patch).await?;
    Ok(true)
}
