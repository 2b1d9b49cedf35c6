//! Rules, each with what it finds and what it leaves alone.

use api_types::cluster::Cluster;
use api_types::policy::{Policy, PolicyKind};
use api_types::taint_policy::ClusterTaintPolicy;
use jiff::SignedDuration;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::taint_policy::FailoverGate;

fn named(name: &str, spec: &Value) -> Subject {
    let policy = json!({"metadata": {"name": name}, "spec": spec});
    Subject::TaintPolicy(Box::new(serde_json::from_value(policy).unwrap()))
}

fn taint_policy(spec: &Value) -> Subject {
    named("p", spec)
}

fn propagation(spec: &Value) -> Subject {
    let mut whole = json!({"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let policy: Policy = serde_json::from_value(json!({"metadata": {"name": "pp"}, "spec": whole})).unwrap();
    Subject::Propagation(PolicyKind::Namespaced, Box::new(policy))
}

fn cluster(name: &str, conditions: &[&str]) -> Cluster {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|type_| json!({"type": type_, "status": "True", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}))
        .collect();
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"name": name}}, "spec": {"syncMode": "Push"},
        "status": {"conditions": conditions},
    }))
    .unwrap()
}

fn found(subjects: &[Subject], known: &Known<'_>) -> Vec<(usize, String, String)> {
    lint(subjects, known)
        .into_iter()
        .map(|(index, finding)| (index, finding.code.to_string(), finding.field))
        .collect()
}

/// Codes and fields about one object, when nothing else is known.
fn alone(subject: Subject) -> Vec<String> {
    with(subject, &Known::default())
}

fn with(subject: Subject, known: &Known<'_>) -> Vec<String> {
    found(&[subject], known)
        .into_iter()
        .map(|(_, code, field)| format!("{code} {field}"))
        .collect()
}

fn when(type_: &str, operator: &str, values: &[&str]) -> Value {
    json!({"conditionType": type_, "operator": operator, "statusValues": values})
}

fn adding(effect: &str) -> Value {
    json!([{"key": "k", "effect": effect, "addOnMatchSeconds": 300, "removeOnMismatchSeconds": 180}])
}

/// A policy as it should be, with one thing changed.
fn good(change: impl FnOnce(&mut Value)) -> Value {
    let mut spec = json!({
        "matchConditions": [when("Ready", "In", &["False", "Unknown"])], "taintsToAdd": adding("NoExecute"),
    });
    change(&mut spec);
    spec
}

#[test]
fn a_policy_as_it_should_be() {
    assert_eq!(alone(taint_policy(&good(|_| ()))), [""; 0]);
    let clusters = [cluster("m1", &["Ready"]), cluster("m2", &["Ready"])];
    let known = Known {
        clusters: Some(&clusters),
        gate: Some(FailoverGate::Enabled),
        ..Known::default()
    };
    assert_eq!(with(taint_policy(&good(|_| ())), &known), [""; 0]);
    let moves = json!({"failover": {"cluster": {}}, "placement": {"clusterTolerations": [
        {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}]}});
    assert_eq!(with(propagation(&moves), &known), [""; 0]);
}

