//! The report of `explain binding`, made from what was gathered. Pure: every verdict comes from `failover-core` and
//! `scheduler-filters`.

use std::sync::Arc;

use api_types::ClusterName;
use api_types::cluster::{Cluster, condition as cluster_condition};
use api_types::policy::{DEFAULT_CLUSTER_TOLERATION_SECONDS, PurgeMode};
use api_types::work::{Binding, BindingSnapshot, condition};
use failover_core::eviction::{Cause, Switches};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use scheduler_filters::ours::scheduler_of;
use scheduler_filters::schedulers::DEFAULT_SCHEDULER;
use scheduler_filters::{Fleet, NotOurs, ours};
use serde::Serialize;

use super::conclusion;
use super::gather::Gathered;
use super::groups::AffinityGroups;
use super::places::{KeptView, Place, Rank, Scheduler, Search};
use super::tasks::{TaskView, tasks};
use super::verdicts::{VerdictView, application_says, verdict_view};
use crate::controllers::{self, NotDone, Severity};
use crate::entry::{EntryView, MoveView, ResourceView};
use crate::explain::Conclusion;
use crate::failure::{ExitStatus, Failure};
use crate::history::RecordView;
use crate::output::At;
use crate::status::{TaintView, queue_not_done};

/// Why a workload moved or did not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainReport {
    /// `NAMESPACE/NAME`, or `NAME` of cluster scope.
    pub binding: String,
    /// The template.
    pub resource: ResourceView,
    /// Replicas wanted in all.
    pub replicas: i32,
    /// Whether somebody deleted the binding.
    pub being_deleted: bool,
    /// Who places it.
    pub scheduler: SchedulerView,
    /// The ordered groups of clusters that it is placed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity_groups: Option<AffinityGroups>,
    /// The condition Scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<ConditionView>,
    /// The condition EvictionPending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_pending: Option<ConditionView>,
    /// The condition GracefulEviction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graceful_eviction: Option<ConditionView>,
    /// What the owner allows: whether and how the workload moves.
    pub owner_says: String,
    /// Each cluster: those of the result, those on their way out, and the candidates.
    pub clusters: Vec<ClusterRow>,
    /// Its entries in the eviction queue, the most urgent first.
    pub entries: Vec<EntryView>,
    /// Why the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_error: Option<String>,
    /// Copies on their way out.
    pub tasks: Vec<TaskView>,
    /// The copies that stay in the result until another one is healthy, although they have no place there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptView>,
    /// What the scheduler would find without each cluster that has to be left; with none of those, as things are.
    pub searches: Vec<Search>,
    /// What became of earlier entries since the queue's leader started, newest first.
    pub recent: Vec<MoveView>,
    /// The last moves, from FailoverRecords, newest first.
    pub moves: Vec<RecordView>,
    /// What is not done, and why.
    pub not_done: Vec<NotDone>,
    /// The answer.
    pub conclusion: Conclusion,
}

/// Who places a binding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerView {
    /// The scheduler that the binding names.
    pub name: String,
    /// Why it leaves the binding alone; absent: it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaves_it: Option<String>,
    /// What ends that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<&'static str>,
    /// The bindings that it follows to their clusters, as `NAMESPACE/NAME` or `NAME`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<String>,
}

impl SchedulerView {
    fn of(binding: &Binding) -> Self {
        let name = scheduler_of(binding);
        let left = ours(binding, name).err();
        let remedy = left.and_then(|why| match why {
            NotOurs::Suspended => Some("set it to false in the PropagationPolicy (spec.suspension.scheduling)"),
            NotOurs::NoManager => Some("ask about the binding of the workload that needs it"),
            NotOurs::NoPlacement => Some("give the PropagationPolicy a spec.placement"),
            NotOurs::BeingDeleted | NotOurs::OtherScheduler => None,
        });
        Self {
            name: name.to_owned(),
            leaves_it: left.map(|why| why.to_string()),
            remedy,
            follows: binding.spec.required_by.iter().map(named).collect(),
        }
    }

    /// Whether its plugins are not those that the dry run takes, as far as the name tells.
    #[must_use]
    pub fn is_another(&self) -> bool {
        self.name != DEFAULT_SCHEDULER
    }
}

