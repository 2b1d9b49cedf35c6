use api_types::cluster::Cluster;
use api_types::work::Binding;
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use std::time::Duration;

use super::*;
use crate::eviction::FailoverGate;
use crate::eviction::queue::{PauseScopeView, PauseView};

fn cluster(more: Value) -> Cluster {
    let mut object = json!({
        "metadata": {"name": "m1", "uid": "u1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"syncMode": "Push"}
    });
    merge(&mut object, more);
    serde_json::from_value(object).unwrap()
}

/// Long after m2 became Ready.
fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn binding(more: Value) -> Binding {
    let mut object = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "web", "namespace": "default", "uid": "b1"},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "clusters": [{"name": "m1"}]}
    });
    merge(&mut object, more);
    serde_json::from_value(object).unwrap()
}

fn operations(stopped: &[&str]) -> Operations {
    let all = [
        "taintManager",
        "evictionQueue",
        "evictor",
        "scheduler",
        "gracefulEviction",
        "binding",
    ];
    Operations {
        running: all
            .into_iter()
            .filter(|name| !stopped.contains(name))
            .map(str::to_owned)
            .collect(),
        failover: (!stopped.contains(&"taintManager")).then_some(FailoverGate::On),
        standstill: None,
        pauses: Vec::new(),
    }
}

fn pause(scope: PauseScopeView) -> PauseView {
    PauseView {
        name: "night".to_owned(),
        scope,
        reason: "maintenance".to_owned(),
        until: None,
    }
}

