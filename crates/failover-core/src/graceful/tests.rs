#![expect(clippy::needless_pass_by_value, reason = "JSON literals read best as they are")]

mod attached;
mod bad_input;
mod beside_stock;
mod freshness;
mod plugins;
mod properties;
mod recovery;

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::work::Binding;
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use super::assess::{Assessed, LastCopy, Settings, View, assess};
use super::fate::{End, Fate};
use super::freshness::Baseline;
use super::plugins::RESOURCE_HEALTH;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn noon() -> Timestamp {
    at("2026-01-01T12:00:00Z")
}

fn cluster(name: &str, ready: &str, taints: &Value) -> Arc<Cluster> {
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"syncMode": "Push", "taints": taints},
            "status": {"conditions": [{
                "type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        }))
        .unwrap(),
    )
}

fn no_execute() -> Value {
    json!([{"key": "down", "effect": "NoExecute", "timeAdded": "2026-01-01T11:59:00Z"}])
}

/// m1 is down and tainted; m2 and m3 are up.
fn m1_down() -> Vec<Arc<Cluster>> {
    vec![
        cluster("m1", "False", &no_execute()),
        cluster("m2", "True", &json!([])),
        cluster("m3", "True", &json!([])),
    ]
}

/// All are up.
fn all_up() -> Vec<Arc<Cluster>> {
    ["m1", "m2", "m3"]
        .map(|name| cluster(name, "True", &json!([])))
        .to_vec()
}

/// The copy on one cluster, with so many replicas available.
fn copy(cluster: &str, health: &str, available: i64) -> Value {
    json!({"clusterName": cluster, "applied": true, "health": health, "status": {"availableReplicas": available, "replicas": 3}})
}

/// A task of noon, when m1 and m2 held the workload.
fn task(from: &str, more: Value) -> Value {
    let mut task = json!({
        "fromCluster": from, "reason": "TaintUntolerated", "producer": "TaintManager", "purgeMode": "Gracefully",
        "replicas": 1, "creationTimestamp": "2026-01-01T12:00:00Z", "clustersBeforeFailover": ["m1", "m2"],
    });
    for (key, value) in more.as_object().unwrap() {
        task[key] = value.clone();
    }
    task
}

/// The worked example after the eviction: 3 replicas by weights 1:2, m1 left, placed as `clusters`.
fn binding(clusters: Value, tasks: Value, items: Value) -> Binding {
    let binding = json!({
        "metadata": {"namespace": "default", "name": "nginx-deployment", "uid": "u", "generation": 4},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx"},
            "replicas": 3, "replicaRequirements": {},
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
            "clusters": clusters, "gracefulEvictionTasks": tasks,
        },
        "status": {
            "schedulerObservedGeneration": 4,
            "conditions": [{
                "type": "Scheduled", "status": "True", "reason": "Success", "message": "", "lastTransitionTime": "2026-01-01T12:00:01Z",
            }],
            "aggregatedStatus": items,
        },
    });
    serde_json::from_value(binding).unwrap()
}

/// The binding just before the eviction.
fn before() -> Binding {
    binding(
        json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]),
        json!([]),
        json!([copy("m1", "Healthy", 1), copy("m2", "Healthy", 2)]),
    )
}

fn judged_with(
    binding: &Binding,
    before: Option<&Binding>,
    clusters: &[Arc<Cluster>],
    now: Timestamp,
    settings: &Settings,
) -> Vec<Assessed> {
    let known = |name: &str| {
        clusters
            .iter()
            .find(|c| c.metadata.name.as_deref() == Some(name))
            .cloned()
    };
    let seen = |name: &str| {
        let task = binding.spec.task(&name.into())?;
        Some((Arc::new(Baseline::take(before, binding, task)), Duration::ZERO))
    };
    assess(
        &View {
            binding,
            cluster: &known,
            seen: &seen,
            owners: None,
            keeps: None,
            now,
        },
        settings,
    )
}

fn judged(binding: &Binding, clusters: &[Arc<Cluster>], now: Timestamp) -> Fate {
    judged_with(binding, Some(&before()), clusters, now, &Settings::default())
        .remove(0)
        .fate
}

fn ends_by(fate: &Fate, plugin: &str) -> bool {
    matches!(fate, Fate::Ends(End::Replaced { plugin: by, .. }) if *by == plugin)
}

