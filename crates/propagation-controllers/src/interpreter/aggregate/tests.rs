#![allow(clippy::needless_pass_by_value, reason = "literals are given by value")]

use api_types::work::ResourceHealth;

use super::*;

fn item(cluster: &str, health: ResourceHealth, status: Value) -> AggregatedStatusItem {
    AggregatedStatusItem {
        cluster_name: cluster.into(),
        status: Some(status),
        applied: true,
        health: Some(health),
        ..AggregatedStatusItem::default()
    }
}

fn copy(replicas: i64, generation: i64) -> Value {
    json!({"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
        "generation": 1, "observedGeneration": 1, "resourceTemplateGeneration": generation})
}

fn deployment(status: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "generation": 2}, "status": status})
}

#[test]
fn counters_add_up_and_the_newest_generation_is_seen_when_all_have_it() {
    let items = [
        item("m1", ResourceHealth::Healthy, copy(1, 2)),
        item("m2", ResourceHealth::Healthy, copy(2, 2)),
    ];
    let status = aggregate(&deployment(json!({})), &items).unwrap().unwrap();
    let wanted = json!({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 2});
    assert_eq!(status, wanted);
    assert_eq!(
        aggregate(&deployment(wanted), &items).unwrap(),
        None,
        "the same again is nothing to write"
    );

    let items = [
        item("m1", ResourceHealth::Healthy, copy(1, 1)),
        item("m2", ResourceHealth::Healthy, copy(2, 2)),
    ];
    let status = aggregate(&deployment(json!({})), &items).unwrap().unwrap();
    assert_eq!(
        status.get("observedGeneration"),
        None,
        "m1 still runs the template before"
    );
}

#[test]
fn a_status_that_is_no_object_is_an_error_of_kinds_that_are_aggregated_alone() {
    let items = [item("m1", ResourceHealth::Healthy, json!(["Running"]))];
    let error = aggregate(&deployment(json!({})), &items).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot aggregate the status of Deployment a: the status of m1 is no object"
    );
    let widget = json!({"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"name": "a"}});
    assert_eq!(aggregate(&widget, &items).unwrap(), None);
}

#[test]
fn a_sum_is_no_larger_than_the_api_has_a_number_for() {
    let most = i64::from(i32::MAX);
    let reported = json!({"desiredReplicas": most, "currentReplicas": 1, "active": most});
    let items = ["m1", "m2"].map(|cluster| item(cluster, ResourceHealth::Healthy, reported.clone()));
    let of = |version: &str, kind: &str| {
        let template = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
        aggregate(&template, &items).unwrap().unwrap()
    };
    let scaler = of("autoscaling/v2", "HorizontalPodAutoscaler");
    assert_eq!(scaler, json!({"desiredReplicas": most, "currentReplicas": 2}));
    assert_eq!(of("batch/v1", "Job")["active"], most);

    let lost = json!({"replicas": most, "unavailableReplicas": most});
    let items = [ResourceHealth::Unknown, ResourceHealth::Healthy].map(|health| item("m1", health, lost.clone()));
    let status = aggregate(&deployment(json!({})), &items).unwrap().unwrap();
    assert_eq!(status["unavailableReplicas"], most);
}

#[test]
fn what_runs_on_a_silent_cluster_is_not_called_available() {
    let items = [
        item("m1", ResourceHealth::Unknown, copy(1, 2)),
        item("m2", ResourceHealth::Healthy, copy(2, 2)),
    ];
    let status = aggregate(&deployment(json!({"availableReplicas": 3})), &items)
        .unwrap()
        .unwrap();
    assert_eq!(
        (
            &status["replicas"],
            &status["availableReplicas"],
            &status["unavailableReplicas"]
        ),
        (&json!(3), &json!(2), &json!(1))
    );
}

#[test]
fn without_copies_all_counts_are_zero() {
    let status = aggregate(&deployment(json!({"replicas": 3, "readyReplicas": 3})), &[])
        .unwrap()
        .unwrap();
    assert_eq!(status, json!({"replicas": 0, "readyReplicas": 0}));
}

#[test]
fn stateful_sets_count_current_replicas() {
    let template = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a", "generation": 2}});
    let status = json!({"replicas": 1, "currentReplicas": 1, "generation": 1, "resourceTemplateGeneration": 2});
    let status = aggregate(&template, &[item("m1", ResourceHealth::Healthy, status)])
        .unwrap()
        .unwrap();
    assert_eq!(
        status,
        json!({"replicas": 1, "currentReplicas": 1, "observedGeneration": 2})
    );
}

#[test]
fn a_job_is_complete_when_all_copies_are_and_failed_when_one_is() {
    let template = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}});
    let done = |type_: &str| {
        json!({"succeeded": 1, "startTime": "2026-01-01T00:00:01Z", "completionTime": "2026-01-01T00:00:09Z",
        "conditions": [{"type": type_, "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"}]})
    };
    let running = json!({"active": 1, "startTime": "2026-01-01T00:00:00Z"});
    let types = |status: &Value| {
        list(status, "/conditions")
            .iter()
            .map(|c| text(c, "/type").to_owned())
            .collect::<Vec<_>>()
    };

    let status = aggregate(
        &template,
        &[
            item("m1", ResourceHealth::Healthy, done("Complete")),
            item("m2", ResourceHealth::Healthy, running),
        ],
    );
    let status = status.unwrap().unwrap();
    assert_eq!(
        status,
        json!({"active": 1, "succeeded": 1, "startTime": "2026-01-01T00:00:00Z"})
    );

    let all = [
        item("m1", ResourceHealth::Healthy, done("Complete")),
        item("m2", ResourceHealth::Healthy, done("Complete")),
    ];
    let status = aggregate(&template, &all).unwrap().unwrap();
    assert_eq!(types(&status), ["SuccessCriteriaMet", "Complete"]);
    assert_eq!(status["completionTime"], "2026-01-01T00:00:09Z");

    let one = [
        item("m1", ResourceHealth::Healthy, done("Complete")),
        item("m2", ResourceHealth::Unhealthy, done("Failed")),
    ];
    let status = aggregate(&template, &one).unwrap().unwrap();
    assert_eq!(types(&status), ["FailureTarget", "Failed"]);

    let mut finished = template.clone();
    finished["status"] = status;
    assert_eq!(
        aggregate(&finished, &all).unwrap(),
        None,
        "a finished Job stays finished"
    );
}

