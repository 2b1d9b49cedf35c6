//! What a review is answered, without any server.

use failover_core::lint::Known;
use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};
use webhook::{Answer, Hook, Verdict, answer};

use crate::scene::{pause, review};

fn known() -> Known<'static> {
    Known {
        now: Some("2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap()),
        ..Known::default()
    }
}

fn answered(hook: Hook, review: &Value) -> Answer {
    let answer = answer(hook, review.to_string().as_bytes(), &known()).unwrap();
    assert_eq!(answer.review["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(answer.review["kind"], "AdmissionReview");
    assert_eq!(answer.review["response"]["uid"], "u");
    answer
}

fn policy(namespace: &str) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "n", "namespace": "shop"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace}]},
    })
}

#[test]
fn a_refusal_says_what_is_wrong_where_and_what_to_do() {
    let hook = Hook::at("/validate/propagationpolicies.policy.karmada.io").unwrap();
    let answer = answered(hook, &review("CREATE", &policy("bank")));
    assert_eq!(answer.verdict, Verdict::Refused);
    let response = &answer.review["response"];
    assert_eq!(response["allowed"], false);
    assert_eq!(response["status"]["code"], 422);
    assert_eq!(response["status"]["reason"], "Invalid");
    assert_eq!(
        response["status"]["message"],
        "selector-elsewhere: spec.resourceSelectors[0].namespace: the policy is of namespace shop, and the selector asks for \
         bank: a PropagationPolicy reaches no further than its namespace, so the selector selects nothing; leave namespace \
         out, or write a policy there, or a ClusterPropagationPolicy"
    );
    let fine = answered(hook, &review("CREATE", &policy("shop")));
    assert_eq!(fine.verdict, Verdict::Allowed);
    assert_eq!(fine.review["response"], json!({"uid": "u", "allowed": true}));
}

#[test]
fn a_change_is_not_refused_for_what_was_there() {
    let hook = Hook::at("/validate/propagationpolicies.policy.karmada.io").unwrap();
    let mut change = review("UPDATE", &policy("bank"));
    change["request"]["oldObject"] = policy("bank");
    let answer = answered(hook, &change);
    assert_eq!(answer.verdict, Verdict::Warned);
    assert!(answer.words[0].starts_with("selector-elsewhere"), "{:?}", answer.words);
    change["request"]["oldObject"] = policy("shop");
    assert_eq!(answered(hook, &change).verdict, Verdict::Refused);
    change["request"]["oldObject"] = json!("what is this");
    assert_eq!(answered(hook, &change).verdict, Verdict::Refused);
}

#[rstest]
#[case::deleted(json!({"operation": "DELETE", "object": null}))]
#[case::connected(json!({"operation": "CONNECT"}))]
#[case::status(json!({"subResource": "status"}))]
#[case::on_its_way_out(json!({"object": {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}}))]
fn what_is_no_wish_is_let_through(#[case] change: Value) {
    let mut asked = review("UPDATE", &pause(&json!({"until": "2025-01-01T00:00:00Z"})));
    asked["request"]
        .as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    assert_eq!(answered(Hook::Pause, &asked).verdict, Verdict::Allowed);
}

#[test]
fn a_pause_without_an_end_is_told_so() {
    let mut endless = pause(&json!({}));
    endless["spec"].as_object_mut().unwrap().remove("until");
    let answer = answered(Hook::Pause, &review("CREATE", &endless));
    assert_eq!(answer.verdict, Verdict::Warned);
    let response = &answer.review["response"];
    assert_eq!(response["allowed"], true);
    let told = response["warnings"][0].as_str().unwrap();
    assert!(
        told.starts_with("pause-without-end: spec.until: the pause has no end"),
        "{told}"
    );
}

#[test]
fn an_object_of_a_newer_version_is_let_through_and_told() {
    let newer = pause(&json!({"until": {"hours": 3}}));
    let answer = answered(Hook::Pause, &review("CREATE", &newer));
    assert_eq!(answer.verdict, Verdict::Unreadable);
    assert_eq!(answer.review["response"]["allowed"], true);
    assert!(
        answer.words[0].starts_with("not looked at: this version of the webhook cannot read the object: "),
        "{:?}",
        answer.words
    );
}

#[test]
fn the_object_and_its_writer_are_named_for_the_log() {
    let mut asked = review("CREATE", &policy("bank"));
    asked["request"]["namespace"] = json!("shop");
    asked["request"]["name"] = json!("");
    asked["request"]["object"]["metadata"]["generateName"] = json!("web-");
    asked["request"]["userInfo"] = json!({"username": "eve\nINFO all is well"});
    let answer = answered(
        Hook::at("/validate/propagationpolicies.policy.karmada.io").unwrap(),
        &asked,
    );
    assert_eq!(answer.object, "shop/web-*");
    assert_eq!(answer.user, "eve INFO all is well", "a log has one line a decision");
}

#[rstest]
#[case::alone(json!({"zone": "a"}), Some(json!([
    {"op": "add", "path": "/spec/zones", "value": ["a"]}, {"op": "remove", "path": "/spec/zone"}])))]
#[case::again(json!({"zone": "a", "zones": ["a", "b"]}), Some(json!([{"op": "remove", "path": "/spec/zone"}])))]
#[case::new(json!({"zones": ["a"]}), None)]
#[case::at_odds(json!({"zone": "a", "zones": ["b"]}), None)]
fn a_zone_is_stored_as_zones(#[case] spec: Value, #[case] expected: Option<Value>) {
    let cluster = json!({"metadata": {"name": "m"}, "spec": spec});
    let answer = answered(Hook::Zones, &review("CREATE", &cluster));
    let response = &answer.review["response"];
    assert_eq!(response["allowed"], true);
    match expected {
        None => assert_eq!((answer.verdict, response.get("patch")), (Verdict::Allowed, None)),
        Some(expected) => {
            assert_eq!(answer.verdict, Verdict::Changed);
            assert_eq!(response["patchType"], "JSONPatch");
            let bytes: k8s_openapi::ByteString = serde_json::from_value(response["patch"].clone()).unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&bytes.0).unwrap(), expected);
        }
    }
}

#[rstest]
#[case::nothing(json!(null), "this is no AdmissionReview in JSON")]
#[case::another_kind(json!({"apiVersion": "v1", "kind": "Pod"}), "this is \"v1 Pod\", and only admission.k8s.io/v1")]
#[case::an_old_version(
    json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "u"}}),
    "this is \"admission.k8s.io/v1beta1 AdmissionReview\""
)]
#[case::no_request(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}), "the review has no request")]
#[case::no_uid(
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {}}),
    "the request has no uid"
)]
#[case::another_resource(
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "operation": "CREATE", "resource": {"group": "apps", "version": "v1", "resource": "deployments"}}}),
    "\"deployments.apps\" is asked about at the path of failoverpauses.failover.karmada.io: mend the rules"
)]
#[case::no_object(
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "operation": "CREATE", "object": null}}),
    "the request has no object"
)]
fn what_is_no_review_is_told_why(#[case] body: Value, #[case] expected: &str) {
    let error = answer(Hook::Pause, body.to_string().as_bytes(), &known()).unwrap_err();
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn what_is_no_json_is_told_why() {
    let error = answer(Hook::Pause, b"\xff{", &known()).unwrap_err();
    assert!(
        error.to_string().starts_with("this is no AdmissionReview in JSON: "),
        "{error}"
    );
    let deep = "[".repeat(100_000);
    assert!(answer(Hook::Pause, deep.as_bytes(), &known()).is_err());
}
