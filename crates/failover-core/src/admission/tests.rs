//! What is refused, what is told, and what is let through without a word.

use api_types::cluster::Cluster;
use api_types::policy::PolicyKind;
use jiff::Timestamp;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn policy(spec: &Value) -> Subject {
    let mut whole = json!({"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}]});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let policy = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": whole});
    Subject::Propagation(
        PolicyKind::Namespaced,
        Box::new(serde_json::from_value(policy).unwrap()),
    )
}

fn pause(spec: &Value, created: Option<&str>) -> Subject {
    let mut whole = json!({"scope": "All", "reason": "maintenance"});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let pause = json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause",
        "metadata": {"name": "p", "creationTimestamp": created}, "spec": whole,
    });
    Subject::Pause(Box::new(serde_json::from_value(pause).unwrap()))
}

fn binding(stay: &str) -> Subject {
    let binding = json!({
        "metadata": {"name": "web-deployment", "namespace": "shop", "annotations": {"failover.karmada.io/stay": stay}},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    });
    Subject::Binding(Box::new(serde_json::from_value(binding).unwrap()))
}

fn cluster(name: &str) -> Cluster {
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"syncMode": "Push"}})).unwrap()
}

fn now() -> Known<'static> {
    Known {
        now: Some("2026-01-01T12:00:00Z".parse::<Timestamp>().unwrap()),
        ..Known::default()
    }
}

fn codes(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| format!("{} {}", finding.code, finding.field))
        .collect()
}

fn refused(subject: &Subject) -> Vec<String> {
    codes(&decide(subject, None, &now()).refused)
}

fn warned(subject: &Subject, known: &Known<'_>) -> Vec<String> {
    let decision = decide(subject, None, known);
    assert_eq!(codes(&decision.refused), [""; 0]);
    codes(&decision.warned)
}

fn preserving(rules: &Value) -> Value {
    json!({"propagateDeps": true, "failover": {"application": {
        "decisionConditions": {}, "purgeMode": "Directly", "statePreservation": {"rules": rules}}}})
}

#[rstest]
#[case::as_it_should_be(json!({}), &[])]
#[case::elsewhere(
    json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "Secret"}, {"apiVersion": "v1", "kind": "Secret", "namespace": "bank"}]}),
    &["selector-elsewhere spec.resourceSelectors[1].namespace"]
)]
#[case::its_own(json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "Secret", "namespace": "shop"}]}), &[])]
#[case::templates(
    json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "Secret", "labelSelector": {"matchExpressions": [
        {"key": "app", "operator": "In"}]}}]}),
    &["unreadable-selector spec.resourceSelectors[0].labelSelector"]
)]
#[case::clusters(
    json!({"placement": {"clusterAffinities": [
        {"affinityName": "a", "labelSelector": {"matchLabels": {"a/b/c": "d"}}}, {"affinityName": "b"}]}}),
    &["unreadable-selector spec.placement.clusterAffinities[0]"]
)]
#[case::twins(
    json!({"placement": {"clusterAffinities": [{"affinityName": "a"}, {"affinityName": "b"}, {"affinityName": "a"}]}}),
    &["twin-groups spec.placement.clusterAffinities[2].affinityName"]
)]
#[case::contradicting_spread(
    json!({"placement": {"spreadConstraints": [
        {"spreadByField": "region", "minGroups": 2, "maxGroups": 2}, {"spreadByField": "cluster", "minGroups": 3, "maxGroups": 2}]}}),
    &["contradicting-spread spec.placement.spreadConstraints[1].maxGroups"]
)]
#[case::path(
    preserving(&json!([{"aliasLabelName": "jobs", "jsonPath": "{.replicas}"}, {"aliasLabelName": "x", "jsonPath": "{.replicas"}])),
    &["unreadable-path spec.failover.application.statePreservation.rules[1].jsonPath"]
)]
#[case::label(
    preserving(&json!([{"aliasLabelName": "a label", "jsonPath": "{.replicas}"}])),
    &["bad-label spec.failover.application.statePreservation.rules[0].aliasLabelName"]
)]
#[case::one_label_twice(
    preserving(&json!([{"aliasLabelName": "a", "jsonPath": "{.replicas}"}, {"aliasLabelName": "a", "jsonPath": "{.phase}"}])),
    &["bad-label spec.failover.application.statePreservation.rules[1].aliasLabelName"]
)]
#[case::of_the_cluster_too(
    json!({"failover": {"cluster": {"statePreservation": {"rules": [{"aliasLabelName": "a", "jsonPath": "{"}]}}}}),
    &["unreadable-path spec.failover.cluster.statePreservation.rules[0].jsonPath"]
)]
fn policies_that_can_never_work_are_refused(#[case] spec: Value, #[case] expected: &[&str]) {
    assert_eq!(refused(&policy(&spec)), expected);
}

