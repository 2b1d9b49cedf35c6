//! What the monitor thinks of one cluster, and what it therefore says in the cluster's conditions.
//!
//! A Pull cluster stands by its agent's Lease. A Push cluster stands by the Lease of `clusterStatus`, which names in an
//! annotation the clusters whose probes are overdue; that word counts only while its Lease is renewed. A reporter that is
//! silent itself says nothing of the clusters: nothing is marked then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::{ClusterSyncMode, condition};
use api_types::conditions;
use api_types::names::annotation;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::silence::{LeaseThere, ReadyMark, Sight, Sign};
use super::watch::{Hearing, Source, Voice, Watch};
use super::words;

/// Where the Leases are, as `namespace/name`, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseNames {
    /// That of `clusterStatus`.
    pub reporter: String,
    /// That of the monitor.
    pub monitor: String,
    /// Namespace of the agents' Leases, each named as its cluster.
    pub agents: String,
}

/// The clusters that the reporter's Lease names as overdue.
#[must_use]
pub fn probes_overdue(lease: &Lease) -> BTreeSet<ClusterName> {
    let annotations = lease.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(annotation::PROBES_OVERDUE))
        .into_iter()
        .flat_map(|names| names.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(ClusterName::from)
        .collect()
}

/// Until when a person said that the monitor is not isolated.
///
/// # Errors
/// What is wrong with the annotation, and how it is written.
pub fn not_isolated_until(lease: &Lease) -> Result<Option<Timestamp>, String> {
    let annotations = lease.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|all| all.get(annotation::NOT_ISOLATED_UNTIL)) else {
        return Ok(None);
    };
    text.trim().parse().map(Some).map_err(|error| {
        format!(
            "the annotation {} is not a time such as 2026-01-01T12:00:00Z and is not followed: {error}",
            annotation::NOT_ISOLATED_UNTIL
        )
    })
}

/// What is known of Push clusters beside the reporter's own Lease.
#[derive(Clone, Debug, Default)]
pub struct Probed {
    overdue: BTreeSet<ClusterName>,
    /// What the reporter last said of each, and since when.
    reported: BTreeMap<ClusterName, Sight>,
}

impl Probed {
    /// The reporter's list as it is now. Returns the clusters that came or went.
    pub fn overdue(&mut self, overdue: BTreeSet<ClusterName>) -> BTreeSet<ClusterName> {
        let changed = self.overdue.symmetric_difference(&overdue).cloned().collect();
        self.overdue = overdue;
        changed
    }

    /// Whether the reporter's list is empty.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.overdue.is_empty()
    }

    /// The Ready condition of a Push cluster as it is now.
    pub fn note(&mut self, cluster: &ClusterName, ready: Option<ReadyMark>, now: Duration) -> Sign {
        match self.reported.get_mut(cluster) {
            Some(sight) => sight.look(None, ready, now),
            None => {
                self.reported.insert(cluster.clone(), Sight::first(None, ready, now));
                Sign::Nothing
            }
        }
    }

    /// The cluster is gone, or is not a Push cluster any more.
    pub fn forget(&mut self, cluster: &ClusterName) {
        self.reported.remove(cluster);
    }
}

/// Who reports on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedBy {
    /// Its agent.
    Agent,
    /// The controller `clusterStatus`.
    Reporter,
}

impl From<&ClusterSyncMode> for ReportedBy {
    fn from(mode: &ClusterSyncMode) -> Self {
        match mode {
            ClusterSyncMode::Pull => Self::Agent,
            _ => Self::Reporter,
        }
    }
}

/// What the monitor thinks of one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The monitor has not listened for long enough to know.
    NotKnown,
    /// Who reports on it was heard in time.
    Reported,
    /// Its agent is silent: it becomes Unknown.
    Silent {
        /// For at least this long.
        limit: Duration,
        /// Whether it has a Lease at all.
        lease: LeaseThere,
    },
    /// The reporter, which is there, has no answer from it: it becomes Unknown.
    Overdue,
    /// The reporter is silent: nothing is marked.
    ReporterDown {
        /// For at least this long.
        limit: Duration,
        /// Whether it has a Lease at all.
        lease: LeaseThere,
    },
    /// Everybody is silent: nothing is marked.
    MonitorIsolated {
        /// How many leases count.
        leases: usize,
        /// For at least this long.
        limit: Duration,
    },
    /// Silent, and the monitor waits whether somebody else is heard: nothing is marked.
    InDoubt,
}

