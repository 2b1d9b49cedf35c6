use api_types::policy::PurgeMode;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::eviction::queue::Purge;
use crate::eviction::{FailoverGate, NoExecuteEviction};

const KEY: &str = "k:NoExecute@2026-01-01T00:00:00Z";

fn cluster(uid: &str, taints: &Value) -> Cluster {
    serde_json::from_value(json!({
        "metadata": {"name": "m1", "uid": uid, "resourceVersion": "20"}, "spec": {"syncMode": "Push", "taints": taints},
    }))
    .unwrap()
}

fn taint(key: &str) -> Value {
    json!({"key": key, "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"})
}

fn binding(change: impl FnOnce(&mut Value)) -> Binding {
    let mut binding = json!({
        "metadata": {"namespace": "default", "name": "web", "uid": "b1", "resourceVersion": "10", "generation": 4},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
            "clusters": [{"name": "m1", "replicas": 2}], "replicas": 2, "schedulePriority": {"priority": 7},
        },
    });
    change(&mut binding);
    serde_json::from_value(binding).unwrap()
}

fn switches() -> Switches {
    Switches::all_on(PurgeMode::Directly)
}

fn judged(binding: &Binding, cluster: &Cluster) -> Wanted {
    wanted(Some(binding), Some(cluster), &BTreeMap::new(), &switches())
}

fn entry(wanted: Wanted) -> Published {
    match wanted {
        Wanted::Entry(entry) => *entry,
        Wanted::Nothing(nothing) => panic!("{nothing:?}"),
    }
}

#[test]
fn an_entry_has_all_that_the_queue_and_people_need() {
    let entry = entry(judged(&binding(|_| ()), &cluster("c1", &json!([taint("k")]))));
    assert_eq!(entry.key.to_string(), format!("default/web on m1 ({KEY})"));
    assert_eq!(
        (&*entry.key.cluster_uid, entry.key.binding_uid.to_string().as_str()),
        ("c1", "b1")
    );
    assert_eq!(
        (entry.priority, entry.replicas, entry.purge_mode),
        (7, 2, Purge::Directly)
    );
    assert_eq!(entry.template.kind_label(), "apps/v1/Deployment");
    assert_eq!(entry.hold, None);
    assert_eq!(
        &*entry.reason,
        "taint k:NoExecute, added at 2026-01-01T00:00:00Z, is not tolerated"
    );
    let versions = entry.versions;
    assert_eq!(
        (versions.binding_generation, versions.binding, versions.cluster),
        (4, "10".into(), "20".into())
    );
}

#[rstest]
#[case::a_person_s_word(r#"[{"cluster": "m1"}]"#, false, Some(HoldReason::Stay))]
#[case::of_this_cause(&format!(r#"[{{"cluster": "m1", "verdict": "{KEY}"}}]"#), false, Some(HoldReason::Stay))]
#[case::of_another_cluster(r#"[{"cluster": "m2"}]"#, false, None)]
#[case::that_nobody_can_read("m1", false, Some(HoldReason::Stay))]
#[case::a_taint_that_is_about_to_go("", true, Some(HoldReason::Recovering))]
#[case::both(r#"[{"cluster": "m1"}]"#, true, Some(HoldReason::Stay))]
fn holds(#[case] stay: &str, #[case] recovers: bool, #[case] expected: Option<HoldReason>) {
    let binding = binding(|b| b["metadata"]["annotations"] = json!({"failover.karmada.io/stay": stay}));
    let id = TaintId {
        key: if recovers { "k" } else { "other" }.to_owned(),
        effect: "NoExecute".to_owned(),
    };
    let found = Recovering {
        since: "2026-01-01T00:01:00Z".parse().unwrap(),
        policies: vec!["p".to_owned()],
    };
    let recovering = BTreeMap::from([(id, found)]);
    let cluster = cluster("c1", &json!([taint("k")]));
    let entry = entry(wanted(Some(&binding), Some(&cluster), &recovering, &switches()));
    assert_eq!(entry.hold.map(|hold| hold.reason), expected);
}