fn stays_saying(fate: &Fate, words: &str) {
    assert!(matches!(fate, Fate::Stays { .. }), "{fate:?}");
    assert!(fate.in_words().contains(words), "{}", fate.in_words());
}

// The worked example (karmada#3735, stock trace 3.2): m2 was healthy with 2 before; the task goes only when it shows 3.
#[rstest]
#[case::old_health(copy("m2", "Healthy", 2), None)]
#[case::scaling(copy("m2", "Unhealthy", 2), None)]
#[case::done(copy("m2", "Healthy", 3), Some(RESOURCE_HEALTH))]
#[case::counts_of_zero_are_left_out(json!({"clusterName": "m2", "applied": true, "health": "Healthy", "status": {}}), None)]
fn the_old_copy_waits_until_the_new_one_shows_its_replicas(#[case] m2: Value, #[case] ends: Option<&str>) {
    let after = binding(
        json!([{"name": "m2", "replicas": 3}]),
        json!([task("m1", json!({}))]),
        json!([copy("m1", "Healthy", 1), m2]),
    );
    let fate = judged(&after, &m1_down(), noon());
    match ends {
        Some(plugin) => assert!(ends_by(&fate, plugin), "{fate:?}"),
        None => assert!(matches!(fate, Fate::Stays { .. }), "{fate:?}"),
    }
}

// C12, karmada#3736: kept without a status and while it is unhealthy, gone when it is healthy.
#[test]
fn c12_a_new_target_must_report_first() {
    let with = |items: Value| {
        binding(
            json!([{"name": "m3", "replicas": 3}]),
            json!([task("m1", json!({"gracePeriodSeconds": 600}))]),
            items,
        )
    };
    stays_saying(
        &judged(&with(json!([copy("m1", "Healthy", 1)])), &m1_down(), noon()),
        "m3 has not reported the copy yet",
    );
    stays_saying(
        &judged(&with(json!([copy("m3", "Unhealthy", 0)])), &m1_down(), noon()),
        "reports the copy as Unhealthy",
    );
    assert!(ends_by(
        &judged(&with(json!([copy("m3", "Healthy", 3)])), &m1_down(), noon()),
        RESOURCE_HEALTH
    ));
}

// The status of a dead target proves nothing (stock: G22).
#[test]
fn a_target_that_is_not_ready_is_not_healthy() {
    let clusters = [
        cluster("m1", "False", &no_execute()),
        cluster("m2", "Unknown", &json!([])),
    ];
    let after = binding(
        json!([{"name": "m2", "replicas": 3}]),
        json!([task("m1", json!({}))]),
        json!([copy("m2", "Healthy", 3)]),
    );
    stays_saying(&judged(&after, &clusters, noon()), "m2 is not Ready");
}

#[test]
fn not_all_replicas_placed_is_not_placed() {
    let after = binding(
        json!([{"name": "m2", "replicas": 2}]),
        json!([task("m1", json!({}))]),
        json!([copy("m2", "Healthy", 3)]),
    );
    stays_saying(&judged(&after, &m1_down(), noon()), "2 of 3 replicas are placed");
}

/// A copy that the scheduler keeps until the new one works is one more that must be healthy.
#[test]
fn more_replicas_than_are_wanted_are_placed() {
    let with = |health: &str| {
        let after = binding(
            json!([{"name": "m2", "replicas": 3}, {"name": "m3", "replicas": 1}]),
            json!([task("m1", json!({"clustersBeforeFailover": ["m1", "m2", "m3"]}))]),
            json!([copy("m2", health, 3), copy("m3", "Healthy", 1)]),
        );
        judged(&after, &m1_down(), noon())
    };
    stays_saying(&with("Unhealthy"), "m2 reports the copy as Unhealthy");
    assert!(ends_by(&with("Healthy"), "ResourceHealth"));
}

