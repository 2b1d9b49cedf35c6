//! What happened to a Cluster, as far as Events tell. Pure.

use k8s_openapi::api::core::v1::Event;
use serde::Serialize;

use crate::output::At;

/// Reasons of Events that tell of health and taints; others are of no use here.
const TOLD: [&str; 8] = [
    "ClusterReady",
    "ClusterNotReady",
    "ClusterUnknown",
    "TaintClusterSucceed",
    "TaintClusterFailed",
    "TaintDismissed",
    "TaintRecordUnreadable",
    "DeletionBlocked",
];
/// How many are shown, the last ones.
const SHOWN: usize = 12;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Happened {
    /// When it last did.
    pub at: At,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// How often.
    pub count: i32,
}

/// The last Events about health and taints, oldest first. Events are kept for an hour or so.
pub(super) fn history(events: &[Event]) -> Vec<Happened> {
    let mut events: Vec<&Event> = events.iter().collect();
    // Within a second, which is all that Events tell, in the order in which they were stored.
    events.sort_by_key(|event| {
        event
            .metadata
            .resource_version
            .as_ref()
            .and_then(|version| version.parse::<u64>().ok())
    });
    let mut happened: Vec<Happened> = events
        .into_iter()
        .filter_map(|event| {
            let reason = event.reason.clone().filter(|reason| TOLD.contains(&reason.as_str()))?;
            let last = event.last_timestamp.as_ref().map(|time| time.0);
            let at = last.or_else(|| event.event_time.as_ref().map(|time| time.0))?;
            Some(Happened {
                at: At(at),
                reason,
                message: event.message.clone().unwrap_or_default(),
                count: event.count.unwrap_or(1).max(1),
            })
        })
        .collect();
    happened.sort_by_key(|happened| happened.at);
    happened.drain(..happened.len().saturating_sub(SHOWN));
    happened
}
