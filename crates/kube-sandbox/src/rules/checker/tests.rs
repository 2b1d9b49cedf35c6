//! Each rule broken and kept.

use api_types::cluster::Cluster;
use api_types::names::annotation;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, ResourceHealth};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rstest::rstest;
use serde_json::{Value, json};

use super::Checker;
use crate::rules::follow::Seen;
use crate::rules::settings::Settings;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).unwrap()
}

/// `owned`: the taint, as `key:effect`, that is recorded as ours; empty for none.
fn cluster(taints: &Value, ready: &str, owned: &str) -> Cluster {
    let record = match owned {
        "" => json!({"taints": {}}),
        owned => json!({"taints": {owned: {"policies": {"p": "u"}}}}),
    };
    serde_json::from_value(json!({
        "metadata": {"name": "m1", "annotations": {annotation::MANAGED_TAINTS: record.to_string()}},
        "spec": {"syncMode": "Push", "taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": ready, "reason": "", "message": "", "lastTransitionTime": at(0).to_string()}]}
    }))
    .unwrap()
}

fn binding(clusters: &[&str], tasks: &Value, healthy: &[&str]) -> Binding {
    let targets: Vec<_> = clusters
        .iter()
        .map(|name| json!({"name": name, "replicas": 1}))
        .collect();
    let items: Vec<_> = healthy
        .iter()
        .map(|name| json!({"clusterName": name, "applied": true, "health": "Healthy"}))
        .collect();
    serde_json::from_value(json!({
        "metadata": {"namespace": "default", "name": "nginx-deployment"},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}, "replicas": 1, "clusters": targets, "gracefulEvictionTasks": tasks},
        "status": {"aggregatedStatus": items}
    }))
    .unwrap()
}

/// Ten seconds after Ready is False.
fn policy() -> ClusterTaintPolicy {
    serde_json::from_value(json!({
        "metadata": {"name": "p"},
        "spec": {"matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
                 "taintsToAdd": [{"key": "k", "effect": "NoExecute", "addOnMatchSeconds": 10}]}
    }))
    .unwrap()
}

fn task(cluster: &str) -> Value {
    json!({"fromCluster": cluster, "reason": "TaintUntolerated", "producer": "TaintManager", "purgeMode": "Gracefully"})
}

fn taint(added: i64) -> Value {
    json!({"key": "k", "effect": "NoExecute", "timeAdded": at(added).to_string()})
}

fn rules(mut checker: Checker, now: Timestamp) -> Vec<u8> {
    checker
        .finish(now)
        .into_iter()
        .map(|violation| violation.rule)
        .collect()
}

#[test]
fn an_eviction_in_order_breaks_nothing() {
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
    checker.see_binding(Seen::Stored(binding(&["m1"], &json!([]), &["m1"])), at(0));
    checker.see_binding(Seen::Stored(binding(&[], &json!([task("m1")]), &["m1"])), at(1));
    checker.see_binding(
        Seen::Stored(binding(&["m2"], &json!([task("m1")]), &["m1", "m2"])),
        at(2),
    );
    checker.see_binding(Seen::Stored(binding(&["m2"], &json!([]), &["m2"])), at(3));
    assert_eq!(rules(checker, at(100)), Vec::<u8>::new());
}

#[test]
fn an_eviction_without_a_cause_is_seen() {
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([]), "True", "")), at(0));
    checker.see_binding(Seen::Stored(binding(&["m1"], &json!([]), &["m1"])), at(0));
    checker.see_binding(Seen::Stored(binding(&[], &json!([task("m1")]), &["m1"])), at(1));
    assert_eq!(rules(checker, at(2)), [2]);
}

#[test]
fn a_rate_above_the_configured_one_is_seen() {
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
    for (second, name) in [(1, "a"), (2, "b")] {
        let named = |mut b: Binding| {
            b.metadata.name = Some(name.to_owned());
            b
        };
        checker.see_binding(Seen::Stored(named(binding(&["m1"], &json!([]), &[]))), at(0));
        checker.see_binding(Seen::Stored(named(binding(&[], &json!([task("m1")]), &[]))), at(second));
    }
    assert_eq!(rules(checker, at(3)), [1]);
}

