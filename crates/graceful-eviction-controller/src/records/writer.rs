//! The only place that writes FailoverRecords.

use api_types::failover::{FailoverRecord, FailoverRecordSpec, FailoverRecordStatus};
use controller_kit::{Context, ObjectKey, api_errors};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;

/// Creates a record that the evictor owes. One that is there already says more; a failure is told and keeps nothing from
/// going on.
pub(super) async fn create(ctx: &Context, key: &ObjectKey, spec: FailoverRecordSpec) {
    let mut record = FailoverRecord::new(&key.name, spec);
    record.metadata.namespace.clone_from(&key.namespace);
    match api(ctx, key).create(&PostParams::default(), &record).await {
        Ok(_) => {
            tracing::info!(record = %key, "the evictor died before it wrote the record of this move: made up from its task");
        }
        Err(error) if api_errors::is_already_exists(&error) => {}
        Err(error) => tracing::warn!(record = %key, "FailoverRecord not written: {}", api_errors::one_line(&error)),
    }
}

/// Writes how the move ended.
pub(super) async fn close(
    ctx: &Context,
    record: &FailoverRecord,
    status: &FailoverRecordStatus,
) -> Result<(), kube::Error> {
    let key = ObjectKey::of(record);
    let patch = json!({ "metadata": { "resourceVersion": record.metadata.resource_version }, "status": status });
    let params = PatchParams::default();
    match api(ctx, &key)
        .patch_status(&key.name, &params, &Patch::Merge(patch))
        .await
    {
        Ok(_) => Ok(()),
        Err(error) if api_errors::is_not_found(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Deletes this very record.
pub(super) async fn delete(ctx: &Context, record: &FailoverRecord) -> Result<(), kube::Error> {
    let key = ObjectKey::of(record);
    let only = Preconditions {
        uid: record.metadata.uid.clone(),
        resource_version: None,
    };
    let params = DeleteParams {
        preconditions: Some(only),
        ..DeleteParams::default()
    };
    match api(ctx, &key).delete(&key.name, &params).await {
        Ok(_) => Ok(()),
        Err(error) if api_errors::is_not_found(&error) || api_errors::is_conflict(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

fn api(ctx: &Context, key: &ObjectKey) -> Api<FailoverRecord> {
    Api::namespaced(ctx.client.clone(), key.namespace.as_deref().unwrap_or_default())
}
