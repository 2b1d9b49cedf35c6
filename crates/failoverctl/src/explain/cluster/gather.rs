//! What `explain cluster` asks for.

use api_types::cluster::{Cluster, ClusterSyncMode};
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::Binding;
use eviction_queue_api::v1;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;

use super::report::something_is_coming;
use crate::control_plane::ControlPlane;
use crate::controllers::Mode;
use crate::entry::{EntryView, MoveView};
use crate::failure::Failure;
use crate::queue::Queue;

/// How many entries are shown; `queue list` shows the rest.
const ENTRIES: u32 = 10;
/// How many outcomes are shown.
const RECENT: u32 = 5;

/// What the eviction queue said.
#[derive(Clone, Debug)]
pub struct FromQueue {
    /// The queue as a whole.
    pub status: v1::GetStatusResponse,
    /// The lane of the Cluster, if it has one.
    pub lane: Option<v1::Lane>,
    /// The first entries that leave the Cluster, in their order.
    pub entries: Vec<EntryView>,
    /// How many there are.
    pub total: u64,
    /// The last outcomes of such entries, newest first.
    pub recent: Vec<MoveView>,
}

/// Everything that the report is made from.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The Cluster.
    pub cluster: Cluster,
    /// All ClusterTaintPolicies.
    pub policies: Vec<ClusterTaintPolicy>,
    /// Events about the Cluster.
    pub events: Vec<Event>,
    /// Of a Pull Cluster, the Lease of its agent.
    pub agent_lease: Option<Lease>,
    /// All Leases of the system namespace.
    pub leases: Vec<Lease>,
    /// Whose control plane it is.
    pub mode: Mode,
    /// The namespace of the Leases.
    pub system_namespace: String,
    /// The queue's answers, or why there are none.
    pub queue: Result<FromQueue, Failure>,
    /// The bindings that have the Cluster in their result; nothing when no taint is coming that might move them.
    pub bindings: Option<Vec<Binding>>,
}

/// Asks the API server, and the queue, if there is one. A queue that does not answer is part of the answer, not an
/// error. All bindings are asked for only when a taint is coming that may move some of them.
///
/// # Errors
/// There is no such Cluster, or the API server does not answer.
pub async fn gather(
    control_plane: &ControlPlane,
    leases: Vec<Lease>,
    mode: Mode,
    queue: Result<Queue, Failure>,
    name: &str,
    now: Timestamp,
) -> Result<Gathered, Failure> {
    control_plane.require_taint_policies().await?;
    let cluster = control_plane.cluster(name).await?;
    let agent_lease = match cluster.spec.sync_mode {
        ClusterSyncMode::Pull => control_plane.agent_lease(name).await?,
        ClusterSyncMode::Push | ClusterSyncMode::Other(_) => None,
    };
    let queue = match queue {
        Ok(queue) => ask(queue, name).await,
        Err(failure) => Err(failure),
    };
    let mut gathered = Gathered {
        policies: control_plane.taint_policies().await?,
        events: control_plane.cluster_events(name).await?,
        cluster,
        agent_lease,
        leases,
        mode,
        system_namespace: control_plane.system_namespace().to_owned(),
        queue,
        bindings: None,
    };
    if something_is_coming(&gathered, now) {
        gathered.bindings = Some(control_plane.bindings_on(name).await?);
    }
    Ok(gathered)
}

async fn ask(mut queue: Queue, cluster: &str) -> Result<FromQueue, Failure> {
    let status = queue.status().await?;
    let lane = queue.lanes().await?.into_iter().find(|lane| lane.cluster == cluster);
    let filter = v1::EntryFilter {
        cluster: cluster.to_owned(),
        ..v1::EntryFilter::default()
    };
    let found = queue.list(&filter, ENTRIES).await?;
    Ok(FromQueue {
        status,
        lane,
        entries: queue.placed(&found.entries).await?,
        total: found.total,
        recent: queue
            .recent(RECENT, Some(cluster))
            .await?
            .iter()
            .map(MoveView::of)
            .collect(),
    })
}
