//! What a FailoverRecord says: how a move began, how it ended, and for how long that is kept. Where nobody who knew wrote
//! it down, it is read off what is stored: how a move ended whose task is gone, and how one began whose evictor died
//! before it wrote the record.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::failover::{
    CauseType, FailoverRecord, FailoverRecordSpec, FailoverRecordStatus, RecordOutcome, RecordedBinding, RecordedCause,
    RecordedCondition,
};
use api_types::names::failover_record_name;
use api_types::policy::PurgeMode;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, GracefulEvictionTask, TargetCluster, task as task_words};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::copies;
use super::fate::{End, Fate};
use super::placed::placed;
use crate::eviction::{Cause, Switches, Verdict, cause_on_cluster};
use crate::taint_policy::{ManagedTaints, TaintId, condition_types};

/// Who asks for evictions because of taints.
pub const TAINT_MANAGER: &str = "taintManager";
/// Who asks for evictions because an application failed.
pub const APPLICATION_FAILOVER: &str = "applicationFailover";
/// Stands for a cause that nothing stored tells any more.
const UNKNOWN: &str = "unknown";

/// The name of the record of `task`; nothing for a task without a time, which has none yet.
#[must_use]
pub fn name_of(binding: &Binding, task: &GracefulEvictionTask) -> Option<String> {
    let uid = binding.metadata.uid.as_deref()?;
    let written_at = task.creation_timestamp.as_ref()?.0;
    Some(failover_record_name(
        uid,
        &task.from_cluster.as_str().into(),
        written_at,
    ))
}

/// The name of the record that `task` is to have; nothing for tasks that are no moves of ours, and for one without a time.
#[must_use]
pub fn wanted_name(binding: &Binding, task: &GracefulEvictionTask) -> Option<String> {
    let is_ours = task.producer == task_words::TAINT_MANAGER || is_of_application(task);
    is_ours.then(|| name_of(binding, task)).flatten()
}

fn is_of_application(task: &GracefulEvictionTask) -> bool {
    task.reason == task_words::APPLICATION_FAILURE
}

/// How the move of the record `name` ended; nothing while its task is there. `binding` is the stored one.
///
/// Rules: the binding is gone, or another one has its name → BindingGone; the cluster is in the result again → Restored;
/// the binding is placed and every copy works → Completed; else somebody removed the task → RemovedByHand.
#[must_use]
pub fn ended(
    name: &str,
    record: &FailoverRecordSpec,
    binding: Option<&Binding>,
    cluster: &dyn Fn(&str) -> Option<Arc<Cluster>>,
    now: Timestamp,
) -> Option<(RecordOutcome, String)> {
    let same = binding.filter(|binding| binding.metadata.uid.as_deref() == Some(&record.binding.uid));
    let Some(binding) = same else {
        return Some((RecordOutcome::BindingGone, "the binding is gone".to_owned()));
    };
    let tasks = &binding.spec.graceful_eviction_tasks;
    if tasks.iter().any(|task| name_of(binding, task).as_deref() == Some(name)) {
        return None;
    }
    if binding.spec.target(&record.from.as_str().into()).is_some() {
        let why = format!("{} is in the scheduling result again", record.from);
        return Some((RecordOutcome::Restored, why));
    }
    let all_work = || {
        let targets = &binding.spec.clusters;
        targets
            .iter()
            .all(|target| copies::works(binding, target, cluster(&target.name).as_deref(), now).is_ok())
    };
    if placed(binding).is_ok() && all_work() {
        return Some((
            RecordOutcome::Completed,
            "the workload is healthy where it was placed".to_owned(),
        ));
    }
    Some((
        RecordOutcome::RemovedByHand,
        "the task was removed before the workload was healthy elsewhere".to_owned(),
    ))
}

/// What is known of a move beside its task.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// Why the copy had to leave; nothing when nobody knows any more.
    pub cause: Option<&'a Cause>,
    /// The cluster that it left.
    pub cluster: Option<&'a Cluster>,
    /// The policies as they are now; none where nobody knows how the cluster was at the eviction.
    pub known_policies: &'a [&'a ClusterTaintPolicy],
    /// Who asked for it.
    pub requested_by: &'a str,
    /// When it was due.
    pub due_at: Option<Timestamp>,
    /// When it entered the queue.
    pub queued_at: Option<Timestamp>,
    /// When the queue released it.
    pub released_at: Option<Timestamp>,
    /// When its task was written.
    pub evicted_at: Timestamp,
    /// What joins its trace.
    pub traceparent: Option<&'a str>,
}

