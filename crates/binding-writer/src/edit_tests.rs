use super::*;
use rstest::rstest;

/// A binding with fields that this version does not know, in the object and in items of lists.
fn stored() -> Value {
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "b", "namespace": "n", "uid": "u", "resourceVersion": "7"},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "b", "newer": 1},
            "newer": {"kept": true},
            "clusters": [{"name": "m1", "replicas": 2, "newer": 1}, {"name": "m2", "replicas": 3, "newer": 2}],
            "gracefulEvictionTasks": [
                {"fromCluster": "m3", "reason": "TaintUntolerated", "producer": "x", "replicas": 4, "newer": 3},
                {"fromCluster": "m4", "reason": "TaintUntolerated", "producer": "x", "newer": 4},
            ],
        },
    })
}

fn read(stored: &Value) -> Binding {
    serde_json::from_value(stored.clone()).unwrap()
}

fn written(stored: &Value, edit: &BindingEdit<'_>) -> Value {
    let patch: json_patch::Patch = serde_json::from_value(edit.patch().unwrap()).unwrap();
    let mut after = stored.clone();
    json_patch::patch(&mut after, &patch).unwrap();
    after
}

fn task(cluster: &str) -> GracefulEvictionTask {
    GracefulEvictionTask {
        from_cluster: cluster.to_owned(),
        reason: "TaintUntolerated".to_owned(),
        producer: "TaintManager".to_owned(),
        ..GracefulEvictionTask::default()
    }
}

#[test]
fn an_eviction_moves_one_cluster_and_keeps_unknown_fields() {
    let stored = stored();
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.evict(&task("m1")));
    let after = written(&stored, &edit);
    assert_eq!(
        after["spec"]["clusters"],
        json!([{"name": "m2", "replicas": 3, "newer": 2}])
    );
    let tasks = after["spec"]["gracefulEvictionTasks"].as_array().unwrap();
    assert_eq!(
        tasks[..2],
        stored["spec"]["gracefulEvictionTasks"].as_array().unwrap()[..]
    );
    assert_eq!(tasks[2]["fromCluster"], "m1");
    assert_eq!(after["spec"]["newer"], json!({"kept": true}));
}

#[test]
fn the_failure_of_an_application_is_remembered_with_the_task() {
    let stored = stored();
    let binding = read(&stored);
    let at: Time = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    let failed = GracefulEvictionTask {
        reason: "ApplicationFailure".to_owned(),
        creation_timestamp: Some(at),
        ..task("m1")
    };
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.evict(&failed) && edit.annotate("failover.karmada.io/health-clock", Some("{}")));
    let after = written(&stored, &edit);
    assert_eq!(
        after["spec"]["activeEvictionHistory"],
        json!([{"clusterName": "m1", "creationTimestamp": "2026-01-01T00:00:00Z"}])
    );
    let tasks = after["spec"]["gracefulEvictionTasks"].as_array().unwrap();
    assert_eq!((tasks.len(), &tasks[2]["blockInHistory"]), (3, &json!(true)));
    let annotations = &after["metadata"]["annotations"];
    assert_eq!(*annotations, json!({"failover.karmada.io/health-clock": "{}"}));
    let mut of_a_taint = BindingEdit::of(&binding);
    assert!(of_a_taint.evict(&task("m1")));
    assert_eq!(written(&stored, &of_a_taint)["spec"].get("activeEvictionHistory"), None);
}

#[test]
fn an_eviction_is_not_needed_twice_or_where_the_cluster_is_not() {
    let stored = stored();
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(!edit.evict(&task("m3")), "has a task");
    assert!(!edit.evict(&task("m9")), "is not there");
    assert!(edit.is_empty() && edit.patch().is_none());
    assert!(edit.evict(&task("m1")));
    assert!(!edit.evict(&task("m1")), "steps of one edit see each other");
}

#[test]
fn a_mirror_is_written_once_and_then_made_younger() {
    let mut stored = stored();
    let at = |time: &str| Some(Time(time.parse().unwrap()));
    let mirror = |cluster: &str, time: &str| GracefulEvictionTask {
        producer: "DependencyMirror".to_owned(),
        creation_timestamp: at(time),
        ..task(cluster)
    };
    let first = mirror("m9", "2026-01-01T00:00:00Z");
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(
        !edit.mirror(&mirror("m1", "2026-01-01T00:00:00Z")),
        "it stays there by itself"
    );
    assert!(
        !edit.mirror(&mirror("m3", "2026-01-01T00:00:00Z")),
        "somebody else's task"
    );
    assert!(edit.mirror(&first) && !edit.mirror(&first));
    stored = written(&stored, &edit);
    stored["spec"]["gracefulEvictionTasks"][2]["newer"] = json!(5);
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.mirror(&mirror("m9", "2026-01-01T00:01:00Z")));
    let tasks = written(&stored, &edit)["spec"]["gracefulEvictionTasks"].clone();
    assert_eq!(tasks.as_array().unwrap().len(), 3);
    assert_eq!(tasks[2]["creationTimestamp"], "2026-01-01T00:01:00Z");
    assert_eq!(tasks[2]["newer"], 5, "fields that are not known stay");
}