/// What the monitor thinks of a cluster.
#[must_use]
pub fn standing(watch: &Watch, probed: &Probed, cluster: &ClusterName, by: ReportedBy, now: Duration) -> Standing {
    let source = match by {
        ReportedBy::Agent => Source::Agent(cluster.clone()),
        ReportedBy::Reporter => Source::Reporter,
    };
    let (Some(voice), Some(sight), Some(limit)) =
        (watch.voice(&source, now), watch.sight(&source), watch.limit(&source))
    else {
        return Standing::NotKnown;
    };
    let lease = sight.lease();
    match (voice, by) {
        (Voice::NotKnown, _) => Standing::NotKnown,
        (Voice::HeldBack, _) => match watch.hearing() {
            Hearing::Isolated { leases } => Standing::MonitorIsolated { leases, limit },
            Hearing::InDoubt { .. } | Hearing::Clear => Standing::InDoubt,
        },
        (Voice::GivenUp, ReportedBy::Agent) => Standing::Silent { limit, lease },
        (Voice::GivenUp, ReportedBy::Reporter) => Standing::ReporterDown { limit, lease },
        (Voice::Alive, ReportedBy::Agent) => Standing::Reported,
        (Voice::Alive, ReportedBy::Reporter) => {
            // A renewal that came after the reporter's last word on the cluster, and still names it.
            let said_at = probed.reported.get(cluster).map_or(now, Sight::quiet_since);
            if probed.overdue.contains(cluster) && sight.heard_at().is_some_and(|heard| heard > said_at) {
                Standing::Overdue
            } else {
                Standing::Reported
            }
        }
    }
}

impl Standing {
    /// Why, as a sentence. Says the same for as long as the standing is the same.
    #[must_use]
    pub fn reason(&self, cluster: &ClusterName, names: &LeaseNames) -> String {
        let LeaseNames {
            reporter,
            monitor,
            agents,
        } = names;
        match self {
            Self::NotKnown => "the monitor has not listened for long enough to know whether anybody reports".to_owned(),
            Self::Reported => "its reporter renews its lease".to_owned(),
            Self::Silent {
                limit,
                lease: LeaseThere::Yes,
            } => format!(
                "its agent has not renewed Lease {agents}/{cluster} for {}",
                shown(*limit)
            ),
            Self::Silent {
                limit,
                lease: LeaseThere::No,
            } => format!(
                "there has been no Lease {agents}/{cluster} for {}: is its agent running, and may it write that Lease?",
                shown(*limit)
            ),
            Self::Overdue => format!(
                "no probe of it has come to an end in time, says Lease {reporter} in annotation {}",
                annotation::PROBES_OVERDUE
            ),
            Self::ReporterDown {
                limit,
                lease: LeaseThere::Yes,
            } => format!(
                "clusterStatus has not renewed Lease {reporter} for {}: nobody probes this cluster, its Ready condition may \
                 be out of date, and nothing is marked for that; start clusterStatus",
                shown(*limit)
            ),
            Self::ReporterDown {
                limit,
                lease: LeaseThere::No,
            } => format!(
                "there has been no Lease {reporter} for {}: no clusterStatus runs, nobody probes this cluster, its Ready \
                 condition may be out of date, and nothing is marked for that; start clusterStatus",
                shown(*limit)
            ),
            Self::MonitorIsolated { leases, limit } => format!(
                "none of the {leases} leases that count has been renewed for {}, so probably it is the monitor that is cut \
                 off: nothing is marked Unknown until one of them is renewed; to have it marked all the same, annotate Lease \
                 {monitor} with {}=TIME, which ends by itself at that time (RFC 3339)",
                shown(*limit),
                annotation::NOT_ISOLATED_UNTIL
            ),
            Self::InDoubt => "nobody else has been heard lately either: the monitor waits".to_owned(),
        }
    }
}

fn shown(limit: Duration) -> String {
    let limit = SignedDuration::try_from(limit).unwrap_or(SignedDuration::MAX);
    format!("{limit:#}")
}

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
    let (reporter_down, isolated) = match standing {
        Standing::NotKnown | Standing::InDoubt => (None, None),
        Standing::Reported | Standing::Silent { .. } | Standing::Overdue => (Some(false), Some(false)),
        Standing::ReporterDown { .. } => (Some(true), Some(false)),
        // What was known of the reporter before is all that is known.
        Standing::MonitorIsolated { .. } => (None, Some(true)),
    };
    let kinds = [
        (
            condition::REPORTER_DOWN,
            reporter_down,
            words::REPORTER_SILENT,
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

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;
