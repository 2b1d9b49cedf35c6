//! The report of `explain cluster`, made from what was gathered. Pure: every verdict comes from `failover-core`.

use api_types::cluster::{Cluster, condition};
use api_types::taint_policy::ClusterTaintPolicy;
use failover_core::taint_policy::{FlapScore, Reading};
use jiff::Timestamp;
use serde::Serialize;

use super::conclusion;
use super::gather::Gathered;
use super::history::{Happened, history};
use super::leaving::{Leaving, leaving};
use super::reporter::{Reporter, reporter};
use super::standing::{StandingTaint, standing};
use super::would_leave::{WouldLeave, coming, would_leave};
use crate::controllers::{self, NotDone, Severity};
use crate::explain::Conclusion;
use crate::explain::taints::{Engine, PolicyOnCluster, Settings};
use crate::failure::ExitStatus;
use crate::output::At;
use crate::status::queue_not_done;

/// How a Cluster is, and what follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterExplanation {
    /// Its name.
    pub cluster: String,
    /// Push or Pull.
    pub sync_mode: String,
    /// When somebody deleted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<At>,
    /// Its conditions; Ready first.
    pub conditions: Vec<ClusterCondition>,
    /// How restless it has been: crossings of Ready, each forgotten by half every 30 minutes.
    pub flap_score: f64,
    /// Who reports on it.
    pub reporter: Reporter,
    /// What happened to it, oldest first, as far as Events are kept.
    pub history: Vec<Happened>,
    /// The taints that stand.
    pub taints: Vec<StandingTaint>,
    /// The policies that speak of it, the one that wins conflicts first.
    pub policies: Vec<PolicyOnCluster>,
    /// Names of the policies that do not.
    pub policies_for_others: Vec<String>,
    /// What would leave it when a taint comes whose window runs, taint by taint.
    pub would_leave: Vec<WouldLeave>,
    /// What leaves it.
    pub leaving: Leaving,
    /// What is not done, and why.
    pub not_done: Vec<NotDone>,
    /// The answer.
    pub conclusion: Conclusion,
}

/// A condition of the Cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCondition {
    /// Its type.
    #[serde(rename = "type")]
    pub type_: String,
    /// True, False or Unknown.
    pub status: String,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// Since when it has this status.
    pub since: At,
}

/// Controllers whose work this report is about; what others leave undone is not told here.
const CONCERNED: [&str; 6] = [
    "clusterStatus",
    "cluster",
    "clusterTaintPolicy",
    "taintManager",
    "evictionQueue",
    "evictor",
];

/// Makes the report.
#[must_use]
pub fn report(gathered: &Gathered, now: Timestamp) -> ClusterExplanation {
    let cluster = &gathered.cluster;
    let controllers = controllers::controllers(&gathered.leases, gathered.mode, now);
    let mut not_done = controllers::not_done(&controllers, &gathered.system_namespace, now);
    if let Ok(queue) = &gathered.queue {
        controllers::add(&mut not_done, queue_not_done(&queue.status, now));
    }
    not_done.retain(|item| {
        item.subject
            .strip_prefix("controller/")
            .is_none_or(|name| CONCERNED.contains(&name))
    });

    let policies: Vec<&ClusterTaintPolicy> = gathered.policies.iter().collect();
    let settings = Settings::of(&controllers, now);
    let engine = Engine::look(&policies, cluster, &settings);
    let rows = engine.views(&policies);
    let mut report = ClusterExplanation {
        cluster: cluster.cluster_name().to_string(),
        sync_mode: cluster.spec.sync_mode.to_string(),
        deleted_at: cluster.metadata.deletion_timestamp.as_ref().map(|time| At(time.0)),
        conditions: conditions(cluster),
        flap_score: flap_score(cluster, now),
        reporter: reporter(
            cluster,
            gathered.agent_lease.as_ref(),
            &gathered.leases,
            &controllers,
            gathered.mode,
            &gathered.system_namespace,
            now,
        ),
        history: history(&gathered.events),
        taints: standing(&engine, &rows, gathered.mode),
        would_leave: would_leave(
            cluster,
            gathered.bindings.as_deref().unwrap_or_default(),
            &rows,
            gathered.mode,
            controllers::failover_gate(&controllers),
        ),
        policies: rows,
        policies_for_others: policies
            .iter()
            .filter(|policy| !Reading::of(policy).speaks_of(cluster))
            .filter_map(|policy| policy.metadata.name.clone())
            .collect(),
        leaving: leaving(
            cluster,
            gathered.queue.as_ref(),
            &controllers::switches(gathered.mode, controllers::failover_gate(&controllers)),
        ),
        not_done,
        conclusion: Conclusion::default(),
    };
    report.conclusion = conclusion::conclude(&report, gathered.mode, now);
    report
}

/// Whether a taint is coming that may move workloads: then it is worth while to ask for the bindings.
pub(super) fn something_is_coming(gathered: &Gathered, now: Timestamp) -> bool {
    let controllers = controllers::controllers(&gathered.leases, gathered.mode, now);
    let policies: Vec<&ClusterTaintPolicy> = gathered.policies.iter().collect();
    let settings = Settings::of(&controllers, now);
    let rows = Engine::look(&policies, &gathered.cluster, &settings).views(&policies);
    !coming(&gathered.cluster, &rows).is_empty()
}

impl ClusterExplanation {
    /// The condition Ready.
    #[must_use]
    pub fn ready(&self) -> Option<&ClusterCondition> {
        self.condition(condition::READY)
    }

    /// The condition of this type.
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&ClusterCondition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// How the program ends: 1 when something is wrong that nobody chose.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        if self.conclusion.severity == Some(Severity::Problem) {
            ExitStatus::Problem
        } else {
            ExitStatus::Fine
        }
    }
}

fn conditions(cluster: &Cluster) -> Vec<ClusterCondition> {
    let stored = cluster.status.iter().flat_map(|status| &status.conditions);
    let mut conditions: Vec<ClusterCondition> = stored
        .map(|stored| ClusterCondition {
            type_: stored.type_.clone(),
            status: stored.status.clone(),
            reason: stored.reason.clone(),
            message: stored.message.clone(),
            since: At(stored.last_transition_time.0),
        })
        .collect();
    conditions.sort_by_key(|condition| (condition.type_ != condition::READY, condition.type_.clone()));
    conditions
}

/// Rounded to two digits: the rest is no knowledge.
fn flap_score(cluster: &Cluster, now: Timestamp) -> f64 {
    let score = FlapScore::read(cluster.metadata.annotations.as_ref()).unwrap_or_default();
    (score.at(now) * 100.0).round() / 100.0
}