#[test]
fn lists_that_are_absent_are_made() {
    let mut stored = stored();
    stored["spec"].as_object_mut().unwrap().remove("gracefulEvictionTasks");
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.evict(&task("m2")));
    assert!(edit.remember(&"m2".into(), "2026-01-01T00:00:00Z".parse().unwrap()));
    let after = written(&stored, &edit);
    assert_eq!(after["spec"]["gracefulEvictionTasks"][0]["fromCluster"], "m2");
    assert_eq!(
        after["spec"]["activeEvictionHistory"],
        json!([{"clusterName": "m2", "creationTimestamp": "2026-01-01T00:00:00Z"}])
    );
}

#[test]
fn removing_tasks_leaves_the_others_as_they_are() {
    let stored = stored();
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.remove_tasks(&[ClusterName::from("m3"), "m9".into()]));
    let after = written(&stored, &edit);
    assert_eq!(
        after["spec"]["gracefulEvictionTasks"],
        json!([stored["spec"]["gracefulEvictionTasks"][1]])
    );
    assert!(edit.remove_tasks(&["m4".into()]));
    assert_eq!(
        written(&stored, &edit)["spec"].get("gracefulEvictionTasks"),
        None,
        "no empty list stays behind"
    );
}

#[test]
fn of_two_tasks_for_one_cluster_the_very_one_goes() {
    let mut stored = stored();
    let second = json!({"fromCluster": "m3", "reason": "ApplicationFailure", "producer": "y", "newer": 5});
    stored["spec"]["gracefulEvictionTasks"][1] = second;
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.remove_exactly(&binding.spec.graceful_eviction_tasks[1]));
    assert!(!edit.remove_exactly(&binding.spec.graceful_eviction_tasks[1]));
    assert!(!edit.remove_exactly(&task("m3")), "no task like this is there");
    let after = written(&stored, &edit);
    assert_eq!(
        after["spec"]["gracefulEvictionTasks"],
        json!([stored["spec"]["gracefulEvictionTasks"][0]])
    );
}

#[test]
fn the_purge_mode_alone_changes() {
    let stored = stored();
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.set_purge_mode(&"m4".into(), &PurgeMode::Gracefully));
    assert!(!edit.set_purge_mode(&"m4".into(), &PurgeMode::Gracefully));
    assert!(
        !edit.set_purge_mode(&"m1".into(), &PurgeMode::Gracefully),
        "there is no task"
    );
    let mut expected = stored["spec"]["gracefulEvictionTasks"].clone();
    expected[1]["purgeMode"] = json!("Gracefully");
    assert_eq!(written(&stored, &edit)["spec"]["gracefulEvictionTasks"], expected);
}

#[test]
fn after_the_last_task_went_another_begins_a_new_list() {
    let stored = stored();
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.restore(&"m3".into()) && edit.restore(&"m4".into()));
    assert!(edit.evict(&task("m1")));
    let after = written(&stored, &edit);
    let tasks = after["spec"]["gracefulEvictionTasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0]["fromCluster"], "m1");
}

/// A task that somebody wrote by hand says no replicas: the copy that runs is not scaled to nothing.
#[rstest]
#[case::a_workload(json!({"replicas": 9}), 9)]
#[case::divided(json!({"replicas": 9, "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}}}), 4)]
#[case::what_has_no_replicas(json!({}), 0)]
fn a_task_that_is_silent_gives_back_what_is_missing(#[case] spec: Value, #[case] expected: i64) {
    let mut stored = stored();
    for (field, value) in spec.as_object().unwrap() {
        stored["spec"][field] = value.clone();
    }
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.restore(&"m4".into()));
    let target = written(&stored, &edit)["spec"]["clusters"][2].clone();
    assert_eq!(target["replicas"].as_i64().unwrap_or(0), expected, "{target}");
}

