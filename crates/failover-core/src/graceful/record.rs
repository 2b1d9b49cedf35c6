//! How a move ended, read off what is stored: for the FailoverRecord of a task that is gone.

use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::failover::{FailoverRecordSpec, RecordOutcome};
use api_types::names::failover_record_name;
use api_types::work::{Binding, GracefulEvictionTask};

use super::copies;
use super::placed::placed;

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
}