// C05, karmada#4951: what reports no status and has no health rule is healthy when applied.
#[test]
fn c05_kinds_without_status_are_healthy_when_applied() {
    let mut after = binding(
        json!([{"name": "m2"}]),
        json!([task("m1", json!({}))]),
        json!([{"clusterName": "m2"}]),
    );
    after.spec.resource.kind = "ClusterRole".to_owned();
    after.spec.resource.api_version = "rbac.authorization.k8s.io/v1".to_owned();
    (after.spec.replicas, after.spec.replica_requirements) = (None, None);
    stays_saying(&judged(&after, &m1_down(), noon()), "has not applied the copy yet");
    after.status.as_mut().unwrap().aggregated_status[0].applied = true;
    assert!(ends_by(&judged(&after, &m1_down(), noon()), RESOURCE_HEALTH));

    // A kind that has a rule, and one of another group, which may have one: both are waited for.
    after.spec.resource.kind = "Service".to_owned();
    for api_version in ["v1", "serving.example.io/v1"] {
        after.spec.resource.api_version = api_version.to_owned();
        stays_saying(&judged(&after, &m1_down(), noon()), "reports the copy as Unknown");
    }
    after.status.as_mut().unwrap().aggregated_status[0].health = Some(api_types::work::ResourceHealth::Healthy);
    assert!(
        ends_by(&judged(&after, &m1_down(), noon()), RESOURCE_HEALTH),
        "reported without a status"
    );
}

// C01, karmada#3747. Upstream clears the task at its time-out and loses the last copy; here the spec decides: without a
// result the copy stays, whatever the grace period says, and the administrator can lift that.
#[test]
fn c01_without_a_result_the_last_copy_stays() {
    let mut after = binding(
        json!([]),
        json!([task("m1", json!({"gracePeriodSeconds": 600}))]),
        json!([copy("m1", "Healthy", 1)]),
    );
    after.status.as_mut().unwrap().conditions[0].status = "False".to_owned();
    let later = at("2026-01-01T12:10:01Z");
    stays_saying(
        &judged(&after, &m1_down(), later),
        "kept because nothing replaces this copy",
    );
    let settings = Settings {
        last_copy: LastCopy::MayGo,
        ..Settings::default()
    };
    let fate = judged_with(&after, None, &m1_down(), later, &settings).remove(0).fate;
    assert_eq!(fate, Fate::Ends(End::GraceOver { seconds: 600 }));
}

// C07, karmada#7186: the grace period of one task says nothing about another, whatever the order. The case expects the
// global time-out of 600 s to end the task without a grace period; here that needs a copy that runs elsewhere.
#[rstest]
#[case::in_order(["m1", "m2"])]
#[case::swapped(["m2", "m1"])]
fn c07_grace_periods_do_not_mix(#[case] order: [&str; 2]) {
    let own = |name: &str| {
        if name == "m1" {
            task("m1", json!({"gracePeriodSeconds": 5}))
        } else {
            task("m2", json!({}))
        }
    };
    let unhealthy = binding(
        json!([{"name": "m3", "replicas": 3}]),
        json!(order.map(own)),
        json!([copy("m3", "Unhealthy", 0)]),
    );
    let settings = Settings {
        default_timeout: Some(Duration::from_secs(600)),
        ..Settings::default()
    };
    let clusters = [
        cluster("m1", "False", &no_execute()),
        cluster("m2", "False", &no_execute()),
        cluster("m3", "True", &json!([])),
    ];
    let ended = |now: &str| {
        judged_with(&unhealthy, Some(&before()), &clusters, at(now), &settings)
            .into_iter()
            .filter(|a| matches!(a.fate, Fate::Ends(_)))
            .map(|a| a.cluster)
            .collect::<Vec<_>>()
    };
    assert_eq!(ended("2026-01-01T12:00:04Z"), Vec::<String>::new());
    assert_eq!(ended("2026-01-01T12:00:06Z"), ["m1"]);
    assert_eq!(ended("2026-01-01T12:10:01Z"), ["m1"], "nothing runs elsewhere yet");
}

#[test]
fn the_next_look_is_at_the_end_of_the_grace_period() {
    let after = binding(
        json!([{"name": "m3", "replicas": 3}]),
        json!([task("m1", json!({"gracePeriodSeconds": 30}))]),
        json!([]),
    );
    let Fate::Stays { look_again_at, .. } = judged(&after, &m1_down(), noon()) else {
        panic!()
    };
    assert_eq!(look_again_at, Some(at("2026-01-01T12:00:30Z")));
}

