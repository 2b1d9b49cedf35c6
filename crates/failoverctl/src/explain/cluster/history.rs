//! What happened to a Cluster, as far as Events tell. Pure.

use k8s_openapi::api::core::v1::Event;
use serde::Serialize;

use crate::output::At;

/// Reasons of Events about a Cluster that tell of its health, of what it lost, of its taints and of what leaves it because
/// of them; others are of no use here.
const TOLD: [&str; 16] = [
    "ClusterReady",
    "ClusterNotReady",
    "ClusterUnknown",
    "ClusterNeverReported",
    "TaintClusterSucceed",
    "TaintClusterFailed",
    "TaintDismissed",
    "TaintRecordLost",
    "TaintRecordUnreadable",
    "TaintWindowStartsAnew",
    "EvictionSwitchedOff",
    "EvictionsQueued",
    "DeletionNotAwaited",
    "ObjectsLost",
    "ClusterDrainStarted",
    "ClusterDrainEnded",
];

/// Whether Events of this reason are shown.
pub(crate) fn is_told(reason: &str) -> bool {
    TOLD.contains(&reason)
}

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
            let reason = event.reason.clone().filter(|reason| is_told(reason))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    /// Who publishes Events about Clusters, and who words them.
    const PUBLISHERS: [&str; 6] = [
        "failover-core/src",
        "cluster-health-controller/src",
        "taint-policy-controller/src",
        "failoverctl/src/drain",
        "taint-manager/src",
        "propagation-controllers/src/execution",
    ];
    /// Published, and neither about health nor about taints.
    const OTHERS: [&str; 4] = [
        "CreateExecutionSpaceSucceed",
        "CreateExecutionSpaceFailed",
        "RemoveExecutionSpaceSucceed",
        "RemoveExecutionSpaceFailed",
    ];

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_of_tests = path.file_name().unwrap().to_string_lossy().contains("tests");
            if path.is_dir() && !is_of_tests {
                found.extend(sources(&path));
            } else if !is_of_tests {
                found.push(path);
            }
        }
        found
    }

    /// The program text of the publishers, without their tests.
    fn text() -> String {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        PUBLISHERS
            .iter()
            .flat_map(|folder| sources(&crates.join(folder)))
            .map(|file| std::fs::read_to_string(file).unwrap())
            .map(|text| text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn what_is_told_is_what_is_published() {
        let text = text();
        let never: Vec<&str> = TOLD
            .into_iter()
            .filter(|reason| !text.contains(&format!("\"{reason}\"")))
            .collect();
        assert!(never.is_empty(), "nobody publishes {never:?}");

        let calls = text.split(".publish_for(").skip(1);
        let published: Vec<&str> = calls
            .filter_map(|call| call.split(';').next()?.split('"').nth(1))
            .collect();
        assert!(
            published.len() > 5,
            "only {published:?}: has the form of calls changed?"
        );
        let untold: Vec<&&str> = published
            .iter()
            .filter(|reason| !TOLD.contains(reason) && !OTHERS.contains(reason))
            .collect();
        assert!(untold.is_empty(), "{untold:?} are not told");
    }
}