#[test]
fn the_last_copy_that_goes_is_seen() {
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
    checker.see_binding(Seen::Stored(binding(&[], &json!([task("m1")]), &["m1"])), at(0));
    checker.see_binding(Seen::Stored(binding(&[], &json!([]), &["m1"])), at(9));
    assert_eq!(rules(checker, at(10)), [4]);
}

/// m1's only healthy copy gives way to m2's: by a write of the scheduler or after a task, as replicas divided anew or as
/// fewer of them.
#[rstest]
#[case::divided_anew(&["m1"], json!([]), 1, &["m1"], vec![4])]
#[case::scaled_down(&["m1", "m2"], json!([]), 2, &["m1"], vec![4])]
#[case::evicted(&[], json!([task("m1")]), 1, &["m1"], vec![4])]
#[case::once_another_runs(&["m1", "m2"], json!([]), 1, &["m1", "m2"], vec![])]
fn how_many_replicas_run_where_is_no_word(
    #[case] targets: &[&str],
    #[case] tasks: Value,
    #[case] replicas: i32,
    #[case] healthy: &[&str],
    #[case] expected: Vec<u8>,
) {
    let divided = |mut b: Binding, replicas: i32| {
        b.spec.replicas = Some(replicas);
        b.spec.placement = serde_json::from_value(json!({
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
        }))
        .unwrap();
        Seen::Stored(b)
    };
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "True", "")), at(0));
    checker.see_binding(divided(binding(targets, &tasks, healthy), replicas), at(0));
    checker.see_binding(divided(binding(targets, &tasks, healthy), 1), at(1));
    checker.see_binding(divided(binding(&["m2"], &json!([]), healthy), 1), at(2));
    assert_eq!(rules(checker, at(3)), expected);
}

/// m1's only healthy copy leaves the result of a Job, or ends with its task.
#[rstest]
#[case::divided_left_out("batch/v1", "Divided", &["m1"], json!([]), vec![4])]
#[case::divided_evicted("batch/v1", "Divided", &[], json!([task("m1")]), vec![4])]
#[case::duplicated_left_out("batch/v1", "Duplicated", &["m1"], json!([]), vec![4])]
#[case::another_kind_of_job("batch.volcano.sh/v1alpha1", "Divided", &["m1"], json!([]), vec![4])]
fn a_job_is_no_exception(
    #[case] api_version: &str,
    #[case] scheduling: &str,
    #[case] targets: &[&str],
    #[case] tasks: Value,
    #[case] expected: Vec<u8>,
) {
    let job = |mut b: Binding| {
        b.spec.resource.api_version = api_version.to_owned();
        b.spec.resource.kind = "Job".to_owned();
        b.spec.placement =
            serde_json::from_value(json!({"replicaScheduling": {"replicaSchedulingType": scheduling}})).unwrap();
        Seen::Stored(b)
    };
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "True", "")), at(0));
    checker.see_binding(job(binding(targets, &tasks, &["m1"])), at(0));
    checker.see_binding(job(binding(&["m2"], &json!([]), &["m1"])), at(1));
    assert_eq!(rules(checker, at(2)), expected);
}