type Change = fn(&mut Value);

#[rstest]
#[case::the_taint_is_gone(|_: &mut Value| (), json!([]), WithdrawReason::ClusterRecovered)]
#[case::it_is_tolerated(
    |b: &mut Value| b["spec"]["placement"] = json!({"clusterTolerations": [{"operator": "Exists"}]}),
    json!([taint("k")]), WithdrawReason::Tolerated
)]
#[case::it_is_gone_and_another_is_tolerated(
    |b: &mut Value| b["spec"]["placement"] = json!({"clusterTolerations": [{"key": "other", "operator": "Exists"}]}),
    json!([taint("other")]), WithdrawReason::ClusterRecovered
)]
#[case::another_came_in_its_place(|_: &mut Value| (), json!([taint("other")]), WithdrawReason::Replaced)]
#[case::the_binding_left(|b: &mut Value| b["spec"]["clusters"] = json!([]), json!([taint("k")]), WithdrawReason::BindingGone)]
#[case::the_binding_is_being_deleted(
    |b: &mut Value| b["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
    json!([taint("k")]), WithdrawReason::BindingGone
)]
#[case::another_binding_of_the_name(|b: &mut Value| b["metadata"]["uid"] = json!("b2"), json!([taint("k")]), WithdrawReason::BindingGone)]
#[case::it_is_leaving(
    |b: &mut Value| b["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "m1", "reason": "R", "producer": "p"}]),
    json!([taint("k")]), WithdrawReason::Leaving
)]
fn why_an_entry_goes(#[case] change: Change, #[case] taints: Value, #[case] expected: WithdrawReason) {
    let before = entry(judged(&binding(|_| ()), &cluster("c1", &json!([taint("k")])))).key;
    let cluster = cluster("c1", &taints);
    let instead = judged(&binding(change), &cluster);
    assert_eq!(withdraw_reason(&before, &instead, Some(&cluster)), expected);
}

#[test]
fn what_is_gone_altogether_withdraws_too() {
    let tainted = cluster("c1", &json!([taint("k")]));
    let before = entry(judged(&binding(|_| ()), &tainted)).key;
    let reason = |instead: &Wanted| withdraw_reason(&before, instead, None);
    let none = BTreeMap::new();
    assert_eq!(
        reason(&wanted(None, Some(&tainted), &none, &switches())),
        WithdrawReason::BindingGone
    );
    assert_eq!(
        reason(&wanted(Some(&binding(|_| ())), None, &none, &switches())),
        WithdrawReason::ClusterRecovered
    );
    let rejoined = judged(&binding(|_| ()), &cluster("c2", &json!([taint("k")])));
    assert_eq!(reason(&rejoined), WithdrawReason::ClusterRecovered);
}

#[rstest]
#[case::the_gate(FailoverGate::Off, NoExecuteEviction::On)]
#[case::the_flag(FailoverGate::On, NoExecuteEviction::Off)]
fn a_switch_that_is_off_leaves_nothing(#[case] failover: FailoverGate, #[case] no_execute: NoExecuteEviction) {
    let switches = Switches {
        failover,
        no_execute,
        ..Switches::all_on(PurgeMode::Gracefully)
    };
    let (binding, cluster) = (binding(|_| ()), cluster("c1", &json!([taint("k")])));
    let wanted = wanted(Some(&binding), Some(&cluster), &BTreeMap::new(), &switches);
    assert_eq!(wanted, Wanted::Nothing(Nothing::SwitchedOff));
}

#[test]
fn heartbeats_are_no_news() {
    let before = entry(judged(&binding(|_| ()), &cluster("c1", &json!([taint("k")]))));
    let mut now = before.clone();
    now.versions.cluster = "21".into();
    now.versions.binding = "11".into();
    assert!(same(&before, &now));
    now.versions.binding_generation = 5;
    assert!(!same(&before, &now), "another spec may find a place");
    now.versions.binding_generation = 4;
    now.replicas = 3;
    assert!(!same(&before, &now));
}
