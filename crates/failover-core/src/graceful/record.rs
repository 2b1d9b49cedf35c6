//! What a FailoverRecord says, read off what is stored: how a move ended whose task is gone, and how one began whose
//! evictor died before it wrote the record.

use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::failover::{CauseType, FailoverRecordSpec, RecordOutcome, RecordedBinding, RecordedCause};
use api_types::names::failover_record_name;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, GracefulEvictionTask, task as task_words};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::copies;
use super::placed::placed;
use crate::eviction::{Cause, Switches, Verdict, cause_on_cluster};
use crate::taint_policy::{ManagedTaints, TaintId};

/// Who asks for evictions because of taints, as in the records that the evictor writes.
const TAINT_MANAGER: &str = "taintManager";
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
            .all(|target| copies::works(binding, target, cluster(&target.name).as_deref()).is_ok())
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

/// The record of a move that has a task and no record, as far as it can be told from what is stored: when the entry was
/// queued and released nobody knows any more. Nothing for tasks that are no moves of ours, and for one without a time.
///
/// Rules: the cause is the one that stands on the cluster now, if it stood there before the task was written.
#[must_use]
pub fn of_task(
    binding: &Binding,
    task: &GracefulEvictionTask,
    cluster: Option<&Cluster>,
) -> Option<FailoverRecordSpec> {
    if task.producer != task_words::TAINT_MANAGER {
        return None;
    }
    let evicted_at = task.creation_timestamp.clone()?;
    let stands = cluster.and_then(|cluster| {
        match cause_on_cluster(binding, cluster, &Switches::all_on(PurgeMode::Gracefully)) {
            Verdict::Affected(affected) if affected.due_at <= evicted_at.0 => Some((affected, cluster)),
            Verdict::Affected(_) | Verdict::NotAffected(_) => None,
        }
    });
    let (type_, verdict, policies) = match &stands {
        Some((affected, cluster)) => match &affected.cause {
            Cause::Taint { key, effect, .. } => {
                let id = TaintId {
                    key: key.clone(),
                    effect: effect.clone(),
                };
                (CauseType::Taint, affected.cause.identity(), policies(cluster, &id))
            }
            Cause::Deletion { .. } => (CauseType::Deletion, affected.cause.identity(), Vec::new()),
            Cause::Application { .. } => (CauseType::ApplicationFailure, affected.cause.identity(), Vec::new()),
        },
        None => (CauseType::Taint, UNKNOWN.to_owned(), Vec::new()),
    };
    let stands = stands.map(|(affected, _)| affected);
    Some(FailoverRecordSpec {
        binding: RecordedBinding {
            namespace: binding.metadata.namespace.clone(),
            name: binding.metadata.name.clone()?,
            uid: binding.metadata.uid.clone()?,
        },
        resource: binding.spec.resource.clone(),
        from: task.from_cluster.clone(),
        replicas: task.replicas,
        cause: RecordedCause {
            type_,
            verdict,
            policies,
            message: task.message.clone().unwrap_or_default(),
        },
        requested_by: TAINT_MANAGER.to_owned(),
        affected_at: stands.as_ref().map(|affected| Time(affected.cause.began_at())),
        due_at: stands.as_ref().map(|affected| Time(affected.due_at)),
        queued_at: None,
        released_at: None,
        evicted_at,
    })
}

