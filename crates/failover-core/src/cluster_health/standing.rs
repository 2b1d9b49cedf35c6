//! What the monitor thinks of one cluster, and why, in words.
//!
//! A Pull cluster stands by its agent's Lease. A Push cluster stands by the Lease of `clusterStatus`, which names in an
//! annotation the clusters whose probes are overdue; that word counts only while its Lease is renewed. A reporter that is
//! silent itself, or that says that it can ask nobody, says nothing of the clusters: nothing is marked then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::ClusterSyncMode;
use api_types::names::annotation;
use jiff::SignedDuration;

use super::on_leases::NOTHING_PROBED;
use super::silence::{LeaseThere, ReadyMark, Sight, Sign};
use super::watch::{Hearing, Source, Voice, Watch};

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
    /// The reporter, which is there, can ask no member at all, which says nothing of any: nothing is marked.
    NothingProbed,
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
        (Voice::Alive, ReportedBy::Reporter) if probed.overdue.contains(NOTHING_PROBED) => Standing::NothingProbed,
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
                "no probe of it has come to an end in time, says Lease {reporter} in annotation {}; the log of clusterStatus says \
                 why",
                annotation::PROBES_OVERDUE
            ),
            Self::NothingProbed => format!(
                "clusterStatus renews Lease {reporter} and could ask no member at all, which is its own trouble: nobody \
                 probes this cluster, its Ready condition may be out of date, and nothing is marked for that; see the log \
                 of clusterStatus, which among others needs the right to list the members' secrets"
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

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;