/// m1's only healthy copy leaves the result, where its cluster is in region r and zones a and b, and labelled tier=prod.
#[rstest]
#[case::without_affinity(json!({}), vec![4])]
#[case::named(json!({"clusterAffinity": {"clusterNames": ["m1", "m2"]}}), vec![4])]
#[case::not_named(json!({"clusterAffinity": {"clusterNames": ["m2"]}}), vec![])]
#[case::excluded(json!({"clusterAffinity": {"clusterNames": ["m1", "m2"], "exclude": ["m1"]}}), vec![])]
#[case::by_label(json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "prod"}}}}), vec![4])]
#[case::by_another_label(json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "dev"}}}}), vec![])]
#[case::by_region(in_field("region", &["r"]), vec![4])]
#[case::by_zones(in_field("zone", &["a", "b", "c"]), vec![4])]
#[case::by_one_of_its_zones(in_field("zone", &["a"]), vec![])]
#[case::in_a_later_group(groups(&["m2", "m1"]), vec![4])]
#[case::in_no_group(groups(&["m2", "m3"]), vec![])]
#[case::constrained_by_what_it_has_not(
    json!({"spreadConstraints": [{"spreadByField": "provider", "minGroups": 1}]}), vec![4]
)]
fn a_placement_that_does_not_name_the_cluster_is_a_word(#[case] placement: Value, #[case] expected: Vec<u8>) {
    let placed = |mut b: Binding| {
        b.spec.placement = serde_json::from_value(placement.clone()).unwrap();
        Seen::Stored(b)
    };
    let mut cluster = cluster(&json!([]), "True", "");
    cluster.metadata.labels = serde_json::from_value(json!({"tier": "prod"})).unwrap();
    cluster.spec.region = Some("r".to_owned());
    cluster.spec.zones = vec!["a".to_owned(), "b".to_owned()];
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster), at(0));
    checker.see_binding(placed(binding(&["m1"], &json!([]), &["m1"])), at(0));
    checker.see_binding(placed(binding(&["m2"], &json!([]), &["m1"])), at(1));
    assert_eq!(rules(checker, at(2)), expected);
}

fn in_field(key: &str, values: &[&str]) -> Value {
    let expressions = json!([{"key": key, "operator": "In", "values": values}]);
    json!({"clusterAffinity": {"fieldSelector": {"matchExpressions": expressions}}})
}

fn groups(names: &[&str]) -> Value {
    let group = |name: &&str| json!({"affinityName": name, "clusterNames": [name]});
    json!({"clusterAffinities": names.iter().map(group).collect::<Vec<_>>()})
}

/// The placement may change while a task has the copy: the task was written to wait for another one.
#[test]
fn a_task_waits_whatever_the_placement_names() {
    let placed = |mut b: Binding| {
        b.spec.placement = serde_json::from_value(json!({"clusterAffinity": {"clusterNames": ["m2"]}})).unwrap();
        Seen::Stored(b)
    };
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "True", "")), at(0));
    checker.see_binding(placed(binding(&["m2"], &json!([task("m1")]), &["m1"])), at(0));
    checker.see_binding(placed(binding(&["m2"], &json!([]), &["m1"])), at(1));
    assert_eq!(rules(checker, at(2)), [4]);
}

/// Only a workload can be scaled to nothing: it has requirements that say so.
#[rstest]
#[case::a_workload(Some(0), json!({"resourceRequest": {"cpu": "1"}}), vec![])]
#[case::with_replicas(Some(1), json!({"resourceRequest": {"cpu": "1"}}), vec![4])]
#[case::what_has_no_replicas(Some(0), json!(null), vec![4])]
fn a_workload_of_no_replicas_may_go(
    #[case] replicas: Option<i32>,
    #[case] requirements: Value,
    #[case] expected: Vec<u8>,
) {
    let scaled = |mut b: Binding| {
        b.spec.replicas = replicas;
        b.spec.replica_requirements = serde_json::from_value(requirements.clone()).unwrap();
        Seen::Stored(b)
    };
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([]), "True", "")), at(0));
    checker.see_binding(scaled(binding(&["m1"], &json!([]), &["m1"])), at(0));
    checker.see_binding(scaled(binding(&["m2"], &json!([]), &["m1"])), at(1));
    assert_eq!(rules(checker, at(2)), expected);
}