fn policies(cluster: &Cluster, taint: &TaintId) -> Vec<String> {
    let managed = ManagedTaints::read(cluster.metadata.annotations.as_ref()).unwrap_or_default();
    let entry = managed.taints.get(taint);
    entry
        .map(|entry| entry.policies.keys().cloned().collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn binding(clusters: &Value, tasks: &Value, items: &Value) -> Binding {
        serde_json::from_value(json!({
            "metadata": {"namespace": "default", "name": "b", "uid": "u", "generation": 1},
            "spec": {
                "resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "b"},
                "clusters": clusters, "gracefulEvictionTasks": tasks,
            },
            "status": {
                "schedulerObservedGeneration": 1, "aggregatedStatus": items,
                "conditions": [{
                    "type": "Scheduled", "status": "True", "reason": "Success", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
            },
        }))
        .unwrap()
    }

    #[rstest]
    #[case::goes_on(json!([]), json!([{"fromCluster": "m1", "reason": "r", "producer": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}]), json!([]), None)]
    #[case::a_later_task_is_another_move(json!([]), json!([{"fromCluster": "m1", "reason": "r", "producer": "p", "creationTimestamp": "2026-01-02T00:00:00Z"}]), json!([]), Some(RecordOutcome::RemovedByHand))]
    #[case::back(json!([{"name": "m1"}]), json!([]), json!([]), Some(RecordOutcome::Restored))]
    #[case::moved(json!([{"name": "m2"}]), json!([]), json!([{"clusterName": "m2", "applied": true}]), Some(RecordOutcome::Completed))]
    #[case::not_there_yet(json!([{"name": "m2"}]), json!([]), json!([]), Some(RecordOutcome::RemovedByHand))]
    fn outcomes(
        #[case] clusters: Value,
        #[case] tasks: Value,
        #[case] items: Value,
        #[case] expected: Option<RecordOutcome>,
    ) {
        let ready: Arc<Cluster> = Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": "m2"}, "spec": {"syncMode": "Push"},
                "status": {"conditions": [{
                    "type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            }))
            .unwrap(),
        );
        let record: FailoverRecordSpec = serde_json::from_value(json!({
            "binding": {"namespace": "default", "name": "b", "uid": "u"},
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "b"},
            "from": "m1", "cause": {"type": "Taint", "verdict": "v"}, "requestedBy": "r", "evictedAt": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        let name = failover_record_name("u", &"m1".into(), "2026-01-01T00:00:00Z".parse().unwrap());
        let cluster = |_: &str| Some(Arc::clone(&ready));
        let stored = binding(&clusters, &tasks, &items);
        assert_eq!(
            ended(&name, &record, Some(&stored), &cluster).map(|(outcome, _)| outcome),
            expected
        );

        let gone = Some(RecordOutcome::BindingGone);
        assert_eq!(ended(&name, &record, None, &cluster).map(|(outcome, _)| outcome), gone);
        let mut another = stored;
        another.metadata.uid = Some("v".to_owned());
        assert_eq!(
            ended(&name, &record, Some(&another), &cluster).map(|(outcome, _)| outcome),
            gone
        );
    }
    #[rstest]
    #[case::the_taint_still_stands(json!([{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]), "TaintManager", Some("k:NoExecute@2026-01-01T00:00:00Z"))]
    #[case::a_later_taint_is_another_cause(json!([{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:02:00Z"}]), "TaintManager", Some("unknown"))]
    #[case::the_taint_is_gone(json!([]), "TaintManager", Some("unknown"))]
    #[case::no_move_of_ours(json!([]), "DependencyMirror", None)]
    fn a_record_is_made_up_from_its_task(#[case] taints: Value, #[case] producer: &str, #[case] verdict: Option<&str>) {
        let cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "taints": taints},
        }))
        .unwrap();
        let tasks = json!([{
            "fromCluster": "m1", "replicas": 2, "reason": "TaintUntolerated", "message": "why", "producer": producer,
            "creationTimestamp": "2026-01-01T00:01:00Z",
        }]);
        let binding = binding(&json!([]), &tasks, &json!([]));
        let record = of_task(&binding, &binding.spec.graceful_eviction_tasks[0], Some(&cluster));
        assert_eq!(record.as_ref().map(|record| record.cause.verdict.as_str()), verdict);
        if let Some(record) = record {
            assert_eq!(
                (record.from.as_str(), record.replicas, record.cause.message.as_str()),
                ("m1", Some(2), "why")
            );
            assert_eq!(record.due_at.is_some(), verdict != Some("unknown"));
        }
    }
}