// C17, karmada PR#3437.
#[test]
fn c17_suppress_deletion_keeps_until_it_is_false() {
    let with = |suppress: bool| {
        binding(
            json!([{"name": "m2", "replicas": 3}]),
            json!([task("m1", json!({"suppressDeletion": suppress}))]),
            json!([copy("m2", "Healthy", 3)]),
        )
    };
    stays_saying(
        &judged(&with(true), &m1_down(), at("2036-01-01T00:00:00Z")),
        "suppressDeletion",
    );
    assert_eq!(judged(&with(false), &m1_down(), noon()), Fate::Ends(End::AskedFor));
}

// C20, karmada PR#6387: old spellings are read as the new ones; an unknown one deletes least.
#[rstest]
#[case::graciously("Graciously", true)]
#[case::immediately("Immediately", true)]
#[case::directly("Directly", true)]
#[case::unknown("Later", true)]
#[case::never("Never", false)]
fn c20_purge_modes(#[case] mode: &str, #[case] ends: bool) {
    let after = binding(
        json!([{"name": "m2", "replicas": 3}]),
        json!([task("m1", json!({"purgeMode": mode}))]),
        json!([copy("m2", "Healthy", 3)]),
    );
    assert_eq!(matches!(judged(&after, &m1_down(), noon()), Fate::Ends(_)), ends);
}

// karmada#5782: m1 recovered and was chosen again.
#[test]
fn a_cluster_that_is_chosen_again_keeps_its_copy_whatever_the_purge_mode() {
    for more in [
        json!({}),
        json!({"purgeMode": "Never"}),
        json!({"suppressDeletion": true}),
    ] {
        let after = binding(
            json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]),
            json!([task("m1", more)]),
            json!([]),
        );
        assert!(matches!(
            judged(&after, &all_up(), noon()),
            Fate::Ends(End::StaysThere { .. })
        ));
    }
}

#[test]
fn a_cluster_put_back_while_the_cause_stands_leaves_the_result_again() {
    let mut after = binding(
        json!([{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]),
        json!([task("m1", json!({}))]),
        json!([copy("m1", "Healthy", 1), copy("m2", "Healthy", 2)]),
    );
    assert!(matches!(judged(&after, &m1_down(), noon()), Fate::LeavesResult { .. }));
    // Its own health ends no task while the cause stands.
    let ready_but_tainted = [cluster("m1", "True", &no_execute()), cluster("m2", "True", &json!([]))];
    assert!(matches!(
        judged(&after, &ready_but_tainted, noon()),
        Fate::LeavesResult { .. }
    ));
    // A person wants it there.
    after.metadata.annotations = Some(
        [(
            "failover.karmada.io/stay".to_owned(),
            r#"[{"cluster":"m1"}]"#.to_owned(),
        )]
        .into(),
    );
    assert!(matches!(
        judged(&after, &m1_down(), noon()),
        Fate::Ends(End::StaysThere { .. })
    ));
}

#[test]
fn an_application_may_come_back_when_it_is_healthy_or_its_block_is_over() {
    let mut after = binding(
        json!([]),
        json!([task("m1", json!({"reason": "ApplicationFailure"}))]),
        json!([copy("m1", "Unhealthy", 0)]),
    );
    after.spec.active_eviction_history =
        serde_json::from_value(json!([{"clusterName": "m1", "creationTimestamp": "2026-01-01T12:00:00Z"}])).unwrap();
    let Fate::Stays { look_again_at, .. } = judged(&after, &all_up(), noon()) else {
        panic!()
    };
    assert_eq!(
        look_again_at,
        Some(at("2026-01-01T12:10:00Z")),
        "the default block is 600 s"
    );
    assert!(matches!(
        judged(&after, &all_up(), at("2026-01-01T12:10:00Z")),
        Fate::Restored { .. }
    ));
    after.status.as_mut().unwrap().aggregated_status =
        serde_json::from_value(json!([copy("m1", "Healthy", 1)])).unwrap();
    assert!(matches!(judged(&after, &all_up(), noon()), Fate::Restored { .. }));
}

#[test]
fn tasks_of_a_cluster_that_does_not_exist_go() {
    let after = binding(json!([]), json!([task("m9", json!({"purgeMode": "Never"}))]), json!([]));
    assert_eq!(judged(&after, &all_up(), noon()), Fate::Ends(End::NoCluster));
}
