//! What `plan` asks for: all Clusters, bindings, ClusterTaintPolicies and pauses, and how fast the queue is.

use eviction_queue_api::v1;
use k8s_openapi::api::coordination::v1::Lease;
use scheduler_filters::plan::World;

use crate::control_plane::ControlPlane;
use crate::controllers::Mode;
use crate::failure::Failure;
use crate::pause;
use crate::queue::Queue;

/// Everything that the report is made from.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The objects.
    pub world: World,
    /// All Leases of the system namespace.
    pub leases: Vec<Lease>,
    /// Whose control plane it is.
    pub mode: Mode,
    /// The namespace of the Leases.
    pub system_namespace: String,
    /// What the queue says of itself, or why it says nothing.
    pub queue: Result<v1::GetStatusResponse, Failure>,
    /// Why the pauses are not known.
    pub pauses_error: Option<String>,
}

/// Asks the API server, and the queue, if there is one. A queue that does not answer is part of the answer, not an error.
///
/// # Errors
/// The API server does not answer.
pub async fn gather(
    control_plane: &ControlPlane,
    leases: Vec<Lease>,
    mode: Mode,
    queue: Result<Queue, Failure>,
) -> Result<Gathered, Failure> {
    let queue = match queue {
        Ok(mut queue) => queue.status().await,
        Err(failure) => Err(failure),
    };
    let (pauses, pauses_error) = match pause::all(control_plane).await {
        Ok(pauses) => (pauses, None),
        Err(failure) => (Vec::new(), Some(failure.one_line())),
    };
    Ok(Gathered {
        world: World {
            clusters: control_plane.clusters().await?,
            bindings: control_plane.all_bindings().await?,
            policies: control_plane.taint_policies_if_served().await?,
            pauses,
        },
        leases,
        mode,
        system_namespace: control_plane.system_namespace().to_owned(),
        queue,
        pauses_error,
    })
}
