#![allow(clippy::needless_pass_by_value, reason = "rows of tables are values")]

use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const T0: &str = "2026-01-01T00:00:00Z";

fn t0() -> Timestamp {
    T0.parse().unwrap()
}

fn after(seconds: i64) -> Timestamp {
    t0() + SignedDuration::from_secs(seconds)
}

fn cluster(taints: Value) -> Cluster {
    serde_json::from_value(json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "taints": taints}})).unwrap()
}

fn taint(key: &str, effect: &str, seconds: i64) -> Value {
    json!({"key": key, "effect": effect, "timeAdded": after(seconds).to_string()})
}

fn binding(tolerations: Value, failover: Value) -> Binding {
    serde_json::from_value(json!({
        "metadata": {"name": "nginx-deployment", "namespace": "default"},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx"},
            "clusters": [{"name": "m1", "replicas": 1}],
            "placement": {"clusterTolerations": tolerations},
            "failover": failover,
        },
    }))
    .unwrap()
}

fn on() -> Switches {
    Switches::all_on(PurgeMode::Gracefully)
}

fn judge(taints: Value, tolerations: Value, failover: Value) -> Verdict {
    verdict(&binding(tolerations, failover), &cluster(taints), &on())
}

fn due_after(verdict: Verdict) -> Option<i64> {
    match verdict {
        Verdict::Affected(affected) => Some(affected.due_at.duration_since(t0()).as_secs()),
        Verdict::NotAffected(_) => None,
    }
}

#[rstest]
#[case::untolerated(json!([]), Some(0))]
#[case::tolerated_for_ever(json!([{"key": "k", "operator": "Exists"}]), None)]
#[case::tolerated_for_a_time(json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 300}]), Some(300))]
#[case::no_time_at_all(json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 0}]), Some(0))]
#[case::less_than_no_time(json!([{"key": "k", "operator": "Exists", "tolerationSeconds": -5}]), Some(0))]
// C35 (aws-fsx-csi-driver#305): the most permissive of several counts, in any order.
#[case::wide_and_exact(json!([{"operator": "Exists", "tolerationSeconds": 300}, {"key": "k", "operator": "Exists"}]), None)]
#[case::exact_and_wide(json!([{"key": "k", "operator": "Exists"}, {"operator": "Exists", "tolerationSeconds": 300}]), None)]
// C37 (karmada#7272): operators of newer Kubernetes versions match nothing.
#[case::less_than(json!([{"key": "k", "operator": "Lt", "value": "5"}]), Some(0))]
// C38 (karmada#4952): a toleration of NoSchedule says nothing about NoExecute.
#[case::of_another_effect(json!([{"key": "k", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 0}]), Some(0))]
// Nonsense must neither panic nor evict early.
#[case::beyond_the_calendar(json!([{"key": "k", "operator": "Exists", "tolerationSeconds": i64::MAX}]), Some(Timestamp::MAX.duration_since("2026-01-01T00:00:00Z".parse().unwrap()).as_secs()))]
fn one_no_execute_taint(#[case] tolerations: Value, #[case] expected: Option<i64>) {
    assert_eq!(
        due_after(judge(json!([taint("k", "NoExecute", 0)]), tolerations, json!(null))),
        expected
    );
}

// C28 (kubernetes#90794): a taint that is tolerated for ever stands beside one that is tolerated for a time and goes away again.
#[test]
fn several_taints() {
    let tolerations = json!([
        {"key": "dedicated", "operator": "Exists"},
        {"key": "not-ready", "operator": "Exists", "tolerationSeconds": 300},
        {"key": "disk", "operator": "Exists", "tolerationSeconds": 60},
    ]);
    let judge = |taints: Value| due_after(judge(taints, tolerations.clone(), json!(null)));
    let dedicated = taint("dedicated", "NoExecute", -1000);
    assert_eq!(judge(json!([dedicated])), None);
    assert_eq!(judge(json!([dedicated, taint("not-ready", "NoExecute", 0)])), Some(300));
    assert_eq!(
        judge(json!([
            taint("not-ready", "NoExecute", 0),
            taint("disk", "NoExecute", 200)
        ])),
        Some(260),
        "the earliest"
    );
    assert_eq!(
        judge(json!([
            taint("not-ready", "NoExecute", 0),
            taint("other", "NoExecute", 50)
        ])),
        Some(50),
        "untolerated"
    );
    assert_eq!(judge(json!([dedicated])), None, "the one that counted has gone");
}

// C29 (kubernetes#108982): the due time is computed from what is stored now.
#[test]
fn a_longer_or_shorter_toleration_takes_effect() {
    let judge = |seconds: i64| {
        due_after(judge(
            json!([taint("k", "NoExecute", 0)]),
            json!([{"operator": "Exists", "tolerationSeconds": seconds}]),
            json!(null),
        ))
    };
    assert_eq!(
        (judge(300), judge(3600), judge(150)),
        (Some(300), Some(3600), Some(150))
    );
}

