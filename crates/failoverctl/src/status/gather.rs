//! What `status` asks for.

use api_types::cluster::Cluster;
use api_types::failover::FailoverPause;
use eviction_queue_api::v1;
use k8s_openapi::api::coordination::v1::Lease;

use crate::control_plane::ControlPlane;
use crate::controllers::Mode;
use crate::failure::Failure;
use crate::pause;
use crate::queue::Queue;

/// How many outcomes are shown.
const RECENT: u32 = 10;

/// What the eviction queue said.
#[derive(Clone, Debug)]
pub struct FromQueue {
    /// Where it answered.
    pub address: String,
    /// The queue as a whole.
    pub status: v1::GetStatusResponse,
    /// Its lanes.
    pub lanes: Vec<v1::Lane>,
    /// Its last outcomes, newest first.
    pub recent: Vec<v1::RecentOutcome>,
}

/// Everything that the report is made from.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The cluster that was asked about; nothing: all.
    pub only: Option<String>,
    /// All Clusters.
    pub clusters: Vec<Cluster>,
    /// All Leases of the system namespace.
    pub leases: Vec<Lease>,
    /// Whose control plane it is.
    pub mode: Mode,
    /// The namespace of the Leases.
    pub system_namespace: String,
    /// The queue's answers, or why there are none.
    pub queue: Result<FromQueue, Failure>,
    /// The FailoverPauses as stored, where the queue does not say which are in effect.
    pub stored_pauses: Vec<FailoverPause>,
}

/// Asks the API server for Clusters, and the queue, if there is one. A queue that does not answer is part of the
/// answer, not an error.
///
/// # Errors
/// The API server does not answer.
pub async fn gather(
    control_plane: &ControlPlane,
    leases: Vec<Lease>,
    mode: Mode,
    queue: Result<Queue, Failure>,
    only: Option<&str>,
) -> Result<Gathered, Failure> {
    let clusters = control_plane.clusters().await?;
    let queue = match queue {
        Ok(queue) => ask(queue, only).await,
        Err(failure) => Err(failure),
    };
    let stored_pauses = match &queue {
        Ok(_) => Vec::new(),
        Err(_) => pause::stored(control_plane).await,
    };
    Ok(Gathered {
        only: only.map(str::to_owned),
        clusters,
        leases,
        mode,
        system_namespace: control_plane.system_namespace().to_owned(),
        queue,
        stored_pauses,
    })
}

async fn ask(mut queue: Queue, only: Option<&str>) -> Result<FromQueue, Failure> {
    let status = queue.status().await?;
    let lanes = queue.lanes().await?;
    let recent = queue.recent(RECENT, only).await?;
    Ok(FromQueue {
        address: queue.address().to_owned(),
        status,
        lanes,
        recent,
    })
}
