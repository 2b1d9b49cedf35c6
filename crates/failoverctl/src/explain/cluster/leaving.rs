//! What leaves a Cluster because of its state, as the eviction queue has it. Pure.

use api_types::cluster::Cluster;
use failover_core::eviction::{Switches, switched_off};
use serde::Serialize;

use super::gather::FromQueue;
use crate::entry::{EntryView, MoveView, at};
use crate::failure::Failure;
use crate::output::At;

/// What leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leaving {
    /// Why nothing does whatever stands on the Cluster: a switch that is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switched_off: Option<String>,
    /// Entries in the eviction queue that leave it; absent when the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// When the next of those that wait is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_due_at: Option<At>,
    /// The first ones, in their order.
    pub entries: Vec<EntryView>,
    /// The last outcomes of such entries since the queue's leader started, newest first.
    pub recent: Vec<MoveView>,
    /// Why the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_error: Option<String>,
}

/// Puts it together. A switch is said to be off only when that is known.
pub(super) fn leaving(cluster: &Cluster, queue: Result<&FromQueue, &Failure>, switches: &Switches) -> Leaving {
    let switched_off = switched_off(cluster, switches).map(|off| off.to_string());
    match queue {
        Ok(queue) => Leaving {
            switched_off,
            total: Some(queue.total),
            next_due_at: queue.lane.as_ref().and_then(|lane| at(lane.next_due_at.as_ref())),
            entries: queue.entries.clone(),
            recent: queue.recent.clone(),
            queue_error: None,
        },
        Err(failure) => Leaving {
            switched_off,
            queue_error: Some(failure.one_line()),
            ..Leaving::default()
        },
    }
}