/// m2 has applied its copy and knows no more of it.
#[rstest]
#[case::configmap(None, vec![])]
#[case::deployment(Some(1), vec![4])]
fn what_knows_no_health_runs_when_applied(#[case] replicas: Option<i32>, #[case] expected: Vec<u8>) {
    let of = |mut b: Binding| {
        b.spec.replicas = replicas;
        for item in b.status.iter_mut().flat_map(|status| &mut status.aggregated_status) {
            item.health = Some(ResourceHealth::Unknown);
        }
        Seen::Stored(b)
    };
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "True", "")), at(0));
    checker.see_binding(of(binding(&["m2"], &json!([task("m1")]), &["m1", "m2"])), at(0));
    checker.see_binding(of(binding(&["m2"], &json!([]), &["m1", "m2"])), at(1));
    assert_eq!(rules(checker, at(2)), expected);
}

#[rstest]
#[case::too_early(5, vec![2])]
#[case::in_time(10, vec![])]
fn a_taint_waits_for_its_window(#[case] second: i64, #[case] expected: Vec<u8>) {
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_policy(Seen::Stored(policy()), at(0));
    checker.see_cluster(Seen::Stored(cluster(&json!([]), "False", "")), at(0));
    checker.see_cluster(
        Seen::Stored(cluster(&json!([taint(second)]), "False", "k:NoExecute")),
        at(second),
    );
    assert_eq!(rules(checker, at(60)), expected);
}

/// On servers that run in real time the one who looks may stall: whatever is seen late, the stored times say how long
/// the window was. Ready is lost at 0 s here.
#[rstest]
#[case::all_is_seen_at_once((0, 10), 10, vec![])]
#[case::the_condition_is_seen_late((6, 10), 10, vec![])]
#[case::too_early_however_late_it_is_seen((0, 30), 9, vec![2])]
fn a_window_is_as_long_as_the_stored_times_say(
    #[case] (condition_seen, taint_seen): (i64, i64),
    #[case] added: i64,
    #[case] expected: Vec<u8>,
) {
    let mut checker = Checker::new(Settings::real_time(0.5));
    checker.see_policy(Seen::Stored(policy()), at(-60));
    checker.see_cluster(Seen::Stored(cluster(&json!([]), "False", "")), at(condition_seen));
    checker.see_cluster(
        Seen::Stored(cluster(&json!([taint(added)]), "False", "k:NoExecute")),
        at(taint_seen),
    );
    assert_eq!(rules(checker, at(60)), expected);
}

/// The window begins when the policy is made, where the condition was there before; and when the conditions begin to
/// hold, where one of them changes while they do.
#[rstest]
#[case::policy_made_later(Some(4), None, 13, vec![2])]
#[case::policy_made_later_in_time(Some(4), None, 14, vec![])]
#[case::still_matching(None, Some(7), 10, vec![])]
#[case::still_matching_too_early(None, Some(7), 9, vec![2])]
fn a_window_begins_by_the_stored_times(
    #[case] made: Option<i64>,
    #[case] changed: Option<i64>,
    #[case] added: i64,
    #[case] expected: Vec<u8>,
) {
    let with_ready = |mut cluster: Cluster, second: i64| {
        for condition in cluster.status.iter_mut().flat_map(|status| &mut status.conditions) {
            condition.last_transition_time.0 = at(second);
        }
        Seen::Stored(cluster)
    };
    let mut policy = policy();
    policy.metadata.creation_timestamp = made.map(|second| Time(at(second)));
    let not_true = json!([{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}]);
    policy.spec.match_conditions = serde_json::from_value(not_true).unwrap();
    let mut checker = Checker::new(Settings::real_time(0.5));
    checker.see_policy(Seen::Stored(policy), at(20));
    checker.see_cluster(with_ready(cluster(&json!([]), "False", ""), 0), at(20));
    if let Some(second) = changed {
        checker.see_cluster(with_ready(cluster(&json!([]), "Unknown", ""), second), at(20));
    }
    let tainted = cluster(&json!([taint(added)]), "False", "k:NoExecute");
    checker.see_cluster(with_ready(tainted, changed.unwrap_or(0)), at(20));
    assert_eq!(rules(checker, at(60)), expected);
}