fn named(needs_it: &BindingSnapshot) -> String {
    match needs_it.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
        Some(namespace) => format!("{namespace}/{}", needs_it.name),
        None => needs_it.name.clone(),
    }
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionView {
    /// True, False or Unknown.
    pub status: String,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// Since when it has this status.
    pub since: At,
}

impl ConditionView {
    fn of(condition: &Condition) -> Self {
        Self {
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            since: At(condition.last_transition_time.0),
        }
    }
}

/// What a cluster is to the binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Role {
    /// It is in spec.clusters.
    Chosen,
    /// It is in spec.clusters and in spec.gracefulEvictionTasks.
    ChosenAndLeft,
    /// It is in spec.gracefulEvictionTasks.
    Left,
    /// It is in neither.
    Candidate,
}

/// A cluster as the binding sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRow {
    /// Its name.
    pub name: String,
    /// What it is to the binding.
    pub role: Role,
    /// Replicas there, by the scheduling result or the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Whether there is such a Cluster.
    pub exists: bool,
    /// True, False or Unknown; absent: never reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Health of the copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// Taints that may cause evictions.
    pub taints: Vec<TaintView>,
    /// What its state means for the binding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictView>,
    /// Of a candidate, whether it would take the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// How the scheduler ranks it, where it is in the result or could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
}

/// Makes the report.
#[must_use]
pub fn report(gathered: &Gathered, now: Timestamp) -> ExplainReport {
    let binding = &gathered.binding;
    let controllers = controllers::controllers(&gathered.leases, gathered.mode, now);
    let switches = controllers::switches(gathered.mode, controllers::failover_gate(&controllers));
    let mut not_done = controllers::not_done(&controllers, &gathered.system_namespace, now);
    if let Ok(queue) = &gathered.queue {
        controllers::add(&mut not_done, queue_not_done(&queue.status, now));
    }
    let clusters: Vec<Arc<Cluster>> = gathered.clusters.iter().cloned().map(Arc::new).collect();
    let fleet: Fleet = clusters.iter().map(Arc::clone).collect();
    let scheduler = Scheduler {
        fleet: &fleet,
        switches: &switches,
        now,
    };

    let queue = gathered.queue.as_ref().ok();
    let entries = queue.map(|queue| queue.entries.clone()).unwrap_or_default();
    let mut rows = rows(binding, &fleet, &switches);
    let leaving: Vec<(ClusterName, Option<Cause>)> = rows
        .iter()
        .filter(|row| row.role == Role::Chosen)
        .filter_map(|row| {
            let judged = row.verdict.as_ref().and_then(|verdict| verdict.cause.as_deref());
            let queued = entries
                .iter()
                .find(|entry| entry.cluster == row.name)
                .map(|e| e.cause.identity.as_str());
            let cause = queued.or(judged)?;
            Some((ClusterName::from(row.name.as_str()), cause.parse().ok()))
        })
        .collect();
    let searches: Vec<Search> = if leaving.is_empty() {
        vec![scheduler.as_is(binding)]
    } else {
        leaving
            .iter()
            .map(|(cluster, cause)| scheduler.without(binding, cluster, cause.as_ref()))
            .collect()
    };
    for row in rows.iter_mut().filter(|row| row.role == Role::Candidate) {
        row.place = searches
            .first()
            .and_then(|s| s.places.iter().find(|place| place.cluster == row.name))
            .cloned();
    }
    for row in &mut rows {
        let could_be = match row.role {
            Role::Chosen | Role::ChosenAndLeft => true,
            Role::Left => false,
            Role::Candidate => row.place.as_ref().is_some_and(|place| place.refused_by.is_none()),
        };
        row.rank = fleet
            .get(&row.name)
            .filter(|_| could_be)
            .map(|cluster| scheduler.rank(binding, cluster));
    }

    let resource = &binding.spec.resource;
    let mut report = ExplainReport {
        binding: binding.key().to_string(),
        resource: ResourceView {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
        },
        replicas: binding.replicas(),
        being_deleted: binding.is_being_deleted(),
        scheduler: SchedulerView::of(binding),
        affinity_groups: AffinityGroups::of(binding),
        scheduled: binding.condition(condition::SCHEDULED).map(ConditionView::of),
        eviction_pending: binding.condition(condition::EVICTION_PENDING).map(ConditionView::of),
        graceful_eviction: binding.condition(condition::GRACEFUL_EVICTION).map(ConditionView::of),
        owner_says: owner_says(binding),
        clusters: rows,
        entries,
        queue_error: gathered.queue.as_ref().err().map(Failure::one_line),
        tasks: tasks(binding, &clusters, now),
        kept: scheduler.kept(binding),
        searches,
        recent: queue.map(|queue| queue.recent.clone()).unwrap_or_default(),
        moves: gathered.moves.clone(),
        not_done,
        conclusion: Conclusion::default(),
    };
    let rate = queue.map(|queue| queue.status.evictions_per_second);
    report.conclusion = conclusion::conclude(&report, rate, now);
    report
}

