//! Writes of workStatus.

use api_types::work::{ManifestStatus, Work};
use controller_kit::{Context, api_errors};
use kube::Api;
use kube::api::PatchParams;
use serde_json::{Map, Value, json};

use crate::interpreted::{self, Trouble};
use crate::patches::status_onto;

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done, or there was nothing to do.
    Done,
    /// The Work has another version; what to write has to be worked out anew.
    Outdated,
}

/// The Work as it is stored now; nothing when it is gone, also when another one has its name.
pub async fn read(ctx: &Context, work: &Work) -> Result<Option<Work>, kube::Error> {
    let namespace = work.metadata.namespace.as_deref().unwrap_or_default();
    let api: Api<Work> = Api::namespaced(ctx.client.clone(), namespace);
    let found = api.get_opt(work.metadata.name.as_deref().unwrap_or_default()).await?;
    Ok(found.filter(|found| found.metadata.uid == work.metadata.uid))
}

/// What is said on a Work.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    /// What its objects are like.
    pub items: &'a [ManifestStatus],
    /// What of them could not be interpreted.
    pub troubles: &'a [Trouble],
}

/// Says on a Work what its objects are like.
pub async fn say(ctx: &Context, work: &Work, said: Said<'_>) -> Result<Outcome, kube::Error> {
    let present = work.status.clone().unwrap_or_default();
    let mut status = Map::new();
    if present.manifest_statuses != said.items {
        status.insert("manifestStatuses".to_owned(), json!(said.items));
    }
    let mut conditions = present.conditions;
    if interpreted::say(&mut conditions, said.troubles, ctx.clock.now()) {
        status.insert("conditions".to_owned(), json!(conditions));
    }
    if status.is_empty() {
        return Ok(Outcome::Done);
    }
    let api: Api<Work> = Api::namespaced(
        ctx.client.clone(),
        work.metadata.namespace.as_deref().unwrap_or_default(),
    );
    let patch = status_onto(work, &Value::Object(status));
    match api
        .patch_status(
            work.metadata.name.as_deref().unwrap_or_default(),
            &PatchParams::default(),
            &patch,
        )
        .await
    {
        Ok(_) => Ok(Outcome::Done),
        Err(error) if api_errors::is_conflict(&error) => Ok(Outcome::Outdated),
        Err(error) if api_errors::is_not_found(&error) => Ok(Outcome::Done),
        Err(error) => Err(error),
    }
}
