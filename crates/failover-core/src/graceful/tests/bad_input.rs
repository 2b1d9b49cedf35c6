//! Tasks as others write them: they are judged, the copy is kept by the safest reading, and what is odd is told.

use super::*;

#[rstest]
#[case::reason(json!({"reason": "Boredom"}), "reason: Boredom is not known; it is judged as TaintUntolerated")]
#[case::purge_mode(json!({"purgeMode": "Later"}), "purgeMode: Later is not known; it is read as Gracefully")]
#[case::grace(json!({"gracePeriodSeconds": -1}), "gracePeriodSeconds: -1 is read as none")]
fn what_is_odd_is_told_while_the_task_waits_and_keeps_nothing_from_ending(#[case] more: Value, #[case] told: &str) {
    let with = |m2: Value| {
        binding(
            json!([{"name": "m2", "replicas": 3}]),
            json!([task("m1", more.clone())]),
            json!([m2]),
        )
    };
    let late = at("2026-01-02T00:00:00Z");
    stays_saying(&judged(&with(copy("m2", "Unhealthy", 0)), &m1_down(), late), told);
    assert!(ends_by(
        &judged(&with(copy("m2", "Healthy", 3)), &m1_down(), late),
        RESOURCE_HEALTH
    ));
}

// Stock's helper does not look into the list before it appends; two tasks for one cluster are one eviction.
#[test]
fn of_two_tasks_for_one_cluster_the_one_that_keeps_for_longer_stays() {
    let short = json!({"gracePeriodSeconds": 5, "producer": "other"});
    let after = binding(
        json!([{"name": "m3", "replicas": 3}]),
        json!([task("m1", short), task("m1", json!({})), task("m2", json!({}))]),
        json!([copy("m3", "Unhealthy", 0)]),
    );
    let clusters = m1_down();
    let late = at("2026-01-02T00:00:00Z");
    let fates = judged_with(&after, Some(&before()), &clusters, late, &Settings::default());
    assert_eq!(fates[0].fate, Fate::Ends(End::Surplus));
    assert!(matches!(fates[1].fate, Fate::Stays { .. }) && matches!(fates[2].fate, Fate::Stays { .. }));
}

// Nobody knows when it was written: its grace period begins when it is stamped.
#[test]
fn without_a_time_no_grace_period_is_over() {
    let mut after = binding(
        json!([{"name": "m2", "replicas": 3}]),
        json!([task("m1", json!({"gracePeriodSeconds": 1}))]),
        json!([copy("m2", "Unhealthy", 0)]),
    );
    after.spec.graceful_eviction_tasks[0].creation_timestamp = None;
    let fate = judged(&after, &m1_down(), at("2036-01-01T00:00:00Z"));
    assert!(matches!(fate, Fate::Stays { .. }), "{fate:?}");
}

// The words of thousands of tasks fit into one condition.
#[test]
fn the_condition_of_many_tasks_is_cut_at_what_the_api_accepts() {
    let tasks: Vec<Value> = (0..1_000)
        .map(|n| task(&format!("cluster-with-a-long-name-{n}"), json!({"purgeMode": "Never"})))
        .collect();
    let after = binding(json!([{"name": "m3", "replicas": 3}]), json!(tasks), json!([]));
    let clusters: Vec<_> = (0..1_000)
        .map(|n| cluster(&format!("cluster-with-a-long-name-{n}"), "False", &no_execute()))
        .collect();
    let fates = judged_with(&after, None, &clusters, noon(), &Settings::default());
    let told = super::super::report::waiting(&fates).unwrap();
    assert!(told.len() > 30_000 && told.len() <= 32_768, "{}", told.len());
    assert!(told.ends_with(" more tasks wait"), "{}", &told[told.len() - 60..]);
}
