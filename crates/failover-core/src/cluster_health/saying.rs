//! What the monitor says in the conditions of a cluster of which it thinks this.
//!
//! Guarantees: Ready only ever becomes Unknown here; what is said already is not said again; a monitor that does not know
//! takes nothing back.

use api_types::ClusterName;
use api_types::cluster::condition;
use api_types::conditions;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::standing::{LeaseNames, Standing};
use super::words;

/// What one condition of a Cluster is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Condition type.
    pub type_: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// One word in CamelCase.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
}

/// The conditions that have to change for a cluster of this standing; none when all is said.
///
/// Ready only ever becomes Unknown here. Conditions of trouble are False only on a Cluster that had the trouble.
#[must_use]
pub fn say(standing: &Standing, stored: &[Condition], cluster: &ClusterName, names: &LeaseNames) -> Vec<Said> {
    let reason = standing.reason(cluster, names);
    let mut all = Vec::new();
    all.extend(ready(standing, stored, &reason));
    let trouble_of_reporter = match standing {
        Standing::NothingProbed => words::NOTHING_PROBED,
        _ => words::REPORTER_SILENT,
    };
    let (reporter_down, isolated) = match standing {
        Standing::NotKnown | Standing::InDoubt => (None, None),
        Standing::Reported | Standing::Silent { .. } | Standing::Overdue => (Some(false), Some(false)),
        Standing::ReporterDown { .. } | Standing::NothingProbed => (Some(true), Some(false)),
        // What was known of the reporter before is all that is known.
        Standing::MonitorIsolated { .. } => (None, Some(true)),
    };
    let kinds = [
        (
            condition::REPORTER_DOWN,
            reporter_down,
            trouble_of_reporter,
            words::REPORTER_HEARD,
        ),
        (
            condition::MONITOR_ISOLATED,
            isolated,
            words::ALL_SILENT,
            words::SOMEBODY_HEARD,
        ),
    ];
    for (type_, holds, trouble, over) in kinds {
        let before = conditions::get(stored, type_);
        let said = match holds {
            Some(true) => Said {
                type_,
                status: "True",
                reason: trouble,
                message: reason.clone(),
            },
            Some(false) if before.is_some_and(|before| before.status != "False") => Said {
                type_,
                status: "False",
                reason: over,
                message: String::new(),
            },
            _ => continue,
        };
        if before.is_none_or(|before| before.status != said.status || before.message != said.message) {
            all.push(said);
        }
    }
    all
}

fn ready(standing: &Standing, stored: &[Condition], reason: &str) -> Option<Said> {
    if !matches!(standing, Standing::Silent { .. } | Standing::Overdue) {
        return None;
    }
    let before = conditions::get(stored, condition::READY)?;
    let (word, message) = match (before.status.as_str(), before.reason.as_str()) {
        ("Unknown", words::NEVER_UPDATED) => {
            // Said once more, with what to look for.
            let is_bare = before.message == words::NEVER_UPDATED_MESSAGE;
            (words::NEVER_UPDATED, is_bare.then_some(words::NEVER_UPDATED_MESSAGE)?)
        }
        // Whoever says Unknown already says it for a reason of its own.
        ("Unknown", _) => return None,
        _ => (words::UNKNOWN, words::UNKNOWN_MESSAGE),
    };
    Some(Said {
        type_: condition::READY,
        status: "Unknown",
        reason: word,
        message: format!("{message} ({reason})"),
    })
}
