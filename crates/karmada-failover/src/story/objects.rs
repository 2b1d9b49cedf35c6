//! What a person does to objects of the control plane, through any client: the sandbox's or a real server's.

use anyhow::{Context as _, anyhow};
use jiff::{SignedDuration, Timestamp};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::scenario::ObjectName;

/// Creates an object of any kind.
///
/// # Errors
/// When it has no kind, or the server refuses it.
pub async fn create(client: &Client, object: Value) -> anyhow::Result<()> {
    let object: DynamicObject = serde_json::from_value(object)?;
    let types = object
        .types
        .clone()
        .ok_or_else(|| anyhow!("an object without a kind"))?;
    let named = format!("{} {}", types.kind, object.name_any());
    let api = api_of(client, &types, object.namespace().as_deref())?;
    api.create(&PostParams::default(), &object)
        .await
        .with_context(|| format!("cannot create {named}"))?;
    Ok(())
}

/// Creates an object, or replaces what is wanted of it: `spec` or `data`. Read again when somebody else was faster.
///
/// # Errors
/// When it has no kind, or the server refuses it.
pub async fn put(client: &Client, object: &Value) -> anyhow::Result<()> {
    let wanted: DynamicObject = serde_json::from_value(object.clone())?;
    let types = wanted
        .types
        .clone()
        .ok_or_else(|| anyhow!("an object without a kind"))?;
    let (kind, name) = (types.kind.clone(), wanted.name_any());
    let api = api_of(client, &types, wanted.namespace().as_deref())?;
    loop {
        let stored = api
            .get_opt(&name)
            .await
            .with_context(|| format!("cannot read {kind} {name}"))?;
        let Some(mut stored) = stored else {
            return create(client, object.clone()).await;
        };
        for part in ["spec", "data"] {
            if let Some(value) = wanted.data.get(part) {
                stored.data[part] = value.clone();
            }
        }
        match api.replace(&name, &PostParams::default(), &stored).await {
            Ok(_) => return Ok(()),
            Err(error) if controller_kit::api_errors::is_conflict(&error) => {}
            Err(error) => return Err(error).with_context(|| format!("cannot change {kind} {name}")),
        }
    }
}

/// Changes an object by a merge patch.
///
/// # Errors
/// When it is not there, or the server refuses the patch.
pub async fn patch(client: &Client, object: &ObjectName, patch: &Value) -> anyhow::Result<()> {
    api_named(client, object)?
        .patch(&object.name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .with_context(|| format!("cannot change {} {}", object.kind, object.name))?;
    Ok(())
}

/// Asks for a fresh placement of a binding, at a time that is after the last one by the scheduler's clock, whichever that is.
///
/// # Errors
/// When it is not there or was never placed, or the server refuses.
pub async fn reschedule(client: &Client, binding: &ObjectName) -> anyhow::Result<()> {
    let stored = api_named(client, binding)?
        .get(&binding.name)
        .await
        .with_context(|| format!("cannot read {} {}", binding.kind, binding.name))?;
    let last = stored.data["status"]["lastScheduledTime"].as_str();
    let last = last.ok_or_else(|| anyhow!("{} was never placed", binding.name))?;
    let asked = last.parse::<Timestamp>()? + SignedDuration::from_secs(1);
    let wanted = json!({"spec": {"rescheduleTriggeredAt": asked.to_string()}});
    patch(client, binding, &wanted).await
}

/// Deletes an object.
///
/// # Errors
/// When it is not there, or the server refuses.
pub async fn delete(client: &Client, object: &ObjectName) -> anyhow::Result<()> {
    api_named(client, object)?
        .delete(&object.name, &DeleteParams::default())
        .await
        .with_context(|| format!("cannot delete {} {}", object.kind, object.name))?;
    Ok(())
}

/// Changes the taints of a Cluster, on the version that was read; read again when somebody else was faster.
///
/// # Errors
/// When the Cluster is not there, or the server refuses.
pub async fn edit_taints(client: &Client, cluster: &str, edit: impl Fn(&mut Vec<Value>)) -> anyhow::Result<()> {
    let object = ObjectName::cluster(cluster);
    let api = api_named(client, &object)?;
    loop {
        let stored = api
            .get(cluster)
            .await
            .with_context(|| format!("cannot read Cluster {cluster}"))?;
        let mut taints = stored.data["spec"]["taints"].as_array().cloned().unwrap_or_default();
        edit(&mut taints);
        let patch = json!({
            "metadata": {"resourceVersion": stored.metadata.resource_version},
            "spec": {"taints": taints},
        });
        match api.patch(cluster, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(_) => return Ok(()),
            Err(error) if controller_kit::api_errors::is_conflict(&error) => {}
            Err(error) => return Err(error).with_context(|| format!("cannot change the taints of {cluster}")),
        }
    }
}

fn api_named(client: &Client, object: &ObjectName) -> anyhow::Result<Api<DynamicObject>> {
    let types = TypeMeta {
        api_version: object.api_version.clone(),
        kind: object.kind.clone(),
    };
    api_of(client, &types, object.namespace.as_deref())
}

fn api_of(client: &Client, types: &TypeMeta, namespace: Option<&str>) -> anyhow::Result<Api<DynamicObject>> {
    let kind = GroupVersionKind::try_from(types)?;
    let crd = api_types::crds()
        .into_iter()
        .find(|crd| crd.spec.names.kind == kind.kind && crd.spec.group == kind.group);
    let resource = match crd {
        Some(crd) => ApiResource::from_gvk_with_plural(&kind, &crd.spec.names.plural),
        None => ApiResource::from_gvk(&kind),
    };
    Ok(match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    })
}
