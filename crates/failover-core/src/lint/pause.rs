//! One FailoverPause.

use api_types::failover::{FailoverPause, PauseScope};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::code::Code;
use super::finding::Finding;
use super::known::Known;
use super::similar::nearest;
use super::target::{names, some};
use crate::eviction::pause::{Holds, problem};

pub(super) fn findings(pause: &FailoverPause, known: &Known<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(problem) = problem(&as_created(pause, known)) {
        let (why, fix) = match problem.holds {
            Holds::Nothing => (
                "evictions go on as if nobody had paused them",
                "correct what the message names; now is the time that counts",
            ),
            Holds::SomethingElse => (
                "it holds back other evictions than its author seems to mean",
                "correct what the message names",
            ),
        };
        found.push(Finding::new(Code::PauseInVain, "spec", problem.message, why, fix));
    }
    if pause.spec.scope == PauseScope::All && pause.spec.until.is_none() {
        found.push(Finding::new(
            Code::PauseWithoutEnd,
            "spec.until",
            "the pause has no end",
            "no workload leaves any cluster, however long it is down, until somebody deletes the pause",
            "give until; a pause can be made longer while it lasts",
        ));
    }
    found.extend(unknown_clusters(pause, known));
    found
}

/// A pause that is not stored yet is created now.
fn as_created(pause: &FailoverPause, known: &Known<'_>) -> FailoverPause {
    let mut pause = pause.clone();
    if pause.metadata.creation_timestamp.is_none() {
        pause.metadata.creation_timestamp = known.now.map(Time);
    }
    pause
}

fn unknown_clusters(pause: &FailoverPause, known: &Known<'_>) -> Vec<Finding> {
    let Some(clusters) = known.clusters else {
        return Vec::new();
    };
    let known = names(clusters);
    let written = pause.spec.clusters.iter().enumerate();
    written
        .filter(|(_, name)| !known.contains(name))
        .map(|(index, name)| {
            Finding::new(
                Code::NoSuchCluster,
                format!("spec.clusters[{index}]"),
                format!("there is no cluster {name}"),
                "nothing is held back by this name until a cluster has joined by it",
                match nearest(name, known.iter().map(String::as_str)) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("correct the name; there are {}", some(&known)),
                },
            )
        })
        .collect()
}