#[test]
fn a_namespace_that_nobody_said_is_none_to_differ_from() {
    let Subject::Propagation(_, mut unsaid) = policy(&json!({"resourceSelectors": [
        {"apiVersion": "v1", "kind": "Secret", "namespace": "bank"}]}))
    else {
        unreachable!()
    };
    unsaid.metadata.namespace = None;
    assert_eq!(refused(&Subject::Propagation(PolicyKind::Cluster, unsaid)), [""; 0]);
}

#[test]
fn a_taint_policy_for_which_nothing_can_be_done_is_refused() {
    let of = |spec: Value| {
        let policy = json!({"metadata": {"name": "p"}, "spec": spec});
        Subject::TaintPolicy(Box::new(serde_json::from_value(policy).unwrap()))
    };
    let taint = || json!([{"key": "k", "effect": "NoSchedule"}]);
    let target = json!({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}});
    let ready = || json!([{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}]);
    let senseless = of(json!({"targetCluster": target, "matchConditions": ready(), "taintsToAdd": taint()}));
    assert_eq!(refused(&senseless), ["invalid spec"]);
    let both = of(json!({"matchConditions": ready(), "taintsToAdd": taint(), "addOnConditions": ready()}));
    assert_eq!(refused(&both), ["two-forms spec"]);
    let never = json!([ready()[0], {"conditionType": "Ready", "operator": "In", "statusValues": ["Unknown"]}]);
    let idle = of(json!({"matchConditions": never, "taintsToAdd": taint()}));
    assert_eq!(
        warned(&idle, &now()),
        ["never-matches spec.matchConditions"],
        "it harms nobody, and may be a draft"
    );
}

// karmada#7458, C96.
#[test]
fn what_is_doubtful_is_told() {
    let moves = policy(&json!({"failover": {"application": {"decisionConditions": {}}}}));
    assert_eq!(warned(&moves, &now()), ["dependencies-stay spec.failover.application"]);
    let old = policy(&json!({"failover": {"cluster": {"purgeMode": "Graciously"}}}));
    assert_eq!(warned(&old, &now()), [""; 0], "a note is not told");
    let clusters = [cluster("member1")];
    let known = Known {
        clusters: Some(&clusters),
        ..now()
    };
    let misspelt = policy(&json!({"placement": {"clusterAffinity": {"clusterNames": ["member1", "membr1"]}}}));
    assert_eq!(
        warned(&misspelt, &known),
        ["no-such-cluster spec.placement.clusterAffinity.clusterNames[1]"]
    );
}

// C38 (karmada#4952): whoever expects a NoSchedule taint to be tolerated for a time is told at once.
#[test]
fn a_time_that_says_nothing_is_told() {
    let tolerating = policy(&json!({"placement": {"clusterTolerations": [
        {"key": "k", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 0}]}}));
    assert_eq!(
        warned(&tolerating, &now()),
        ["toleration-seconds-ignored spec.placement.clusterTolerations[0].tolerationSeconds"]
    );
}

#[rstest]
#[case::over(json!({"until": "2026-01-01T11:59:59Z"}), &["pause-in-vain spec"])]
#[case::now(json!({"until": "2026-01-01T12:00:00Z"}), &["pause-in-vain spec"])]
#[case::to_come(json!({"until": "2026-01-01T12:00:01Z"}), &[])]
#[case::blank(json!({"scope": "Clusters", "clusters": [" "]}), &["pause-in-vain spec"])]
fn a_pause_that_holds_nothing_is_refused(#[case] spec: Value, #[case] expected: &[&str]) {
    assert_eq!(refused(&pause(&spec, None)), expected);
}

#[test]
fn a_pause_may_be_ended_by_its_time() {
    let created = Some("2026-01-01T10:00:00Z");
    let before = pause(&json!({"until": "2026-01-01T20:00:00Z"}), created);
    let ended = pause(&json!({"until": "2026-01-01T11:00:00Z"}), created);
    assert_eq!(decide(&ended, Some(&before), &now()), Decision::default());
}

#[test]
fn a_pause_is_told_what_it_may_have_missed() {
    assert_eq!(
        warned(&pause(&json!({}), None), &now()),
        ["pause-without-end spec.until"]
    );
    let some = pause(&json!({"scope": "Clusters", "clusters": ["member1", "membr2"]}), None);
    assert_eq!(warned(&some, &now()), [""; 0], "nobody knows the clusters");
    let clusters = [cluster("member1"), cluster("member2")];
    let known = Known {
        clusters: Some(&clusters),
        ..now()
    };
    let decision = decide(&some, None, &known);
    assert_eq!(codes(&decision.warned), ["no-such-cluster spec.clusters[1]"]);
    assert_eq!(
        warnings(&decision.warned),
        [
            "no-such-cluster: spec.clusters[1]: there is no cluster membr2: nothing is held back by this name until a cluster \
          has joined by it; did you mean member2?"
        ]
    );
}

