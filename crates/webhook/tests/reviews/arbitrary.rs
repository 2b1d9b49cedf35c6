//! Whatever comes: there is an answer with the same uid, or a reason why there is none.

use failover_core::admission::MAX_WARNING;
use failover_core::lint::Known;
use proptest::prelude::*;
use serde_json::{Value, json};
use webhook::{HOOKS, Verdict, answer};

use crate::scene::{pause, review};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "[a-z.]{1,12}/[a-z-]{1,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((known_word(), inner), 0..6).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Words of the objects that are looked at, so that what is made comes near to them.
fn known_word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "spec",
        "metadata",
        "name",
        "namespace",
        "annotations",
        "scope",
        "clusters",
        "until",
        "reason",
        "failover",
        "cluster",
        "application",
        "placement",
        "clusterAffinity",
        "clusterNames",
        "resourceSelectors",
        "apiVersion",
        "kind",
        "zone",
        "zones",
        "taintsToAdd",
        "taints",
        "key",
        "effect",
        "matchConditions",
        "statePreservation",
        "rules",
        "jsonPath",
        "failover.karmada.io/failover",
        "failover.karmada.io/stay",
        "failover.karmada.io/windows",
        "deletionTimestamp",
    ])
    .prop_map(str::to_owned)
}

fn judge(body: &[u8], uid: Option<&str>) -> Result<(), TestCaseError> {
    for (path, hook) in HOOKS {
        let Ok(answer) = answer(hook, body, &Known::default()) else {
            continue;
        };
        let response = &answer.review["response"];
        prop_assert!(uid.is_none_or(|uid| response["uid"] == uid), "{}: {}", path, response);
        prop_assert_eq!(response["allowed"].as_bool(), Some(answer.verdict != Verdict::Refused));
        let warnings = response["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
        for warning in warnings.iter().filter_map(Value::as_str) {
            prop_assert!(warning.chars().count() <= MAX_WARNING && !warning.chars().any(char::is_control));
        }
        prop_assert!(!answer.object.chars().chain(answer.user.chars()).any(char::is_control));
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes(body in prop::collection::vec(any::<u8>(), 0..200)) {
        judge(&body, None)?;
    }

    #[test]
    fn any_objects(operation in prop::sample::select(vec!["CREATE", "UPDATE", "DELETE", "", "?"]), object in any_json(), before in any_json()) {
        let mut asked = review(operation, &object);
        asked["request"]["oldObject"] = before;
        judge(asked.to_string().as_bytes(), Some("u"))?;
    }

    /// A good review with one part that is something else.
    #[test]
    fn any_part(part in prop::sample::select(vec![
        "/apiVersion", "/kind", "/request", "/request/uid", "/request/operation", "/request/object/spec",
        "/request/object/spec/until", "/request/object/spec/clusters", "/request/object/metadata", "/request/name",
        "/request/oldObject",
    ]), value in any_json()) {
        let mut asked = review("CREATE", &pause(&json!({"clusters": ["m1"], "scope": "Clusters"})));
        *asked.pointer_mut(part).unwrap() = value;
        judge(asked.to_string().as_bytes(), None)?;
    }
}