#[rstest]
#[case::two_targets(good(|s| { s["targetCluster"] = json!({}); s["targetClusters"] = json!({}); }), "two-forms spec")]
#[case::two_forms(good(|s| s["addOnConditions"] = json!([when("Ready", "In", &["False"])])), "two-forms spec")]
#[case::no_taint(good(|s| s["taintsToAdd"] = json!([])), "invalid spec")]
#[case::another_effect(good(|s| s["taintsToAdd"] = adding("NoSuchEffect")), "invalid spec")]
#[case::suspended(good(|s| s["suspended"] = json!(true)), "suspended spec.suspended")]
#[case::they_exclude_each_other(
    good(|s| s["matchConditions"] = json!([when("Ready", "In", &["False"]), when("Ready", "In", &["Unknown"])])),
    "never-matches spec.matchConditions"
)]
#[case::nothing_is_left(
    good(|s| s["matchConditions"] = json!([when("Ready", "NotIn", &["True", "False", "Unknown"])])),
    "never-matches spec.matchConditions"
)]
#[case::an_unknown_operator(
    good(|s| s["matchConditions"] = json!([when("Ready", "Like", &["True"])])),
    "never-matches spec.matchConditions"
)]
#[case::no_condition(good(|s| s["matchConditions"] = json!([])), "always-matches spec")]
#[case::every_status(
    good(|s| s["matchConditions"] = json!([when("Ready", "In", &["True", "False", "Unknown"])])),
    "always-matches spec.matchConditions"
)]
#[case::misspelt(
    good(|s| s["matchConditions"] = json!([when("Raedy", "In", &["False"])])),
    "misspelt-condition spec.matchConditions[0].conditionType"
)]
#[case::a_short_window(
    good(|s| s["taintsToAdd"][0]["addOnMatchSeconds"] = json!(9)),
    "window-below-probe-period spec.taintsToAdd[0].addOnMatchSeconds"
)]
#[case::a_short_removal_window(
    good(|s| s["taintsToAdd"][0]["removeOnMismatchSeconds"] = json!(1)),
    "window-below-probe-period spec.taintsToAdd[0].removeOnMismatchSeconds"
)]
#[case::a_persons_taint(
    good(|s| s["taintsToAdd"][0]["key"] = json!("cluster.karmada.io/drain")),
    "reserved-taint spec.taintsToAdd[0].key"
)]
#[case::all_excluded(
    good(|s| s["targetCluster"] = json!({"clusterNames": ["m1"], "exclude": ["m1"]})),
    "target-matches-nothing spec.targetCluster"
)]
fn one_thing_is_wrong(#[case] spec: Value, #[case] expected: &str) {
    assert_eq!(alone(taint_policy(&spec)), [expected]);
}

#[rstest]
#[case::no_condition_for_new_workloads_only(good(|s| { s["matchConditions"] = json!([]); s["taintsToAdd"] = adding("NoSchedule"); }))]
#[case::short_windows_for_new_workloads_only(good(|s| {
    s["taintsToAdd"] = json!([{"key": "k", "effect": "NoSchedule", "addOnMatchSeconds": 1, "removeOnMismatchSeconds": 1}]);
}))]
#[case::a_condition_of_ones_own(good(|s| s["matchConditions"] = json!([when("DiskBroken", "In", &["True"])])))]
#[case::the_default_windows(good(|s| s["taintsToAdd"] = json!([{"key": "k", "effect": "NoExecute"}])))]
fn what_is_left_alone(#[case] spec: Value) {
    assert_eq!(alone(taint_policy(&spec)), [""; 0]);
}

fn stock(add: &Value, remove: &Value) -> Subject {
    taint_policy(&json!({
        "addOnConditions": add, "removeOnConditions": remove, "taints": [{"key": "k", "effect": "NoExecute"}],
    }))
}

#[rstest]
#[case::as_it_should_be(json!([when("Ready", "In", &["False"])]), json!([when("Ready", "In", &["True"])]), &[])]
#[case::nothing_adds(json!([]), json!([when("Ready", "In", &["True"])]), &["never-added spec"])]
#[case::nothing_removes(json!([when("Ready", "In", &["False"])]), json!([]), &["never-removed spec"])]
#[case::removal_always_wins(
    json!([when("Ready", "In", &["False"])]), json!([when("Ready", "NotIn", &["True"])]), &["never-added spec.removeOnConditions"]
)]
#[case::another_condition_removes(json!([when("Ready", "In", &["False"])]), json!([when("Disk", "In", &["True"])]), &[])]
#[case::it_can_not_be_added(
    json!([when("Ready", "NotIn", &["True", "False", "Unknown"])]), json!([when("Ready", "In", &["True"])]),
    &["never-matches spec.addOnConditions"]
)]
#[case::it_can_not_be_removed(
    json!([when("Ready", "In", &["False"])]), json!([when("Ready", "NotIn", &["True", "False", "Unknown"])]),
    &["never-removed spec.removeOnConditions"]
)]
fn stocks_form(#[case] add: Value, #[case] remove: Value, #[case] expected: &[&str]) {
    assert_eq!(alone(stock(&add, &remove)), expected);
}