#[rstest]
#[case::not_opted_in(json!(null), None)]
#[case::only_application(json!({"application": {"decisionConditions": {}}}), None)]
#[case::default_time(json!({"cluster": {}}), Some(300))]
#[case::own_time(json!({"cluster": {"tolerationSeconds": 20}}), Some(20))]
#[case::at_once(json!({"cluster": {"tolerationSeconds": 0}}), Some(0))]
fn prefer_no_execute_goes_by_the_opt_in_alone(#[case] failover: Value, #[case] expected: Option<i64>) {
    let forever = json!([{"operator": "Exists"}]);
    assert_eq!(
        due_after(judge(json!([taint("k", "PreferNoExecute", 0)]), forever, failover)),
        expected
    );
}

#[test]
fn no_execute_needs_no_opt_in_and_ignores_its_seconds() {
    let failover = json!({"cluster": {"tolerationSeconds": 500}});
    assert_eq!(
        due_after(judge(json!([taint("k", "NoExecute", 0)]), json!([]), failover.clone())),
        Some(0)
    );
    let both = json!([taint("p", "PreferNoExecute", 0), taint("k", "NoExecute", 600)]);
    assert_eq!(
        due_after(judge(both, json!([]), failover)),
        Some(500),
        "the earliest of both effects"
    );
}

#[test]
fn a_taint_without_a_stamp_is_due_for_nobody() {
    let unstamped = json!([{"key": "k", "effect": "NoExecute"}]);
    assert_eq!(
        judge(unstamped, json!([]), json!(null)),
        Verdict::NotAffected(NotAffected::NotStamped)
    );
    let prefer = json!([{"key": "k", "effect": "PreferNoExecute"}]);
    assert_eq!(
        judge(prefer, json!([]), json!({"cluster": {}})),
        Verdict::NotAffected(NotAffected::NotStamped)
    );
}

// The one that counts and lacks its stamp goes before what does not count; what would not count with a stamp needs none.
#[rstest]
#[case::beside_one_that_is_tolerated(json!([taint("k", "NoExecute", 0), {"key": "p", "effect": "PreferNoExecute"}]), NoExecuteEviction::On, json!({"cluster": {}}), NotAffected::NotStamped)]
#[case::beside_one_that_is_switched_off(json!([taint("other", "NoExecute", 0), {"key": "p", "effect": "PreferNoExecute"}]), NoExecuteEviction::Off, json!({"cluster": {}}), NotAffected::NotStamped)]
#[case::not_opted_in(json!([taint("k", "NoExecute", 0), {"key": "p", "effect": "PreferNoExecute"}]), NoExecuteEviction::On, json!(null), NotAffected::Tolerated)]
#[case::not_opted_in_and_switched_off(json!([taint("other", "NoExecute", 0), {"key": "p", "effect": "PreferNoExecute"}]), NoExecuteEviction::Off, json!(null), NotAffected::NoExecuteOff)]
#[case::one_of_two(json!([taint("k", "NoExecute", 0), {"key": "other", "effect": "NoExecute"}]), NoExecuteEviction::On, json!(null), NotAffected::NotStamped)]
#[case::tolerated_without_a_stamp(json!([{"key": "k", "effect": "NoExecute"}]), NoExecuteEviction::On, json!(null), NotAffected::Tolerated)]
#[case::switched_off_without_a_stamp(json!([{"key": "other", "effect": "NoExecute"}]), NoExecuteEviction::Off, json!(null), NotAffected::NoExecuteOff)]
fn of_several_taints_the_stamp_that_is_missing_is_named(
    #[case] taints: Value,
    #[case] no_execute: NoExecuteEviction,
    #[case] failover: Value,
    #[case] expected: NotAffected,
) {
    let tolerates_k = json!([{"key": "k", "operator": "Exists"}]);
    let switches = Switches { no_execute, ..on() };
    let judged = verdict(&binding(tolerates_k, failover), &cluster(taints), &switches);
    assert_eq!(judged, Verdict::NotAffected(expected));
}

#[test]
fn other_effects_move_nothing() {
    for effect in ["NoSchedule", "PreferNoSchedule"] {
        let judged = judge(json!([taint("k", effect, 0)]), json!([]), json!({"cluster": {}}));
        assert_eq!(judged, Verdict::NotAffected(NotAffected::NoCause));
    }
}

#[test]
fn deletion_counts_whatever_is_tolerated_and_switched() {
    let mut leaving = cluster(json!([taint("k", "NoExecute", 0)]));
    leaving.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(after(40)));
    let tolerant = binding(json!([{"operator": "Exists"}]), json!(null));
    let Verdict::Affected(affected) = verdict(
        &tolerant,
        &leaving,
        &Switches {
            no_execute: NoExecuteEviction::Off,
            ..on()
        },
    ) else {
        panic!("deletion affects everybody");
    };
    assert_eq!(
        (affected.due_at, affected.cause, affected.why),
        (after(40), Cause::Deletion { at: after(40) }, Why::ClusterDeleted)
    );
    let Verdict::Affected(earlier) = verdict(&binding(json!([]), json!(null)), &leaving, &on()) else {
        panic!("both affect it");
    };
    assert_eq!(earlier.due_at, after(0), "the earliest of taint and deletion");
}