#[rstest]
#[case("", &[])]
#[case(r#"[{"cluster": "m1"}]"#, &[])]
#[case(r#"[{"cluster": "m1", "verdict": "k:NoExecute@2026-01-01T00:00:00Z"}]"#, &[])]
#[case("m1", &["unreadable-annotation metadata.annotations[failover.karmada.io/stay]"])]
#[case(r#"{"cluster": "m1"}"#, &["unreadable-annotation metadata.annotations[failover.karmada.io/stay]"])]
fn a_stay_that_cannot_be_read_is_refused(#[case] stay: &str, #[case] expected: &[&str]) {
    assert_eq!(refused(&binding(stay)), expected);
}

/// An object that came in before there was a webhook can still be changed.
#[test]
fn what_stood_before_is_no_reason_to_refuse_a_change() {
    let broken = |path: &str, mode: &str| {
        let mut spec = preserving(&json!([{"aliasLabelName": "a", "jsonPath": path}]));
        spec["failover"]["application"]["purgeMode"] = json!(mode);
        policy(&spec)
    };
    let decision = decide(&broken("{", "Gracefully"), Some(&broken("{", "Directly")), &now());
    assert_eq!(codes(&decision.refused), [""; 0]);
    assert_eq!(
        codes(&decision.warned),
        ["unreadable-path spec.failover.application.statePreservation.rules[0].jsonPath"],
        "it is still told"
    );
    let worse = decide(&broken("{.a", "Directly"), Some(&broken("{", "Directly")), &now());
    let of_another = decide(&broken("{", "Directly"), Some(&policy(&json!({}))), &now());
    assert_eq!(of_another.refused.len(), 1);
    assert!(worse.refused.len() <= 1, "{worse:?}");
}

#[rstest]
#[case::none(json!({}), None)]
#[case::empty(json!({"zone": ""}), None)]
#[case::alone(json!({"zone": "a"}), Some(ZoneChange::Moved("a".to_owned())))]
#[case::beside_nothing(json!({"zone": "a", "zones": []}), Some(ZoneChange::Moved("a".to_owned())))]
#[case::beside_null(json!({"zone": "a", "zones": null}), Some(ZoneChange::Moved("a".to_owned())))]
#[case::again(json!({"zone": "a", "zones": ["b", "a"]}), Some(ZoneChange::Dropped))]
#[case::at_odds(json!({"zone": "a", "zones": ["b"]}), None)]
#[case::no_list(json!({"zone": "a", "zones": "a"}), None)]
#[case::no_text(json!({"zone": 1}), None)]
fn zones(#[case] spec: Value, #[case] expected: Option<ZoneChange>) {
    assert_eq!(zone_change(&json!({"spec": spec})), expected);
    assert_eq!(zone_change(&spec), None, "without a spec");
}

fn finding(what: &str, why: &str) -> Finding {
    Finding::new(Code::Invalid, "spec", what, why, "mend it")
}

#[test]
fn long_texts_lose_their_reason_first() {
    assert_eq!(
        warnings(&[finding("it is", "so")]),
        ["invalid: spec: it is: so; mend it"]
    );
    assert_eq!(
        warnings(&[finding("it is", &"x".repeat(300))]),
        ["invalid: spec: it is; mend it"]
    );
    let cut = &warnings(&[finding(&"ä".repeat(300), "so")])[0];
    assert_eq!(cut.chars().count(), MAX_WARNING);
    assert!(cut.ends_with("ä..."));
    let many: Vec<Finding> = (0..20).map(|_| finding("a", "b")).collect();
    let told = warnings(&many);
    assert_eq!(told.len(), MAX_WARNINGS + 1);
    assert_eq!(told[MAX_WARNINGS], "and 8 more: failoverctl lint FILE shows all");
    assert!(refusal(&many).ends_with(". And 12 more"));
    assert_eq!(refusal(&[]), "");
}

proptest! {
    /// Whatever somebody writes into an object, what is said of it is a line of bounded length.
    #[test]
    fn words_are_one_line_each(texts in prop::collection::vec(".*", 0..20)) {
        let findings: Vec<Finding> = texts.iter().map(|text| finding(text, text)).collect();
        for line in warnings(&findings) {
            prop_assert!(line.chars().count() <= MAX_WARNING && !line.chars().any(char::is_control), "{line:?}");
        }
        prop_assert!(!refusal(&findings).chars().any(char::is_control));
    }

    /// Refused is what is new: nothing is refused of an object that takes its own place.
    #[test]
    fn an_object_may_always_stay_as_it_is(path in ".{0,12}", label in ".{1,12}", until in 0..86_400_i64) {
        let until = Timestamp::from_second(1_767_225_600 + until).unwrap().to_string();
        let objects = [
            policy(&preserving(&json!([{"aliasLabelName": label, "jsonPath": path}]))),
            pause(&json!({"until": until}), Some("2026-01-01T06:00:00Z")),
            binding(&path),
        ];
        for object in objects {
            prop_assert_eq!(codes(&decide(&object, Some(&object), &now()).refused), Vec::<String>::new());
        }
    }
}
