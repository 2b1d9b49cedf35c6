//! What `explain binding` asks for.

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::work::Binding;
use eviction_queue_api::v1;
use k8s_openapi::api::coordination::v1::Lease;

use crate::control_plane::ControlPlane;
use crate::controllers::Mode;
use crate::entries::of_binding;
use crate::entry::{EntryView, MoveView, binding_key};
use crate::failure::Failure;
use crate::history::{self, RecordView};
use crate::queue::Queue;

/// So many moves are told.
const MOVES: usize = 5;

/// What the eviction queue said.
#[derive(Clone, Debug)]
pub struct FromQueue {
    /// The queue as a whole.
    pub status: v1::GetStatusResponse,
    /// The entries of the binding, the most urgent first.
    pub entries: Vec<EntryView>,
    /// What became of earlier ones, newest first.
    pub recent: Vec<MoveView>,
}

/// Everything that the report is made from.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The binding.
    pub binding: Binding,
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
    /// The last moves of the binding, from FailoverRecords, newest first; none where none are kept or we may not look.
    pub moves: Vec<RecordView>,
}

/// Asks the API server, and the queue, if there is one. A queue that does not answer is part of the answer, not an
/// error.
///
/// # Errors
/// There is no such binding, or the API server does not answer.
pub async fn gather(
    control_plane: &ControlPlane,
    leases: Vec<Lease>,
    mode: Mode,
    queue: Result<Queue, Failure>,
    key: &BindingKey,
) -> Result<Gathered, Failure> {
    let asked = async {
        match queue {
            Ok(queue) => ask(queue, key).await,
            Err(failure) => Err(failure),
        }
    };
    // Side by side: somebody waits.
    let (binding, clusters, queue) = tokio::join!(control_plane.binding(key), control_plane.clusters(), asked);
    let (binding, clusters) = (binding?, clusters?);
    let system_namespace = control_plane.system_namespace().to_owned();
    let moves = history::of_binding(control_plane, &binding, MOVES).await;
    Ok(Gathered {
        binding,
        clusters,
        leases,
        mode,
        system_namespace,
        queue,
        moves,
    })
}

async fn ask(mut queue: Queue, key: &BindingKey) -> Result<FromQueue, Failure> {
    let status = queue.status().await?;
    let entries = of_binding(&mut queue, key, None).await?;
    let recent = queue.recent(0, None).await?;
    let of_this = |outcome: &&v1::RecentOutcome| outcome.key.as_ref().is_some_and(|k| binding_key(k) == *key);
    let recent = recent.iter().filter(of_this).map(MoveView::of).collect();
    Ok(FromQueue {
        status,
        entries,
        recent,
    })
}