// Beside a stock Karmada its scheduler empties a Cluster that is being deleted; a taint on it is ours.
#[test]
fn a_deletion_that_is_left_to_stock_is_no_cause() {
    let beside = Switches {
        deleted_clusters: DeletedClusters::LeftToStock,
        ..on()
    };
    let mut leaving = cluster(json!([]));
    leaving.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(after(40)));
    let plain = binding(json!([]), json!(null));
    assert_eq!(
        verdict(&plain, &leaving, &beside),
        Verdict::NotAffected(NotAffected::NoCause)
    );
    leaving.spec.taints = cluster(json!([taint("k", "NoExecute", 50)])).spec.taints;
    let Verdict::Affected(affected) = verdict(&plain, &leaving, &beside) else {
        panic!("the taint counts");
    };
    assert_eq!(affected.due_at, after(50));
}

#[test]
fn switches_say_which_of_them_is_off() {
    let both = cluster(json!([taint("k", "NoExecute", 0), taint("p", "PreferNoExecute", 0)]));
    let plain = binding(json!([]), json!(null));
    let opted_in = binding(json!([]), json!({"cluster": {"tolerationSeconds": 7}}));
    let gate_off = Switches {
        failover: FailoverGate::Off,
        ..on()
    };
    let no_execute_off = Switches {
        no_execute: NoExecuteEviction::Off,
        ..on()
    };
    assert_eq!(
        verdict(&opted_in, &both, &gate_off),
        Verdict::NotAffected(NotAffected::GateOff)
    );
    assert_eq!(
        verdict(&plain, &both, &no_execute_off),
        Verdict::NotAffected(NotAffected::NoExecuteOff)
    );
    assert_eq!(
        due_after(verdict(&opted_in, &both, &no_execute_off)),
        Some(7),
        "PreferNoExecute is not switched by it"
    );
    assert_eq!(
        verdict(&plain, &cluster(json!([])), &gate_off),
        Verdict::NotAffected(NotAffected::NoCause),
        "nothing to switch off"
    );
}

#[test]
fn who_is_not_there_is_not_affected() {
    let tainted = cluster(json!([taint("k", "NoExecute", 0)]));
    let mut elsewhere = binding(json!([]), json!(null));
    elsewhere.spec.clusters[0].name = "m2".to_owned();
    assert_eq!(
        verdict(&elsewhere, &tainted, &on()),
        Verdict::NotAffected(NotAffected::NotThere)
    );
    assert!(matches!(
        cause_on_cluster(&elsewhere, &tainted, &on()),
        Verdict::Affected(_)
    ));

    let mut leaving = binding(json!([]), json!(null));
    leaving.spec.graceful_eviction_tasks =
        serde_json::from_value(json!([{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "x"}])).unwrap();
    assert_eq!(
        verdict(&leaving, &tainted, &on()),
        Verdict::NotAffected(NotAffected::AlreadyLeaving)
    );

    let mut deleted = binding(json!([]), json!(null));
    deleted.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(t0()));
    assert_eq!(
        verdict(&deleted, &tainted, &on()),
        Verdict::NotAffected(NotAffected::BindingDeleted)
    );
}

#[rstest]
#[case::default_of_the_flag(json!(null), PurgeMode::Gracefully, None)]
#[case::own(json!({"cluster": {"purgeMode": "Never"}}), PurgeMode::Never, None)]
#[case::old_spelling(json!({"cluster": {"purgeMode": "Immediately"}}), PurgeMode::Directly, None)]
#[case::grace(json!({"cluster": {"purgeMode": "Graciously", "gracePeriodSeconds": 60}}), PurgeMode::Gracefully, Some(60))]
#[case::grace_by_default_mode(json!({"cluster": {"gracePeriodSeconds": 60}}), PurgeMode::Gracefully, Some(60))]
#[case::no_grace_with_directly(json!({"cluster": {"purgeMode": "Directly", "gracePeriodSeconds": 60}}), PurgeMode::Directly, None)]
fn purge_mode_and_grace(#[case] failover: Value, #[case] mode: PurgeMode, #[case] grace: Option<i32>) {
    let Verdict::Affected(affected) = judge(json!([taint("k", "NoExecute", 0)]), json!([]), failover) else {
        panic!("affected");
    };
    assert_eq!((affected.purge_mode, affected.grace_period_seconds), (mode, grace));
}

#[test]
fn reasons_carry_their_numbers() {
    let Verdict::Affected(affected) = judge(
        json!([taint("k", "NoExecute", 0)]),
        json!([{"operator": "Exists", "tolerationSeconds": 300}]),
        json!(null),
    ) else {
        panic!("affected");
    };
    assert_eq!(
        affected.reason(),
        "taint k:NoExecute, added at 2026-01-01T00:00:00Z, is tolerated for 300 s, until 2026-01-01T00:05:00Z"
    );
    assert_eq!(affected.cause.identity(), "k:NoExecute@2026-01-01T00:00:00Z");
}
