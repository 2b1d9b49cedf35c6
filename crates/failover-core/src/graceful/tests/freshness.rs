//! Which statuses are of after the eviction.

use super::*;

// C13, karmada PR#7129: neither an unobserved generation nor a status from before the eviction counts.
#[test]
fn c13_what_is_left_over_from_an_earlier_stay_proves_nothing() {
    let mut after = binding(
        json!([{"name": "m3", "replicas": 3}]),
        json!([task("m1", json!({}))]),
        json!([copy("m3", "Healthy", 3)]),
    );
    let mut stale = before();
    stale
        .status
        .as_mut()
        .unwrap()
        .aggregated_status
        .push(serde_json::from_value(copy("m3", "Healthy", 3)).unwrap());
    let judge = |binding: &Binding| {
        judged_with(binding, Some(&stale), &m1_down(), noon(), &Settings::default())
            .remove(0)
            .fate
    };
    stays_saying(&judge(&after), "the status of m3 is from before the eviction");

    after.status.as_mut().unwrap().aggregated_status[0].status =
        Some(json!({"availableReplicas": 3, "replicas": 3, "generation": 7}));
    assert!(ends_by(&judge(&after), RESOURCE_HEALTH), "it changed since");

    after.status.as_mut().unwrap().scheduler_observed_generation = Some(3);
    stays_saying(&judge(&after), "has not looked at the present state");
}

// A restart must neither forget that a task waits nor wait for ever for a change that happened before it.
#[test]
fn a_status_found_at_the_start_becomes_fresh_when_it_settles() {
    let after = binding(
        json!([{"name": "m3", "replicas": 3}]),
        json!([task("m1", json!({}))]),
        json!([copy("m3", "Healthy", 3)]),
    );
    let baseline = Arc::new(Baseline::take(None, &after, &after.spec.graceful_eviction_tasks[0]));
    let clusters = m1_down();
    let known = |name: &str| {
        clusters
            .iter()
            .find(|c| c.metadata.name.as_deref() == Some(name))
            .cloned()
    };
    let after_seconds = |seconds: u64| {
        let seen = |_: &str| Some((Arc::clone(&baseline), Duration::from_secs(seconds)));
        assess(
            &View {
                binding: &after,
                cluster: &known,
                seen: &seen,
                owners: None,
                keeps: None,
                now: noon(),
            },
            &Settings::default(),
        )
        .remove(0)
        .fate
    };
    let Fate::Stays { look_again_at, .. } = after_seconds(0) else {
        panic!()
    };
    assert_eq!(look_again_at, Some(at("2026-01-01T12:01:00Z")));
    assert!(ends_by(&after_seconds(60), RESOURCE_HEALTH));
}

#[test]
fn a_status_first_collected_after_the_task_is_fresh_at_once() {
    let mut item = copy("m3", "Healthy", 3);
    item["creationTimestamp"] = json!("2026-01-01T12:00:05Z");
    let after = binding(
        json!([{"name": "m3", "replicas": 3}]),
        json!([task("m1", json!({}))]),
        json!([item]),
    );
    let fate = judged_with(
        &after,
        None,
        &m1_down(),
        at("2026-01-01T12:01:00Z"),
        &Settings::default(),
    )
    .remove(0)
    .fate;
    assert!(ends_by(&fate, RESOURCE_HEALTH), "{fate:?}");
}

/// The clusters, and m2 is Ready since then.
fn m2_ready_since(time: &str) -> Vec<Arc<Cluster>> {
    let mut clusters = m1_down();
    let m2 = Arc::make_mut(&mut clusters[1]);
    m2.status.as_mut().unwrap().conditions[0].last_transition_time.0 = at(time);
    clusters
}

// A member that comes back re-installed is Ready before anything was read there: what it ran before is not what it runs,
// and the copy on m1 may be the last.
#[test]
fn what_was_reported_before_a_cluster_was_away_replaces_nothing_until_it_is_reported_again() {
    let reported_at = |time: &str| {
        let mut item = copy("m2", "Healthy", 3);
        item["collectedAt"] = json!(time);
        binding(
            json!([{"name": "m2", "replicas": 3}]),
            json!([task("m1", json!({}))]),
            json!([copy("m1", "Healthy", 1), item]),
        )
    };
    let back = m2_ready_since("2026-01-01T12:05:00Z");
    let judge = |reported: &str, now: &str| judged(&reported_at(reported), &back, at(now));
    let fate = judge("2026-01-01T12:01:00Z", "2026-01-01T12:05:01Z");
    stays_saying(&fate, "m2 has not reported the copy since it is Ready again");
    let Fate::Stays { look_again_at, .. } = fate else {
        panic!("it stays")
    };
    assert_eq!(
        look_again_at,
        Some(at("2026-01-01T12:05:30Z")),
        "it is looked at again by then"
    );
    let fresh = judge("2026-01-01T12:05:02Z", "2026-01-01T12:05:03Z");
    assert!(ends_by(&fresh, RESOURCE_HEALTH), "it was reported since: {fresh:?}");
    let settled = judge("2026-01-01T12:01:00Z", "2026-01-01T12:05:30Z");
    assert!(
        ends_by(&settled, RESOURCE_HEALTH),
        "nothing else was reported for a while: {settled:?}"
    );
}