#[test]
fn the_fleet_tells_what_a_file_cannot() {
    let clusters = [cluster("m1", &["Ready", "Disk"]), cluster("m2", &["Ready"])];
    let known = Known {
        clusters: Some(&clusters),
        ..Known::default()
    };
    let conditions =
        |type_: &str| taint_policy(&good(|s| s["matchConditions"] = json!([when(type_, "In", &["False"])])));
    assert_eq!(
        with(conditions("Raedy"), &known),
        ["no-such-condition spec.matchConditions[0].conditionType"]
    );
    assert_eq!(
        with(conditions("Disk"), &known),
        ["condition-missing-somewhere spec.matchConditions[0].conditionType"]
    );
    let only_m1 = taint_policy(&good(|s| {
        s["targetCluster"] = json!({"clusterNames": ["m1"]});
        s["matchConditions"] = json!([when("Disk", "In", &["False"])]);
    }));
    assert_eq!(with(only_m1, &known), [""; 0], "the targeted ones have it");

    let target = |target: Value| taint_policy(&good(|s| s["targetCluster"] = target));
    assert_eq!(
        with(target(json!({"clusterNames": ["m1", "m3"]})), &known),
        ["no-such-cluster spec.targetCluster.clusterNames[1]"]
    );
    assert_eq!(
        with(
            target(json!({"labelSelector": {"matchLabels": {"name": "m9"}}})),
            &known
        ),
        ["target-matches-nothing spec.targetCluster"]
    );
}

#[test]
fn the_gate_and_stock_karmada_and_the_probe_period_are_known() {
    let off = Known {
        gate: Some(FailoverGate::Disabled),
        ..Known::default()
    };
    assert_eq!(
        with(taint_policy(&good(|_| ())), &off),
        ["gate-off spec.taintsToAdd[0].effect"]
    );
    let softer = taint_policy(&good(|s| s["taintsToAdd"] = adding("NoSchedule")));
    assert_eq!(with(softer, &off), [""; 0]);

    let not_ready = || {
        taint_policy(&good(|s| {
            s["taintsToAdd"] = adding("NoSchedule");
            s["taintsToAdd"][0]["key"] = json!("cluster.karmada.io/not-ready");
        }))
    };
    let stock = Known {
        stock_karmada: StockKarmada::There,
        ..Known::default()
    };
    assert_eq!(with(not_ready(), &stock), ["reserved-taint spec.taintsToAdd[0].key"]);
    let suspended = || taint_policy(&good(|s| s["suspended"] = json!(true)));
    assert_eq!(alone(suspended()), ["suspended spec.suspended"]);
    assert_eq!(with(suspended(), &stock), [""; 0], "what is dropped keeps nothing back");
    assert_eq!(alone(not_ready()), [""; 0]);

    let slow = Known {
        probe_period: SignedDuration::from_secs(301),
        ..Known::default()
    };
    assert_eq!(with(taint_policy(&good(|_| ())), &slow).len(), 2);
}

/// Who paused everything by a slip is not told that nothing is paused.
#[rstest]
#[case::nothing(json!({"scope": "Clusters"}), "evictions go on as if nobody had paused them")]
#[case::all_with_names(json!({"scope": "All", "clusters": ["m1"], "until": "2026-01-01T01:00:00Z"}), "it holds back other evictions")]
#[case::unknown_scope(json!({"scope": "Regions"}), "it holds back other evictions")]
#[case::two_kinds_of_names(json!({"scope": "Clusters", "clusters": ["m1"], "namespaces": ["a"]}), "it holds back other evictions")]
fn what_a_wrong_pause_does_is_told(#[case] mut spec: Value, #[case] why: &str) {
    spec["reason"] = json!("r");
    let pause = json!({"metadata": {"name": "p"}, "spec": spec});
    let pause = Subject::Pause(Box::new(serde_json::from_value(pause).unwrap()));
    let known = Known {
        now: Some("2026-01-01T00:00:00Z".parse().unwrap()),
        ..Known::default()
    };
    let found = lint(&[pause], &known);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.why.starts_with(why), "{found:?}");
}

#[test]
fn two_policies_and_one_taint() {
    let valued = |name: &str, value: &str| named(name, &good(|s| s["taintsToAdd"][0]["value"] = json!(value)));
    let known = Known::default();
    assert_eq!(
        found(&[valued("a", "1"), valued("b", "2")], &known),
        [
            (0, "policies-at-odds".to_owned(), "spec.taintsToAdd[0].value".to_owned()),
            (1, "policies-at-odds".to_owned(), "spec.taintsToAdd[0].value".to_owned()),
        ]
    );
    assert_eq!(
        found(&[valued("a", "1"), valued("b", "1")], &known)[0].1,
        "shared-taint"
    );
    let on =
        |name: &str, cluster: &str| named(name, &good(|s| s["targetCluster"] = json!({"clusterNames": [cluster]})));
    assert_eq!(found(&[on("a", "m1"), on("b", "m2")], &known), [], "they never meet");

    let stored: Vec<ClusterTaintPolicy> = [valued("a", "1"), valued("c", "3")]
        .into_iter()
        .filter_map(|subject| match subject {
            Subject::TaintPolicy(policy) => Some(*policy),
            _ => None,
        })
        .collect();
    let known = Known {
        taint_policies: &stored,
        ..Known::default()
    };
    let about = lint(&[valued("a", "2")], &known);
    assert_eq!(
        about.len(),
        1,
        "the stored policy of the same name is what the file replaces"
    );
    assert!(
        about[0].1.what.contains("policy c wants value \"3\""),
        "{:?}",
        about[0].1
    );
}