/// The record of the move that `task` began.
#[must_use]
pub fn of_move(binding: &Binding, task: &GracefulEvictionTask, about: &Move<'_>) -> FailoverRecordSpec {
    let key = binding.key();
    let policies = policies(about);
    FailoverRecordSpec {
        binding: RecordedBinding {
            namespace: key.namespace,
            name: key.name,
            uid: binding.metadata.uid.clone().unwrap_or_default(),
        },
        resource: binding.spec.resource.clone(),
        from: task.from_cluster.clone(),
        replicas: task.replicas,
        cause: RecordedCause {
            type_: match about.cause {
                Some(Cause::Deletion { .. }) => CauseType::Deletion,
                Some(Cause::Application { .. }) => CauseType::ApplicationFailure,
                None if is_of_application(task) => CauseType::ApplicationFailure,
                Some(Cause::Taint { .. }) | None => CauseType::Taint,
            },
            verdict: about.cause.map_or_else(|| UNKNOWN.to_owned(), Cause::identity),
            conditions: conditions(about, &policies),
            policies,
            message: task.message.clone().unwrap_or_default(),
        },
        requested_by: about.requested_by.to_owned(),
        affected_at: about.cause.map(|cause| Time(cause.began_at())),
        due_at: about.due_at.map(Time),
        queued_at: about.queued_at.map(Time),
        released_at: about.released_at.map(Time),
        evicted_at: Time(about.evicted_at),
        traceparent: about.traceparent.map(str::to_owned),
    }
}

/// Names of the policies behind the taint.
fn policies(about: &Move<'_>) -> Vec<String> {
    let (Some(Cause::Taint { key, effect, .. }), Some(cluster)) = (about.cause, about.cluster) else {
        return Vec::new();
    };
    let id = TaintId {
        key: key.clone(),
        effect: effect.clone(),
    };
    let managed = ManagedTaints::read(cluster.metadata.annotations.as_ref()).unwrap_or_default();
    let entry = managed.taints.get(&id);
    entry
        .map(|entry| entry.policies.keys().cloned().collect())
        .unwrap_or_default()
}

/// The conditions of the cluster that these policies ask for, each once.
fn conditions(about: &Move<'_>, policies: &[String]) -> Vec<RecordedCondition> {
    let Some(cluster) = about.cluster else {
        return Vec::new();
    };
    let is_behind = |policy: &&&ClusterTaintPolicy| {
        let name = policy.metadata.name.as_ref();
        name.is_some_and(|name| policies.contains(name))
    };
    let asked = about.known_policies.iter().filter(is_behind);
    let types: BTreeSet<&str> = asked.flat_map(|policy| condition_types(policy)).collect();
    let found = types.into_iter().filter_map(|type_| cluster.condition(type_));
    found
        .map(|condition| RecordedCondition {
            type_: condition.type_.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone(),
        })
        .collect()
}

/// The record of a move that has a task and no record, as far as it can be told from what is stored: when the entry was
/// queued and released nobody knows any more. Nothing for tasks that are no moves of ours, and for one without a time.
///
/// Rules: the cause of a taint is the one that stands on the cluster now, if it stood there before the task was written.
/// Of an application's failure nobody knows any more when it began.
#[must_use]
pub fn of_task(
    binding: &Binding,
    task: &GracefulEvictionTask,
    cluster: Option<&Cluster>,
) -> Option<FailoverRecordSpec> {
    wanted_name(binding, task)?;
    let evicted_at = task.creation_timestamp.as_ref()?.0;
    let of_taint = cluster.filter(|_| !is_of_application(task));
    let stands = of_taint.and_then(|cluster| {
        match cause_on_cluster(binding, cluster, &Switches::all_on(PurgeMode::Gracefully)) {
            Verdict::Affected(affected) if affected.due_at <= evicted_at => Some(affected),
            Verdict::Affected(_) | Verdict::NotAffected(_) => None,
        }
    });
    let about = Move {
        cause: stands.as_ref().map(|affected| &affected.cause),
        cluster,
        known_policies: &[],
        requested_by: if is_of_application(task) {
            APPLICATION_FAILOVER
        } else {
            TAINT_MANAGER
        },
        due_at: stands.as_ref().map(|affected| affected.due_at),
        queued_at: None,
        released_at: None,
        evicted_at,
        traceparent: None,
    };
    Some(of_move(binding, task, &about))
}