#[test]
fn a_balancer_has_the_addresses_of_all_members() {
    let template =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"type": "LoadBalancer"}});
    let at = |ip: &str| json!({"loadBalancer": {"ingress": [{"ip": ip}]}});
    let items = [
        item("m1", ResourceHealth::Healthy, at("1.1.1.1")),
        item("m2", ResourceHealth::Healthy, at("2.2.2.2")),
    ];
    let status = aggregate(&template, &items).unwrap().unwrap();
    assert_eq!(
        status,
        json!({"loadBalancer": {"ingress": [{"ip": "1.1.1.1", "hostname": "m1"}, {"ip": "2.2.2.2", "hostname": "m2"}]}})
    );
    assert_eq!(aggregate(&template, &[]).unwrap(), None);
}

#[test]
fn kinds_without_a_rule_and_broken_statuses_are_different_answers() {
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    assert_eq!(aggregate(&config, &[]).unwrap(), None);
    let error = aggregate(
        &deployment(json!({})),
        &[item("m1", ResourceHealth::Healthy, json!("broken"))],
    )
    .unwrap_err();
    assert!(error.to_string().contains("m1"), "{error}");
}

fn object(api_version: &str, kind: &str, status: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "generation": 2}, "status": status})
}

/// The status as it is after the patch, and that nothing is left to write then.
fn settled(template: &Value, items: &[AggregatedStatusItem]) -> Value {
    let mut after = template.clone();
    if let Some(patch) = aggregate(template, items).unwrap() {
        json_patch::merge(&mut after["status"], &patch);
    }
    assert_eq!(
        aggregate(&after, items).unwrap(),
        None,
        "the same again is nothing to write"
    );
    after["status"].clone()
}

#[test]
fn daemon_sets_and_replica_sets_add_up() {
    let copy = json!({"currentNumberScheduled": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2,
        "numberAvailable": 1, "numberUnavailable": 1, "observedGeneration": 1, "generation": 1, "resourceTemplateGeneration": 2});
    let items = [
        item("m1", ResourceHealth::Healthy, copy.clone()),
        item("m2", ResourceHealth::Unknown, copy),
    ];
    let status = settled(&object("apps/v1", "DaemonSet", json!({})), &items);
    assert_eq!(
        status,
        json!({"currentNumberScheduled": 4, "desiredNumberScheduled": 4, "updatedNumberScheduled": 4, "numberReady": 2,
            "numberAvailable": 1, "numberUnavailable": 3, "observedGeneration": 2}),
        "what is on a silent cluster is not called available"
    );
    let copy = json!({"replicas": 2, "readyReplicas": 1, "availableReplicas": 1});
    let items = [
        item("m1", ResourceHealth::Healthy, copy.clone()),
        item("m2", ResourceHealth::Healthy, copy),
    ];
    let status = settled(&object("apps/v1", "ReplicaSet", json!({})), &items);
    assert_eq!(
        status,
        json!({"replicas": 4, "readyReplicas": 2, "availableReplicas": 2})
    );
}

