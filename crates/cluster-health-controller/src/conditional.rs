//! Writes on a Cluster that land on the version they were computed from, or are computed again.
//!
//! Guarantees: a JSON patch names the resource version that was read, so no other writer's change is lost; after a
//! conflict the object is read live and the change computed anew; a change that would change nothing is not sent.

use std::sync::Arc;

use api_types::cluster::Cluster;
use controller_kit::{Context, api_errors};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

/// Tries before a conflict is left to the caller's next look.
const TRIES: u32 = 5;

/// The half of the object that a patch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Metadata and spec.
    Main,
    /// Status.
    Status,
}

/// What became of a write.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// There was nothing to change.
    Unchanged,
    /// Stored; the object as it was before.
    Written {
        /// The version that the patch was computed from.
        before: Arc<Cluster>,
    },
    /// The Cluster is gone.
    Gone,
}

/// Sends what `change` makes of the Cluster: JSON patch operations, none when it is as it should be.
pub(crate) async fn patch(
    ctx: &Context,
    mut seen: Arc<Cluster>,
    half: Half,
    change: impl Fn(&Cluster) -> Vec<Value> + Send,
) -> Result<Outcome, kube::Error> {
    let api = Api::<Cluster>::all(ctx.client.clone());
    let uid = seen.metadata.uid.clone();
    let name = seen.cluster_name();
    let mut tries = 0;
    loop {
        let mut operations = change(&seen);
        if operations.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        // Replacing the version, not testing it: the server then answers with a conflict, as it does for updates.
        operations.insert(
            0,
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": seen.metadata.resource_version}),
        );
        let patch: Patch<Cluster> =
            Patch::Json(serde_json::from_value(Value::Array(operations)).map_err(kube::Error::SerdeError)?);
        let params = PatchParams::default();
        let result = match half {
            Half::Main => api.patch(name.as_str(), &params, &patch).await,
            Half::Status => api.patch_status(name.as_str(), &params, &patch).await,
        };
        tries += 1;
        match result {
            Ok(_) => return Ok(Outcome::Written { before: seen }),
            Err(error) if api_errors::is_not_found(&error) => return Ok(Outcome::Gone),
            Err(error) if api_errors::is_outdated(&error) && tries < TRIES => {}
            Err(error) => return Err(error),
        }
        match api.get_opt(name.as_str()).await? {
            Some(live) if live.metadata.uid == uid => seen = Arc::new(live),
            _ => return Ok(Outcome::Gone),
        }
    }
}
