//! Writes of bindingStatus: each for the version that was read, so that a conflict leads to a new look at all Works
//! and never to an old picture over a newer one.

use api_types::work::{AggregatedStatusItem, Binding, ResourceBindingStatus, condition};
use api_types::{BindingKey, conditions};
use controller_kit::{Context, api_errors};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::interpreted::condition::INTERPRETED;
use crate::objects::{TemplateKey, api, to_value};
use crate::patches::status_onto;

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done, or there was nothing to do.
    Done,
    /// There is another version; what to write has to be worked out anew.
    Outdated,
}

/// The parts of a binding's status that we write: the copies, and our conditions.
#[must_use]
pub fn ours(binding: &Binding) -> Option<(&[AggregatedStatusItem], [Option<&Condition>; 2])> {
    let status = binding.status.as_ref()?;
    let said = [condition::FULLY_APPLIED, INTERPRETED].map(|type_| conditions::get(&status.conditions, type_));
    Some((status.aggregated_status.as_slice(), said))
}

/// Writes the parts of a binding's status that are ours.
pub async fn say(
    ctx: &Context,
    key: &BindingKey,
    binding: &Binding,
    wanted: &ResourceBindingStatus,
) -> Result<Outcome, kube::Error> {
    let present = binding.status.clone().unwrap_or_default();
    if present.aggregated_status == wanted.aggregated_status && present.conditions == wanted.conditions {
        return Ok(Outcome::Done);
    }
    let patch = status_onto(
        binding,
        &json!({"aggregatedStatus": wanted.aggregated_status, "conditions": wanted.conditions}),
    );
    outcome(
        binding_writer::api(&ctx.client, key)
            .patch_status(&key.name, &PatchParams::default(), &patch)
            .await
            .map(drop),
    )
}

/// Writes fields of a template's status.
pub async fn say_on_template(
    ctx: &Context,
    key: &TemplateKey,
    template: &Value,
    fields: &Value,
) -> Result<Outcome, kube::Error> {
    let patch = Patch::Merge(
        json!({"metadata": {"resourceVersion": template["metadata"]["resourceVersion"]}, "status": fields}),
    );
    let api = api(&ctx.client, &key.kind.api_resource(), key.object.namespace.as_deref());
    outcome(
        api.patch_status(&key.object.name, &PatchParams::default(), &patch)
            .await
            .map(drop),
    )
}

/// The binding as it is stored now.
pub async fn read(ctx: &Context, key: &BindingKey) -> Result<Option<Binding>, kube::Error> {
    binding_writer::api(&ctx.client, key).get_opt(&key.name).await
}

/// The template as it is stored now.
pub async fn read_template(ctx: &Context, key: &TemplateKey) -> Result<Option<Value>, kube::Error> {
    let api = api(&ctx.client, &key.kind.api_resource(), key.object.namespace.as_deref());
    let found = api.get_opt(&key.object.name).await?;
    Ok(found.map(|template| to_value(&key.kind, &template)))
}

fn outcome(result: Result<(), kube::Error>) -> Result<Outcome, kube::Error> {
    match result {
        Ok(()) => Ok(Outcome::Done),
        Err(error) if api_errors::is_conflict(&error) => Ok(Outcome::Outdated),
        Err(error) if api_errors::is_not_found(&error) => Ok(Outcome::Done),
        Err(error) => Err(error),
    }
}