/// A policy that was deleted and is made again knows nothing of what was before it.
#[rstest]
#[case::by_the_deleted_ones_window(10, vec![2])]
#[case::by_its_own_window(18, vec![])]
fn a_policy_that_comes_again_begins_anew(#[case] second: i64, #[case] expected: Vec<u8>) {
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_policy(Seen::Stored(policy()), at(0));
    checker.see_cluster(Seen::Stored(cluster(&json!([]), "False", "")), at(0));
    checker.see_policy(Seen::Gone(policy()), at(5));
    checker.see_policy(Seen::Stored(policy()), at(8));
    checker.see_cluster(
        Seen::Stored(cluster(&json!([taint(second)]), "False", "k:NoExecute")),
        at(second),
    );
    assert_eq!(rules(checker, at(60)), expected);
}

#[test]
fn a_cluster_in_both_lists_may_settle_but_not_stay() {
    let both = || Seen::Stored(binding(&["m1"], &json!([task("m1")]), &["m1"]));
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_binding(both(), at(0));
    checker.see_binding(Seen::Stored(binding(&["m1"], &json!([]), &["m1"])), at(5));
    assert_eq!(rules(checker, at(60)), Vec::<u8>::new());
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_binding(both(), at(0));
    assert_eq!(rules(checker, at(60)), [3]);
}

#[rstest]
#[case::by_somebody("1", vec![7])]
#[case::by_the_person("2", vec![])]
fn what_a_person_does_is_not_judged(#[case] told: &str, #[case] expected: Vec<u8>) {
    let version = |mut cluster: Cluster, version: &str| {
        cluster.metadata.resource_version = Some(version.to_owned());
        Seen::Stored(cluster)
    };
    let mut checker = Checker::new(Settings::exact(0.5));
    let told = told.to_owned();
    checker.by_hand(move |version| version == told);
    checker.see_cluster(version(cluster(&json!([taint(0)]), "True", ""), "1"), at(0));
    checker.see_cluster(version(cluster(&json!([]), "True", ""), "2"), at(1));
    assert_eq!(rules(checker, at(2)), expected);
}