/// How the move of a task with this fate ended, and whether the workload is known to be healthy elsewhere; nothing while
/// it goes on.
#[must_use]
pub fn outcome(fate: &Fate) -> Option<(RecordOutcome, Healthy)> {
    match fate {
        Fate::Stays { .. }
        | Fate::LeavesResult { .. }
        | Fate::TurnsGraceful { .. }
        | Fate::Ends(End::OwnersLeft | End::Surplus) => None,
        Fate::Restored { .. } | Fate::Ends(End::StaysThere { .. }) => Some((RecordOutcome::Restored, Healthy::Unknown)),
        Fate::Ends(End::Replaced { .. }) => Some((RecordOutcome::Completed, Healthy::Yes)),
        Fate::Ends(End::GraceOver { .. } | End::NoCluster) => Some((RecordOutcome::Completed, Healthy::Unknown)),
        Fate::Ends(End::AskedFor) => Some((RecordOutcome::RemovedByHand, Healthy::Unknown)),
    }
}

/// Whether the workload of a move that ended is healthy where it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Healthy {
    /// It is: a plugin said so.
    Yes,
    /// Nobody asked.
    Unknown,
}

/// A move that has ended.
#[derive(Clone, Debug)]
pub struct Ended<'a> {
    /// The binding when it ended; nothing when it is gone.
    pub binding: Option<&'a Binding>,
    /// When its task was written.
    pub evicted_at: Timestamp,
    /// The copy that came back, where the state before the failure was restored.
    pub restored: Option<TargetCluster>,
    /// How it ended.
    pub outcome: RecordOutcome,
    /// Whether the workload is known to be healthy where it went.
    pub healthy: Healthy,
    /// Why, in words.
    pub reason: String,
    /// When that was seen.
    pub now: Timestamp,
}

/// The longest reason that a record may give, in characters.
const LONGEST_REASON: usize = 1024;

/// What its record says of it: where the workload went, when it was placed, healthy and done, and how it ended.
///
/// A placement counts only when the scheduler made it after the eviction.
#[must_use]
pub fn closing(ended: Ended<'_>) -> FailoverRecordStatus {
    let binding = ended.binding;
    let placed_at = binding
        .and_then(|binding| binding.status.as_ref()?.last_scheduled_time.clone())
        .filter(|at| at.0.as_second() >= ended.evicted_at.as_second());
    let targets = binding.map(|binding| binding.spec.clusters.clone()).unwrap_or_default();
    let (is_healthy, done) = (ended.healthy == Healthy::Yes, Time(ended.now));
    FailoverRecordStatus {
        to: targets.into_iter().chain(ended.restored).collect(),
        scheduled_at: placed_at,
        healthy_at: is_healthy.then(|| done.clone()),
        cleaned_at: Some(done),
        outcome: Some(ended.outcome),
        reason: ended.reason.chars().take(LONGEST_REASON).collect(),
    }
}

/// When a record was closed; nothing for one that is open.
#[must_use]
pub fn closed_at(record: &FailoverRecord) -> Option<Timestamp> {
    let status = record.status.as_ref()?;
    status.outcome.as_ref()?;
    Some(
        status
            .cleaned_at
            .as_ref()
            .map_or(record.spec.evicted_at.0, |time| time.0),
    )
}

/// How many records are kept at most.
pub const MOST_RECORDS: usize = 10_000;

/// What becomes of a closed record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// It is kept until then.
    Until(Timestamp),
    /// Its time is over.
    Over,
    /// There are too many: the oldest closed one goes, and this one is looked at again then.
    OldestGoes(Timestamp),
}

/// Whether a record that was closed at `closed_at` is kept, of `records` in all.
#[must_use]
pub fn keeping(closed_at: Timestamp, retention: Duration, records: usize, now: Timestamp) -> Keeping {
    let until = closed_at.saturating_add(retention).unwrap_or(Timestamp::MAX);
    if until <= now {
        Keeping::Over
    } else if records > MOST_RECORDS {
        Keeping::OldestGoes(until)
    } else {
        Keeping::Until(until)
    }
}

#[cfg(test)]
mod tests;