fn held(binding: &Binding, operations: &Operations, no_target: Option<&str>) -> (HoldKind, String) {
    let m2 = cluster(json!({
        "metadata": {"name": "m2", "uid": "u2", "deletionTimestamp": null},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "",
                                   "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    }));
    let fleet = |name: &str| (name == "m2").then_some(&m2);
    let hold = hold(binding, &cluster(json!({})), operations, fleet, now(), || {
        no_target.map_or(OtherPlace::Found, |why| OtherPlace::None(why.to_owned()))
    });
    (hold.kind, hold.what)
}

#[rstest]
#[case::nothing_in_its_way(json!({}), &[], (HoldKind::Waiting, ""))]
#[case::no_queue(json!({}), &["evictionQueue", "evictor"], (HoldKind::NotRunning, "evictionQueue"))]
#[case::no_taint_manager(json!({}), &["taintManager", "evictor"], (HoldKind::NotRunning, "taintManager"))]
#[case::no_evictor(json!({}), &["evictor"], (HoldKind::NotRunning, "evictor"))]
#[case::moving(json!({"spec": {"clusters": [], "gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "r", "producer": "p"}]}}), &[], (HoldKind::Moving, ""))]
#[case::moving_without_graceful_eviction(json!({"spec": {"clusters": [], "gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "r", "producer": "p"}]}}), &["gracefulEviction"], (HoldKind::NotRunning, "gracefulEviction"))]
#[case::its_task_must_not_end(json!({"spec": {"clusters": [], "gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "r", "producer": "p", "suppressDeletion": true}]}}), &[], (HoldKind::KeptByHand, "suppressDeletion in the task"))]
#[case::stays(json!({"metadata": {"annotations": {"failover.karmada.io/stay": "[{\"cluster\": \"m1\"}]"}}}), &[], (HoldKind::KeptByHand, "the annotation failover.karmada.io/stay"))]
#[case::stays_for_another_deletion(json!({"metadata": {"annotations": {"failover.karmada.io/stay": "[{\"cluster\": \"m1\", \"verdict\": \"deletion@2020-01-01T00:00:00Z\"}]"}}}), &[], (HoldKind::Waiting, ""))]
#[case::being_deleted(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), &[], (HoldKind::BindingDeleted, ""))]
#[case::being_deleted_by_nobody(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), &["binding"], (HoldKind::NotRunning, "binding"))]
fn a_binding_is_held_by(#[case] more: Value, #[case] stopped: &[&str], #[case] expected: (HoldKind, &str)) {
    let (kind, what) = held(&binding(more), &operations(stopped), None);
    assert_eq!((kind, what.as_str()), expected);
}

// C103: with the gate off, or without a taint manager, it is the scheduler that takes the cluster out of the result.
#[test]
fn without_the_gate_it_is_the_schedulers() {
    let off = |stopped: &[&str]| Operations {
        failover: Some(FailoverGate::Off),
        ..operations(stopped)
    };
    let plain = binding(json!({}));
    assert_eq!(held(&plain, &off(&["evictionQueue"]), Some("no")).0, HoldKind::Waiting);
    let with_copy = |ready: u32| {
        let item = json!({"clusterName": "m2", "applied": true, "health": "Healthy",
            "status": {"replicas": ready, "readyReplicas": ready, "updatedReplicas": ready, "availableReplicas": ready}});
        binding(
            json!({"spec": {"replicas": 2, "clusters": [{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 2}]},
                       "status": {"aggregatedStatus": [item]}}),
        )
    };
    assert_eq!(held(&with_copy(1), &off(&[]), None).0, HoldKind::Moving);
    assert_eq!(
        held(&with_copy(2), &off(&[]), None).0,
        HoldKind::Waiting,
        "it may go as soon as the scheduler looks"
    );
    assert_eq!(
        held(&plain, &off(&["scheduler"]), None),
        (HoldKind::NotRunning, "scheduler".to_owned())
    );
    let suspended = binding(json!({"spec": {"suspension": {"scheduling": true}}}));
    assert_eq!(held(&suspended, &off(&[]), None).0, HoldKind::KeptByHand);
}

#[rstest]
#[case::all(PauseScopeView::All, HoldKind::Paused)]
#[case::this_cluster(PauseScopeView::Clusters(["m1".to_owned()].into()), HoldKind::Paused)]
#[case::another(PauseScopeView::Clusters(["m2".to_owned()].into()), HoldKind::Halted)]
#[case::this_namespace(PauseScopeView::Namespaces(["default".to_owned()].into()), HoldKind::Paused)]
fn pauses_before_brakes(#[case] scope: PauseScopeView, #[case] expected: HoldKind) {
    let operations = Operations {
        pauses: vec![pause(scope)],
        standstill: Some("nothing is released: regime Halted".to_owned()),
        ..operations(&[])
    };
    assert_eq!(held(&binding(json!({})), &operations, Some("nowhere")).0, expected);
}

#[test]
fn the_message_counts_by_reason_and_names_the_way_out() {
    let cluster = cluster(json!({}));
    let paused = Operations {
        pauses: vec![pause(PauseScopeView::Namespaces(["shop".to_owned()].into()))],
        ..operations(&["gracefulEviction"])
    };
    let moving = json!({"metadata": {"name": "moving"}, "spec": {"clusters": [], "gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "r", "producer": "p"}]}});
    let shop = json!({"metadata": {"namespace": "shop"}});
    let tally: Tally = [
        hold(
            &binding(json!({"metadata": {"name": "b"}})),
            &cluster,
            &paused,
            |_| None,
            now(),
            || OtherPlace::None("no cluster fits".to_owned()),
        ),
        hold(
            &binding(json!({"metadata": {"name": "a"}})),
            &cluster,
            &paused,
            |_| None,
            now(),
            || OtherPlace::None("0/1 clusters".to_owned()),
        ),
        hold(&binding(shop), &cluster, &paused, |_| None, now(), || OtherPlace::Found),
        hold(
            &binding(moving),
            &cluster,
            &paused,
            |_| None,
            now(),
            || OtherPlace::Found,
        ),
    ]
    .into_iter()
    .collect();
    assert_eq!(tally.total(), 4);
    assert_eq!(
        tally.message(&how_it_ends(Duration::ZERO)),
        "4 bindings name this cluster in spec.clusters or in a graceful eviction task: 1 because gracefulEviction is not \
         running, 1 paused (FailoverPause night: maintenance), 2 without a target (default/a: 0/1 clusters). It is deleted \
         when they leave; to end this at once, annotate the Cluster with failover.karmada.io/force-delete=true"
    );
    assert!(
        how_it_ends(Duration::from_secs(3600)).ends_with("ends by itself after 1h (--cluster-deletion-timeout)"),
        "{}",
        how_it_ends(Duration::from_secs(3600))
    );
}

fn blocked_since(time: &str, ready: &str) -> Cluster {
    cluster(json!({"status": {"conditions": [
        {"type": "DeletionBlocked", "status": "True", "reason": "r", "message": "", "lastTransitionTime": time},
        {"type": "Ready", "status": ready, "reason": "r", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    ]}}))
}

#[rstest]
#[case::by_default_never(blocked_since("2026-01-01T00:00:00Z", "False"), 0, Patience::For(None))]
#[case::not_yet(
    blocked_since("2026-01-01T11:30:00Z", "False"),
    3600,
    Patience::For(Some(Duration::from_secs(1800)))
)]
#[case::now(
    blocked_since("2026-01-01T11:00:00Z", "False"),
    3600,
    Patience::Over(Ended::ByTimeout)
)]
#[case::now_unknown(
    blocked_since("2026-01-01T11:00:00Z", "Unknown"),
    3600,
    Patience::Over(Ended::ByTimeout)
)]
#[case::never_while_the_member_is_ready(blocked_since("2026-01-01T11:00:00Z", "True"), 3600, Patience::For(None))]
#[case::not_before_it_was_said(cluster(json!({})), 3600, Patience::For(None))]
#[case::by_force(cluster(json!({"metadata": {"annotations": {"failover.karmada.io/force-delete": "true"}}})), 0, Patience::Over(Ended::ByForce))]
#[case::any_other_word_is_no_force(cluster(json!({"metadata": {"annotations": {"failover.karmada.io/force-delete": "yes"}}})), 0, Patience::For(None))]
fn a_deletion_waits(#[case] cluster: Cluster, #[case] timeout_seconds: u64, #[case] expected: Patience) {
    let noon: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
    let waited = waits_since(&cluster).map(|since| Duration::try_from(noon.duration_since(since)).unwrap());
    assert_eq!(
        patience(&cluster, Duration::from_secs(timeout_seconds), waited),
        expected
    );
}

// C103 (karmada#6438): gate on or off, taint manager at work or not.
#[rstest]
#[case::at_work(FailoverGate::On, Some((Some(FailoverGate::On), 5)), Emptied::ByTheQueue)]
#[case::away_for_a_while(FailoverGate::On, Some((Some(FailoverGate::On), 299)), Emptied::ByTheQueue)]
#[case::not_at_work(FailoverGate::On, Some((Some(FailoverGate::On), 300)), Emptied::ByTheScheduler)]
#[case::none_ever(FailoverGate::On, Some((None, 300)), Emptied::ByTheScheduler)]
#[case::its_gate_is_off(FailoverGate::On, Some((Some(FailoverGate::Off), 5)), Emptied::ByTheScheduler)]
#[case::our_gate_is_off(FailoverGate::Off, Some((Some(FailoverGate::On), 5)), Emptied::ByTheScheduler)]
#[case::nobody_holds_leases(FailoverGate::On, None, Emptied::ByTheQueue)]
fn who_empties(
    #[case] gate: FailoverGate,
    #[case] seen: Option<(Option<FailoverGate>, u64)>,
    #[case] expected: Emptied,
) {
    let seen = seen.map(|(gate, seconds)| TaintManager {
        gate,
        silent_for: Duration::from_secs(seconds),
    });
    assert_eq!(emptied_by(gate, seen), expected);
}

// What nobody looked at is not said to wait for its turn.
#[test]
fn who_was_not_looked_at_is_counted_apart() {
    let (cluster, operations) = (cluster(json!({})), operations(&[]));
    let places = [
        OtherPlace::None("no cluster fits".to_owned()),
        OtherPlace::NotLookedFor,
        OtherPlace::NotLookedFor,
    ];
    let holds = places.map(|place| hold(&binding(json!({})), &cluster, &operations, |_| None, now(), || place));
    let tally = Tally::from_iter(holds);
    assert_eq!(tally.of(HoldKind::Waiting), 0);
    let message = tally.message("");
    assert!(
        message.contains("1 without a target (default/web: no cluster fits), 2 more not looked at. "),
        "{message}"
    );
}