#[rstest]
#[case::a_drain("cluster.karmada.io/drain", Settings::real_time(0.5), vec![])]
#[case::another_taint("example.com/broken", Settings::real_time(0.5), vec![7])]
#[case::a_drain_where_it_is_known_who_writes("cluster.karmada.io/drain", Settings::exact(0.5), vec![7])]
fn a_drain_is_taken_back_by_a_person(#[case] key: &str, #[case] settings: Settings, #[case] expected: Vec<u8>) {
    let mut checker = Checker::new(settings);
    let drain = json!([{"key": key, "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]);
    checker.see_cluster(Seen::Stored(cluster(&drain, "True", "")), at(0));
    checker.see_cluster(Seen::Stored(cluster(&json!([]), "True", "")), at(1));
    assert_eq!(rules(checker, at(2)), expected);
}

#[rstest]
#[case::of_this_second(SignedDuration::from_secs(3), vec![])]
#[case::of_long_ago(SignedDuration::from_secs(1), vec![2])]
fn what_was_read_a_moment_ago_may_be_acted_on(#[case] lag: SignedDuration, #[case] expected: Vec<u8>) {
    let mut checker = Checker::new(Settings {
        lag,
        ..Settings::exact(0.5)
    });
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
    checker.see_binding(Seen::Stored(binding(&["m1"], &json!([]), &["m1"])), at(0));
    checker.see_cluster(Seen::Stored(cluster(&json!([]), "True", "")), at(4));
    checker.see_binding(Seen::Stored(binding(&[], &json!([task("m1")]), &["m1"])), at(6));
    assert_eq!(
        rules(checker, at(7))
            .into_iter()
            .filter(|rule| *rule == 2)
            .collect::<Vec<_>>(),
        expected
    );
}

/// Two evictions that were let go ten seconds apart, each written within a second.
#[rstest]
#[case::known(SignedDuration::from_secs(1), vec![])]
#[case::not_known(SignedDuration::ZERO, vec![1])]
fn a_write_may_come_later_than_its_turn(#[case] write_delay: SignedDuration, #[case] expected: Vec<u8>) {
    let mut checker = Checker::new(Settings {
        write_delay,
        ..Settings::exact(0.1)
    });
    let named = |mut b: Binding, name: &str| {
        b.metadata.name = Some(name.to_owned());
        Seen::Stored(b)
    };
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
    for name in ["a", "b"] {
        checker.see_binding(named(binding(&["m1"], &json!([]), &[]), name), at(0));
    }
    checker.see_binding(named(binding(&[], &json!([task("m1")]), &[]), "a"), at(2));
    checker.see_binding(named(binding(&[], &json!([task("m1")]), &[]), "b"), at(11));
    assert_eq!(rules(checker, at(30)), expected);
}

/// Two evictions on a server that runs in real time, at the rate of one in ten seconds: who looks may stall.
#[rstest]
#[case::seen_together(0, 10, (40, 40), vec![])]
#[case::seen_the_other_way_round(10, 0, (40, 40), vec![])]
#[case::together_however_they_are_seen(0, 1, (0, 40), vec![1])]
fn a_rate_is_that_of_the_stored_times(
    #[case] first: i64,
    #[case] second: i64,
    #[case] seen: (i64, i64),
    #[case] expected: Vec<u8>,
) {
    let mut checker = Checker::new(Settings::real_time(0.1));
    let named = |mut b: Binding, name: &str| {
        b.metadata.name = Some(name.to_owned());
        Seen::Stored(b)
    };
    let written = |second: i64| {
        let mut task = task("m1");
        task["creationTimestamp"] = at(second).to_string().into();
        json!([task])
    };
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(-60)]), "False", "")), at(-60));
    for name in ["a", "b"] {
        checker.see_binding(named(binding(&["m1"], &json!([]), &[]), name), at(-60));
    }
    checker.see_binding(named(binding(&[], &written(first), &[]), "a"), at(seen.0));
    checker.see_binding(named(binding(&[], &written(second), &[]), "b"), at(seen.1));
    assert_eq!(rules(checker, at(60)), expected);
}

/// Two evictions ten seconds apart, while the wall clock was set back by nine or forward by nine.
#[rstest]
#[case::back(-9, 2)]
#[case::forward(9, 20)]
fn a_stepped_clock_is_no_rate(#[case] step: i64, #[case] second: i64) {
    let mut checker = Checker::new(Settings::exact(0.1));
    let named = |mut b: Binding, name: &str| {
        b.metadata.name = Some(name.to_owned());
        Seen::Stored(b)
    };
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
    for name in ["a", "b"] {
        checker.see_binding(named(binding(&["m1"], &json!([]), &[]), name), at(0));
    }
    checker.see_binding(named(binding(&[], &json!([task("m1")]), &[]), "a"), at(1));
    checker.clock_stepped(SignedDuration::from_secs(step));
    checker.see_binding(named(binding(&[], &json!([task("m1")]), &[]), "b"), at(second));
    assert_eq!(rules(checker, at(30)), Vec::<u8>::new());
}

/// What is recorded as ours is that key with that effect, and no other.
#[rstest]
#[case::ours("k:NoExecute", vec![])]
#[case::another_effect("k:NoSchedule", vec![7])]
#[case::a_longer_key("k2:NoExecute", vec![7])]
#[case::nothing("", vec![7])]
fn a_taint_of_a_person_is_left_alone(#[case] ours: &str, #[case] expected: Vec<u8>) {
    let mut checker = Checker::new(Settings::exact(0.5));
    checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "True", ours)), at(0));
    checker.see_cluster(Seen::Stored(cluster(&json!([]), "True", ours)), at(1));
    assert_eq!(rules(checker, at(2)), expected);
}