#[test]
fn nobody_opted_in() {
    let soft = || taint_policy(&good(|s| s["taintsToAdd"] = adding("PreferNoExecute")));
    assert_eq!(alone(soft()), [""; 0], "no policy of a workload is known");
    let stays = || propagation(&json!({}));
    let moves = || propagation(&json!({"failover": {"cluster": {}}}));
    let codes = |subjects: &[Subject]| -> Vec<String> {
        found(subjects, &Known::default())
            .into_iter()
            .map(|(index, code, _)| format!("{index} {code}"))
            .collect()
    };
    assert_eq!(codes(&[soft(), stays()]), ["0 nobody-opted-in", "1 not-opted-in"]);
    assert_eq!(codes(&[soft(), stays(), moves()]), ["1 not-opted-in"]);
    let somebody = Known {
        somebody_opted_in: Some(true),
        ..Known::default()
    };
    assert_eq!(with(soft(), &somebody), [""; 0]);
}

#[rstest]
#[case::everything(json!([{"operator": "Exists"}]), &["tolerates-everything [0]"])]
#[case::everything_that_moves(json!([{"operator": "Exists", "effect": "NoExecute"}]), &["tolerates-everything [0]"])]
#[case::for_a_time(json!([{"operator": "Exists", "tolerationSeconds": 300}]), &[])]
#[case::another_effect(json!([{"operator": "Exists", "effect": "NoSchedule"}]), &[])]
#[case::a_key(json!([{"key": "k", "operator": "Exists"}]), &[])]
#[case::the_most_permissive_counts(
    json!([{"operator": "Exists", "tolerationSeconds": 300}, {"operator": "Exists"}]), &["tolerates-everything [1]"]
)]
// C37 (karmada#7272): operators of newer Kubernetes versions match nothing here.
#[case::an_unknown_operator(json!([{"key": "k", "operator": "Gt", "value": "5"}]), &["odd-toleration [0].operator"])]
#[case::a_value_that_is_not_looked_at(json!([{"key": "k", "operator": "Exists", "value": "v"}]), &["odd-toleration [0].value"])]
#[case::no_key(json!([{"value": "v"}]), &["odd-toleration [0]"])]
#[case::a_softer_effect(
    json!([{"key": "k", "operator": "Exists", "effect": "PreferNoExecute", "tolerationSeconds": 5}]),
    &["prefer-no-execute-tolerated [0].effect"]
)]
// C38 (karmada#4952): a time limit says nothing for NoSchedule.
#[case::a_time_for_nothing(
    json!([{"key": "k", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}]),
    &["toleration-seconds-ignored [0].tolerationSeconds"]
)]
fn what_is_tolerated(#[case] tolerations: Value, #[case] expected: &[&str]) {
    let of_both = |kind| {
        let Subject::Propagation(_, policy) =
            propagation(&json!({"placement": {"clusterTolerations": tolerations.clone()}}))
        else {
            unreachable!()
        };
        alone(Subject::Propagation(kind, policy))
    };
    let expected: Vec<String> = expected
        .iter()
        .map(|expected| expected.replace(" [", " spec.placement.clusterTolerations["))
        .collect();
    assert_eq!(of_both(PolicyKind::Namespaced), expected);
    assert_eq!(of_both(PolicyKind::Cluster), expected, "both kinds by the same rules");
}