#[test]
fn autoscalers_and_budgets_add_up() {
    let items = [
        item(
            "m1",
            ResourceHealth::Healthy,
            json!({"currentReplicas": 2, "desiredReplicas": 3}),
        ),
        item(
            "m2",
            ResourceHealth::Healthy,
            json!({"currentReplicas": 1, "desiredReplicas": 1}),
        ),
    ];
    let status = settled(&object("autoscaling/v2", "HorizontalPodAutoscaler", json!({})), &items);
    assert_eq!(status, json!({"currentReplicas": 3, "desiredReplicas": 4}));

    let budget = |pods: Value| json!({"currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2, "disruptionsAllowed": 1, "disruptedPods": pods});
    let items = [
        item("m1", ResourceHealth::Healthy, budget(json!({"p": "t"}))),
        item("m2", ResourceHealth::Healthy, budget(json!({}))),
    ];
    let template = object(
        "policy/v1",
        "PodDisruptionBudget",
        json!({"disruptedPods": {"m2/old": "t"}}),
    );
    assert_eq!(
        settled(&template, &items),
        json!({"currentHealthy": 4, "desiredHealthy": 2, "expectedPods": 4, "disruptionsAllowed": 2, "disruptedPods": {"m1/p": "t"}})
    );
}

#[test]
fn addresses_that_are_gone_are_taken_away() {
    let mut template = object("networking.k8s.io/v1", "Ingress", json!({}));
    let items = [item(
        "m1",
        ResourceHealth::Healthy,
        json!({"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}),
    )];
    template["status"] = settled(&template, &items);
    assert_eq!(
        template["status"],
        json!({"loadBalancer": {"ingress": [{"ip": "1.1.1.1", "hostname": "m1"}]}})
    );
    assert_eq!(settled(&template, &[]), json!({"loadBalancer": {}}));
}

#[test]
fn schedules_of_all_members() {
    let items = [
        item(
            "m1",
            ResourceHealth::Healthy,
            json!({"active": [{"name": "a-1"}], "lastScheduleTime": "2026-01-01T10:00:00Z"}),
        ),
        item(
            "m2",
            ResourceHealth::Healthy,
            json!({"lastScheduleTime": "2026-01-01T11:00:00Z", "lastSuccessfulTime": "2026-01-01T11:01:00Z"}),
        ),
    ];
    let mut template = object("batch/v1", "CronJob", json!({}));
    template["status"] = settled(&template, &items);
    assert_eq!(
        template["status"],
        json!({"active": [{"name": "a-1"}], "lastScheduleTime": "2026-01-01T11:00:00Z", "lastSuccessfulTime": "2026-01-01T11:01:00Z"})
    );
    assert_eq!(settled(&template, &[]), json!({"active": []}));
}

#[rstest::rstest]
#[case::pods("Pod", &["Running", "Succeeded"], json!("Running"))]
#[case::one_pod_failed("Pod", &["Failed", "Pending"], json!("Failed"))]
#[case::pods_done("Pod", &["Succeeded"], json!("Succeeded"))]
#[case::one_is_silent("Pod", &["Running", ""], json!("Pending"))]
#[case::volumes("PersistentVolume", &["Bound", "Available"], json!("Available"))]
#[case::claims("PersistentVolumeClaim", &["Bound", "Bound"], json!("Bound"))]
#[case::one_claim_waits("PersistentVolumeClaim", &["Bound", "Pending"], json!("Pending"))]
#[case::one_claim_is_lost("PersistentVolumeClaim", &["Lost", "Pending"], json!("Lost"))]
#[case::no_copies("PersistentVolumeClaim", &[], json!(null))]
fn the_worst_phase_counts(#[case] kind: &str, #[case] phases: &[&str], #[case] wanted: Value) {
    let items: Vec<_> = phases
        .iter()
        .map(|phase| AggregatedStatusItem {
            status: (!phase.is_empty()).then(|| json!({"phase": phase})),
            ..item("m1", ResourceHealth::Healthy, json!({}))
        })
        .collect();
    assert_eq!(settled(&object("v1", kind, json!({})), &items)["phase"], wanted);
}

#[test]
fn states_of_all_containers() {
    let status = json!({"phase": "Running", "containerStatuses": [{"name": "c", "ready": true, "state": {"running": {"startedAt": "t"}}, "image": "i"}]});
    let items = [item("m1", ResourceHealth::Healthy, status)];
    let status = settled(&object("v1", "Pod", json!({})), &items);
    assert_eq!(status["containerStatuses"][0]["ready"], json!(true));
    assert_eq!(
        status["containerStatuses"][0]["state"],
        json!({"running": {"startedAt": "t"}})
    );
}
