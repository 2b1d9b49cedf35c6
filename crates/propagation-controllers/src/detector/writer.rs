//! The only place where the detector writes.

use api_types::BindingKey;
use api_types::policy::{Policy, PolicyKind};
use api_types::work::Binding;
use controller_kit::{Context, api_errors};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Api;
use kube::api::{DeleteParams, PatchParams, PostParams, Preconditions};
use serde_json::{Map, Value, json};

use super::matching::{Claim, id_label, kind_of, permanent_id};
use super::reconcile::OWNED_FIELDS;
use crate::json::text;
use crate::objects::{TemplateKey, api, to_value};
use crate::patches::Changes;

/// Writes the claim on a template, or takes it away. Returns the template as it then is.
pub async fn claim(
    ctx: &Context,
    key: &TemplateKey,
    template: &Value,
    claim: Option<&Claim>,
) -> Result<Value, kube::Error> {
    let mut changes = Changes::new();
    let map = |wanted: Vec<(&'static str, Option<String>)>| -> Map<String, Value> {
        wanted
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.map_or(Value::Null, Value::String)))
            .collect()
    };
    for (path, wanted) in [
        ("/metadata/labels", map(Claim::labels(claim).into())),
        ("/metadata/annotations", map(Claim::annotations(claim).into())),
    ] {
        changes.entries(path, template.pointer(path).and_then(Value::as_object), &wanted);
    }
    let Some(patch) = changes.onto_version(text(template, "/metadata/resourceVersion")) else {
        return Ok(template.clone());
    };
    let written = api(&ctx.client, &key.kind.api_resource(), key.object.namespace.as_deref())
        .patch(&key.object.name, &PatchParams::default(), &patch)
        .await?;
    Ok(to_value(&key.kind, &written))
}

/// Whether a template is there, asked of the API server itself.
pub async fn existence(ctx: &Context, key: &TemplateKey) -> Result<Existence, kube::Error> {
    let api = api(&ctx.client, &key.kind.api_resource(), key.object.namespace.as_deref());
    match api.get_metadata(&key.object.name).await {
        Ok(_) => Ok(Existence::There),
        Err(kube::Error::Api(status)) if status.code == 404 => {
            let named = status.details.as_ref().map(|details| details.name.as_str());
            let is_about_it = named == Some(key.object.name.as_str());
            Ok(if is_about_it {
                Existence::Gone
            } else {
                Existence::KindNotServed
            })
        }
        Err(error) => Err(error),
    }
}

/// What the API server says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It is there.
    There,
    /// There is no such object.
    Gone,
    /// It does not serve the kind, in this version, so that it says nothing of the object.
    KindNotServed,
}

/// The value of a PriorityClass; `None` when there is none of that name.
pub async fn priority(ctx: &Context, class: &str) -> Result<Option<i32>, kube::Error> {
    let classes: Api<PriorityClass> = Api::all(ctx.client.clone());
    Ok(classes
        .get_opt(class)
        .await?
        .map(|class| class.value.unwrap_or_default()))
}

/// Creates a binding.
pub async fn create(ctx: &Context, key: &BindingKey, binding: &Binding) -> Result<(), kube::Error> {
    binding_writer::api(&ctx.client, key)
        .create(&PostParams::default(), binding)
        .await
        .map(drop)
}

/// Changes of a binding in the fields that are ours; nothing when there is nothing to change.
#[must_use]
pub fn changes(present: &Binding, wanted: &Binding) -> Changes {
    let value = |binding: &Binding| serde_json::to_value(binding).unwrap_or_default();
    let (before, after) = (value(present), value(wanted));
    let mut changes = Changes::new();
    for field in OWNED_FIELDS {
        let path = format!("/spec/{field}");
        changes.field(&path, before.pointer(&path), after.pointer(&path));
    }
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let path = format!("/metadata/{field}");
        changes.field(&path, before.pointer(&path), after.pointer(&path));
    }
    changes
}

/// Writes changes of a binding.
pub async fn update(ctx: &Context, key: &BindingKey, present: &Binding, changes: Changes) -> Result<(), kube::Error> {
    let Some(patch) = changes.onto(present) else {
        return Ok(());
    };
    binding_writer::api(&ctx.client, key)
        .patch(&key.name, &PatchParams::default(), &patch)
        .await
        .map(drop)
}

/// Deletes exactly the binding that was read. One that is gone or has changed is left to the next look.
pub async fn delete(ctx: &Context, key: &BindingKey, binding: &Binding) -> Result<(), kube::Error> {
    let (uid, resource_version) = (binding.metadata.uid.clone(), binding.metadata.resource_version.clone());
    let params = DeleteParams::default().preconditions(Preconditions { uid, resource_version });
    match binding_writer::api(&ctx.client, key).delete(&key.name, &params).await {
        Err(error) if !api_errors::is_not_found(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Gives a policy its permanent id when no webhook did.
pub async fn give_id(ctx: &Context, policy: &Policy) -> Result<(), kube::Error> {
    let labels = policy.metadata.labels.clone().map(|labels| json!(labels));
    let wanted = Map::from_iter([(
        id_label(kind_of(policy)).to_owned(),
        Value::String(permanent_id(policy)),
    )]);
    let mut changes = Changes::new();
    changes.entries("/metadata/labels", labels.as_ref().and_then(Value::as_object), &wanted);
    patch_policy(ctx, policy, changes).await
}

/// Lets a deleted policy go whose claims are released.
pub async fn release_policy(ctx: &Context, policy: &Policy, finalizer: &str) -> Result<(), kube::Error> {
    let present = policy.metadata.finalizers.clone().unwrap_or_default();
    let left: Vec<&String> = present.iter().filter(|name| *name != finalizer).collect();
    let mut changes = Changes::new();
    changes.field("/metadata/finalizers", Some(&json!(present)), Some(&json!(left)));
    patch_policy(ctx, policy, changes).await
}

async fn patch_policy(ctx: &Context, policy: &Policy, changes: Changes) -> Result<(), kube::Error> {
    let Some(patch) = changes.onto(policy) else {
        return Ok(());
    };
    let kind = kind_of(policy);
    let api: Api<Policy> = match (kind, policy.metadata.namespace.as_deref()) {
        (PolicyKind::Namespaced, Some(namespace)) => Api::namespaced_with(ctx.client.clone(), namespace, &kind),
        _ => Api::all_with(ctx.client.clone(), &kind),
    };
    api.patch(
        policy.metadata.name.as_deref().unwrap_or_default(),
        &PatchParams::default(),
        &patch,
    )
    .await
    .map(drop)
}