#[test]
fn a_place_to_go() {
    let moves = |placement: Value| propagation(&json!({"failover": {"cluster": {}}, "placement": placement}));
    let one = || json!({"clusterAffinity": {"clusterNames": ["m1"]}});
    assert_eq!(alone(moves(one())), ["nowhere-to-go spec.placement"]);
    assert_eq!(
        alone(propagation(&json!({"placement": one()}))),
        [""; 0],
        "it is not to move"
    );
    let two = json!({"clusterAffinities": [
        {"affinityName": "a", "clusterNames": ["m1"]}, {"affinityName": "b", "clusterNames": ["m2"]}]});
    assert_eq!(alone(moves(two)), [""; 0]);
    let labels = || json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"name": "m1"}}}});
    assert_eq!(alone(moves(labels())), [""; 0], "labels tell nothing without the fleet");
    let clusters = [cluster("m1", &[]), cluster("m2", &[])];
    let known = Known {
        clusters: Some(&clusters),
        ..Known::default()
    };
    assert_eq!(with(moves(labels()), &known), ["nowhere-to-go spec.placement"]);
    let nothing = json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"name": "m9"}}}});
    assert_eq!(
        with(moves(nothing), &known),
        ["target-matches-nothing spec.placement.clusterAffinity"]
    );
}

#[test]
fn old_spellings() {
    let old = propagation(&json!({"propagateDeps": true, "failover": {
        "application": {"decisionConditions": {}, "purgeMode": "Immediately"}, "cluster": {"purgeMode": "Graciously"},
    }}));
    let findings = lint(&[old], &Known::default());
    let fixes: Vec<&str> = findings.iter().map(|(_, finding)| finding.fix.as_str()).collect();
    assert_eq!(fixes, ["write Directly", "write Gracefully"]);
}

// karmada#7458, C96; karmada#7843, C97.
#[test]
fn applications_that_move() {
    let moves = json!({"application": {"decisionConditions": {}}});
    let deployment = json!([{"apiVersion": "apps/v1", "kind": "Deployment"}]);
    let policy = |deps: bool, selectors: &Value| {
        alone(propagation(
            &json!({"propagateDeps": deps, "failover": moves, "resourceSelectors": selectors}),
        ))
    };
    assert_eq!(policy(true, &deployment), [""; 0]);
    assert_eq!(
        policy(false, &deployment),
        ["dependencies-stay spec.failover.application"]
    );
    let kinds = json!([{"apiVersion": "apps/v1", "kind": "Deployment"}, {"apiVersion": "v1", "kind": "ConfigMap"}]);
    assert_eq!(policy(true, &kinds), ["no-health-rule spec.resourceSelectors[1].kind"]);
    let stays = propagation(&json!({"propagateDeps": false, "resourceSelectors": kinds}));
    assert_eq!(alone(stays), [""; 0]);
}

#[test]
fn codes_are_unique_and_read_as_they_are_written() {
    for code in Code::ALL {
        assert_eq!(code.as_str().parse::<Code>(), Ok(*code), "two codes are called {code}");
        assert!(!code.title().ends_with('.'), "{code}");
    }
    assert!("no-such-code".parse::<Code>().is_err());
}

proptest! {
    /// A finding of never and always says what the engine does with every status.
    #[test]
    fn never_and_always_are_the_engines(
        rule in prop::collection::vec((0..2_usize, 0..3_usize, prop::sample::subsequence(vec!["True", "False", "Unknown"], 1..=3)), 1..4)
    ) {
        let types = ["Ready", "DiskBroken"];
        let operators = ["In", "NotIn", "Like"];
        let wanted: Vec<Value> = rule.iter().map(|(t, o, values)| when(types[*t], operators[*o], values)).collect();
        let found = alone(taint_policy(&good(|s| s["matchConditions"] = json!(wanted))));
        let typed: Vec<api_types::taint_policy::MatchCondition> =
            wanted.iter().map(|w| serde_json::from_value(w.clone()).unwrap()).collect();
        let holds = |ready: &str, disk: &str| typed.iter().all(|w| {
            crate::taint_policy::condition_holds(w, if w.condition_type == "Ready" { ready } else { disk })
        });
        let statuses = ["True", "False", "Unknown"];
        let all: Vec<bool> = statuses.iter().flat_map(|ready| statuses.iter().map(|disk| holds(ready, disk))).collect();
        let says = |code: &str| found.iter().any(|f| f.starts_with(code));
        prop_assert_eq!(says("never-matches"), !all.contains(&true), "{:?} {:?}", wanted, found);
        prop_assert_eq!(says("always-matches"), !all.contains(&false), "{:?} {:?}", wanted, found);
    }
}
