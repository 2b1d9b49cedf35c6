//! How moves end, and what their records say.

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
    let now = "2026-01-01T12:00:00Z".parse().unwrap();
    let stored = binding(&clusters, &tasks, &items);
    assert_eq!(
        ended(&name, &record, Some(&stored), &cluster, now).map(|(outcome, _)| outcome),
        expected
    );

    let gone = Some(RecordOutcome::BindingGone);
    assert_eq!(
        ended(&name, &record, None, &cluster, now).map(|(outcome, _)| outcome),
        gone
    );
    let mut another = stored;
    another.metadata.uid = Some("v".to_owned());
    assert_eq!(
        ended(&name, &record, Some(&another), &cluster, now).map(|(outcome, _)| outcome),
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

#[test]
fn the_record_of_an_application_s_move_is_made_up_too() {
    let tasks = json!([{
        "fromCluster": "m1", "reason": "ApplicationFailure", "message": "why",
        "producer": "resource-binding-application-failover-controller", "creationTimestamp": "2026-01-01T00:01:00Z",
    }]);
    let binding = binding(&json!([]), &tasks, &json!([]));
    let record = of_task(&binding, &binding.spec.graceful_eviction_tasks[0], None).unwrap();
    assert_eq!(record.cause.type_, CauseType::ApplicationFailure);
    assert_eq!(
        (record.cause.verdict.as_str(), record.requested_by.as_str()),
        ("unknown", "applicationFailover")
    );
}

fn at(second: u32) -> Timestamp {
    format!("2026-01-01T00:01:{second:02}Z").parse().unwrap()
}

// A time of before the eviction is that of the placement which was left.
#[rstest]
#[case::placed_since(Some(10), Healthy::Yes, (Some(10), Some(30)))]
#[case::in_the_second_of_the_eviction(Some(5), Healthy::Yes, (Some(5), Some(30)))]
#[case::placed_before(Some(4), Healthy::Unknown, (None, None))]
#[case::never_placed(None, Healthy::Unknown, (None, None))]
fn a_closed_record_has_the_times_of_its_phases(
    #[case] placed: Option<u32>,
    #[case] healthy: Healthy,
    #[case] expected: (Option<u32>, Option<u32>),
) {
    let mut binding = binding(&json!([{"name": "m2", "replicas": 3}]), &json!([]), &json!([]));
    binding.status.as_mut().unwrap().last_scheduled_time = placed.map(|second| Time(at(second)));
    let status = closing(Ended {
        binding: Some(&binding),
        evicted_at: at(5),
        restored: None,
        outcome: RecordOutcome::Completed,
        healthy,
        reason: "é".repeat(2_000),
        now: at(30),
    });
    let time = |second: u32| Time(at(second));
    assert_eq!(
        (status.scheduled_at, status.healthy_at, status.cleaned_at),
        (expected.0.map(time), expected.1.map(time), Some(time(30)))
    );
    assert_eq!(status.to[0].name, "m2");
    assert_eq!(status.reason.chars().count(), 1024, "what the API accepts");
}

#[test]
fn a_restored_move_ends_where_it_began() {
    let binding = binding(&json!([{"name": "m2", "replicas": 2}]), &json!([]), &json!([]));
    let status = closing(Ended {
        binding: Some(&binding),
        evicted_at: at(5),
        restored: Some(TargetCluster {
            name: "m1".to_owned(),
            replicas: 1,
            ..TargetCluster::default()
        }),
        outcome: RecordOutcome::Restored,
        healthy: Healthy::Unknown,
        reason: String::new(),
        now: at(30),
    });
    let to: Vec<&str> = status.to.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(to, ["m2", "m1"]);
}

#[rstest]
#[case::young(3_599, 1, Keeping::Until("2026-01-01T01:00:00Z".parse().unwrap()))]
#[case::old(3_600, 1, Keeping::Over)]
#[case::one_too_many(10, MOST_RECORDS + 1, Keeping::OldestGoes("2026-01-01T01:00:00Z".parse().unwrap()))]
fn closed_records_are_kept_for_a_time(#[case] age_seconds: u64, #[case] records: usize, #[case] expected: Keeping) {
    let closed: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let now = closed + Duration::from_secs(age_seconds);
    assert_eq!(keeping(closed, Duration::from_secs(3_600), records, now), expected);
}

// Those that the policies behind the taint ask for, in either form, and no others; each once.
#[test]
fn the_conditions_behind_a_taint_are_remembered() {
    let condition = |type_: &str, status: &str| {
        json!({
            "type": type_, "status": status, "reason": "Because", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let managed = json!({"cluster": "c", "taints": {"k:NoExecute": {
        "policies": {"ours": "u1", "stock-s": "u2"}, "timeAdded": "2026-01-01T00:00:00Z",
    }}});
    let cluster: Cluster = serde_json::from_value(json!({
        "metadata": {"name": "m1", "uid": "c", "annotations": {"failover.karmada.io/managed-taints": managed.to_string()}},
        "spec": {"syncMode": "Push", "taints": [{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]},
        "status": {"conditions": [
            condition("Ready", "False"), condition("Disk", "True"), condition("Network", "Unknown"), condition("Other", "True"),
        ]},
    }))
    .unwrap();
    let asks = |type_: &str| json!([{"conditionType": type_, "operator": "In", "statusValues": ["True"]}]);
    let policy = |name: &str, spec: Value| -> ClusterTaintPolicy {
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
    };
    let ready = asks("Ready").as_array().unwrap().clone();
    let both = [ready, asks("Missing").as_array().unwrap().clone()].concat();
    let policies = [
        policy("ours", json!({"matchConditions": both, "taintsToAdd": []})),
        policy(
            "stock-s",
            json!({"addOnConditions": asks("Ready"), "removeOnConditions": asks("Network"), "taints": []}),
        ),
        policy("another", json!({"matchConditions": asks("Other"), "taintsToAdd": []})),
    ];
    let policies: Vec<&ClusterTaintPolicy> = policies.iter().collect();
    let tasks = json!([{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}]);
    let binding = binding(&json!([]), &tasks, &json!([]));
    let cause: Cause = "k:NoExecute@2026-01-01T00:00:00Z".parse().unwrap();
    let about = Move {
        cause: Some(&cause),
        cluster: Some(&cluster),
        known_policies: &policies,
        requested_by: TAINT_MANAGER,
        due_at: None,
        queued_at: None,
        released_at: None,
        evicted_at: "2026-01-01T00:01:00Z".parse().unwrap(),
        traceparent: None,
    };
    let record = of_move(&binding, &binding.spec.graceful_eviction_tasks[0], &about);
    assert_eq!(record.cause.policies, ["ours", "stock-s"]);
    assert_eq!(
        serde_json::to_value(&record.cause.conditions).unwrap(),
        json!([
            {"type": "Network", "status": "Unknown", "reason": "Because"},
            {"type": "Ready", "status": "False", "reason": "Because"},
        ])
    );
}