impl ExplainReport {
    /// How the program ends: 1 when the workload is stuck.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        if self.conclusion.severity == Some(Severity::Problem) {
            ExitStatus::Problem
        } else {
            ExitStatus::Fine
        }
    }
}

fn rows(binding: &Binding, fleet: &Fleet, switches: &Switches) -> Vec<ClusterRow> {
    let mut names: Vec<ClusterName> = fleet.iter().map(|(name, _)| name.clone()).collect();
    names.extend(
        binding
            .spec
            .clusters
            .iter()
            .map(|target| ClusterName::from(target.name.as_str())),
    );
    names.extend(
        binding
            .spec
            .graceful_eviction_tasks
            .iter()
            .map(|t| ClusterName::from(t.from_cluster.as_str())),
    );
    names.sort();
    names.dedup();
    let mut rows: Vec<ClusterRow> = names
        .iter()
        .map(|name| row(binding, name, fleet.get(name.as_str()), switches))
        .collect();
    rows.sort_by_key(|row| row.role);
    rows
}

fn row(binding: &Binding, name: &ClusterName, cluster: Option<&Cluster>, switches: &Switches) -> ClusterRow {
    let (target, task) = (binding.spec.target(name), binding.spec.task(name));
    let role = match (target, task) {
        (Some(_), None) => Role::Chosen,
        (Some(_), Some(_)) => Role::ChosenAndLeft,
        (None, Some(_)) => Role::Left,
        (None, None) => Role::Candidate,
    };
    let taints = cluster.map(|cluster| {
        cluster
            .spec
            .taints
            .iter()
            .map(TaintView::of)
            .filter(TaintView::evicts)
            .collect()
    });
    ClusterRow {
        name: name.to_string(),
        role,
        replicas: target
            .map(|target| target.replicas)
            .or_else(|| task.and_then(|task| task.replicas)),
        exists: cluster.is_some(),
        ready: cluster
            .and_then(|c| c.condition(cluster_condition::READY))
            .map(|ready| ready.status.clone()),
        health: binding
            .status_on(name)
            .and_then(|item| item.health.as_ref())
            .map(ToString::to_string),
        taints: taints.unwrap_or_default(),
        verdict: cluster.map(|cluster| verdict_view(binding, name, cluster, role, switches)),
        place: None,
        rank: None,
    }
}

fn owner_says(binding: &Binding) -> String {
    let failover = binding
        .spec
        .failover
        .as_ref()
        .and_then(|failover| failover.cluster.as_ref());
    let opted_in = match failover {
        None => "no spec.failover.cluster: PreferNoExecute taints do not move it".to_owned(),
        Some(behavior) => {
            let seconds = behavior
                .toleration_seconds
                .unwrap_or(DEFAULT_CLUSTER_TOLERATION_SECONDS);
            let purge = behavior
                .purge_mode
                .as_ref()
                .map_or(PurgeMode::Gracefully, PurgeMode::effective);
            format!("spec.failover.cluster: PreferNoExecute taints move it after {seconds} s, {purge}")
        }
    };
    let tolerations = binding
        .spec
        .placement
        .as_ref()
        .map_or(0, |placement| placement.cluster_tolerations.len());
    let tolerated = match tolerations {
        0 => "no clusterTolerations: NoExecute taints move it at once".to_owned(),
        count => format!("{count} clusterTolerations, which NoExecute taints are measured against"),
    };
    match application_says(binding) {
        Some(application) => format!("{opted_in}; {tolerated}; {application}"),
        None => format!("{opted_in}; {tolerated}"),
    }
}