#[test]
fn restoring_gives_back_replicas_and_forgets_the_history() {
    let mut stored = stored();
    stored["spec"]["activeEvictionHistory"] = json!([
        {"clusterName": "m3", "creationTimestamp": "2026-01-01T00:00:00Z"},
        {"clusterName": "m4", "creationTimestamp": "2026-01-01T00:00:00Z"},
    ]);
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.restore(&"m3".into()));
    assert!(!edit.restore(&"m1".into()), "there is no task");
    let after = written(&stored, &edit);
    assert_eq!(after["spec"]["clusters"][2], json!({"name": "m3", "replicas": 4}));
    assert_eq!(after["spec"]["gracefulEvictionTasks"].as_array().unwrap().len(), 1);
    assert_eq!(after["spec"]["activeEvictionHistory"].as_array().unwrap().len(), 1);
}

#[test]
fn a_cluster_in_both_lists_is_not_listed_twice_by_a_restore() {
    let mut stored = stored();
    stored["spec"]["clusters"][0]["name"] = json!("m3");
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.restore(&"m3".into()));
    assert_eq!(written(&stored, &edit)["spec"]["clusters"], stored["spec"]["clusters"]);

    let mut edit = BindingEdit::of(&binding);
    assert!(edit.remove_target(&"m3".into()));
    let after = written(&stored, &edit);
    assert_eq!(after["spec"]["clusters"], json!([stored["spec"]["clusters"][1]]));
    assert_eq!(
        after["spec"]["gracefulEvictionTasks"],
        stored["spec"]["gracefulEvictionTasks"]
    );
}

#[test]
fn tasks_without_a_time_get_one() {
    let mut stored = stored();
    stored["spec"]["gracefulEvictionTasks"][0]["creationTimestamp"] = json!("2025-01-01T00:00:00Z");
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    assert!(edit.stamp_tasks("2026-01-01T00:00:00Z".parse().unwrap()));
    assert!(!edit.stamp_tasks("2026-01-02T00:00:00Z".parse().unwrap()));
    let tasks = written(&stored, &edit)["spec"]["gracefulEvictionTasks"].clone();
    assert_eq!(tasks[0]["creationTimestamp"], "2025-01-01T00:00:00Z");
    assert_eq!(tasks[1]["creationTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(tasks[1]["newer"], 4);
}

#[test]
fn the_history_keeps_the_newest_32() {
    let mut stored = stored();
    stored["spec"]["activeEvictionHistory"] = (0..32)
        .map(|n| json!({"clusterName": format!("c{n}"), "creationTimestamp": "2026-01-01T00:00:00Z"}))
        .collect();
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    edit.remember(&"c5".into(), "2026-01-02T00:00:00Z".parse().unwrap());
    edit.remember(&"new".into(), "2026-01-02T00:00:00Z".parse().unwrap());
    let after = written(&stored, &edit);
    let names: Vec<_> = after["spec"]["activeEvictionHistory"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["clusterName"].clone())
        .collect();
    assert_eq!(
        (names.len(), names.first(), names.last()),
        (32, Some(&json!("c1")), Some(&json!("new")))
    );
}

// Removed, it would be a block that a person lifted.
#[test]
fn a_full_history_keeps_the_item_of_an_open_task() {
    let mut stored = stored();
    let names = std::iter::once("m3".to_owned()).chain((1..32).map(|n| format!("c{n}")));
    stored["spec"]["activeEvictionHistory"] = names
        .map(|name| json!({"clusterName": name, "creationTimestamp": "2026-01-01T00:00:00Z"}))
        .collect();
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    edit.remember(&"new".into(), "2026-01-02T00:00:00Z".parse().unwrap());
    let after = written(&stored, &edit);
    let history = after["spec"]["activeEvictionHistory"].as_array().unwrap();
    let first_two = (&history[0]["clusterName"], &history[1]["clusterName"]);
    assert_eq!((history.len(), first_two), (32, (&json!("m3"), &json!("c2"))));
}

#[test]
fn a_patch_lands_only_on_what_was_read() {
    let stored = stored();
    let binding = read(&stored);
    let mut edit = BindingEdit::of(&binding);
    edit.evict(&task("m1"));
    let patch: json_patch::Patch = serde_json::from_value(edit.patch().unwrap()).unwrap();
    for (field, value) in [("resourceVersion", "8"), ("uid", "other")] {
        let mut changed = stored.clone();
        changed["metadata"][field] = json!(value);
        assert!(json_patch::patch(&mut changed, &patch).is_err());
    }
}
