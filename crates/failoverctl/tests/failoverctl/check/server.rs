//! What is seen of the API server itself.

use std::collections::BTreeMap;

use failoverctl::check::facts::Trial;
use failoverctl::check::verdict::State;
use failoverctl::check::{Code, check};
use failoverctl::controllers::Mode;

use super::{Row, narrowed, standalone};
use crate::objects::{after, lease, lease_in_mode};

pub const STANDALONE: &[Row] = &[
    (Code::Kinds, |_| {}, State::Fine),
    (
        Code::Kinds,
        |facts| drop(facts.served.as_mut().unwrap().remove("failover.karmada.io/v1alpha1")),
        State::Problem,
    ),
    (Code::Kinds, |facts| facts.served = Ok(BTreeMap::new()), State::Problem),
    (
        Code::Kinds,
        |facts| facts.served = Err("refused".to_owned()),
        State::NotSeen,
    ),
    (Code::Mode, |_| {}, State::Fine),
    (Code::Mode, |facts| facts.meant = Some(Mode::Beside), State::Problem),
    (Code::Mode, |facts| facts.mode = Mode::Unknown, State::NotSeen),
    (
        Code::Mode,
        |facts| facts.leases = Ok(vec![lease_in_mode("taint-manager", "standalone")]),
        State::Fine,
    ),
    (
        Code::Mode,
        |facts| facts.leases = Ok(vec![lease_in_mode("taint-manager", "beside")]),
        State::Problem,
    ),
    // Whoever may not know what it is sees all the same that the two cannot both be right.
    (
        Code::Mode,
        |facts| {
            facts.mode = Mode::Unknown;
            let (manager, graceful) = ("taint-manager", "graceful-eviction");
            facts.leases = Ok(vec![
                lease_in_mode(manager, "beside"),
                lease_in_mode(graceful, "standalone"),
            ]);
        },
        State::Problem,
    ),
    (Code::Fields, |_| {}, State::Fine),
    (
        Code::Fields,
        |facts| facts.schemas = narrowed(facts.schemas.clone()),
        State::Problem,
    ),
    (Code::Annotations, |_| {}, State::Fine),
    (
        Code::Annotations,
        |facts| facts.unreadable = Ok(vec!["Cluster m1: no JSON".to_owned()]),
        State::Problem,
    ),
    (Code::PreferNoExecute, |_| {}, State::Fine),
    (
        Code::PreferNoExecute,
        |facts| facts.schemas = narrowed(facts.schemas.clone()),
        State::Problem,
    ),
    (Code::NoExecutePolicies, |_| {}, State::Fine),
    (
        Code::NoExecutePolicies,
        |facts| facts.no_execute_policy = Ok(Trial::Refused("not allowed".to_owned())),
        State::Problem,
    ),
    (Code::Clock, |_| {}, State::Fine),
    (Code::Clock, |facts| facts.server_time = Ok(after(-5)), State::Note),
    (Code::Clock, |facts| facts.server_time = Ok(after(11)), State::Problem),
    (
        Code::Clock,
        |facts| facts.leases = Ok(vec![lease("evictor", 12, "")]),
        State::Problem,
    ),
];

pub const BESIDE: &[Row] = &[
    (
        Code::Mode,
        |facts| facts.leases = Ok(vec![lease_in_mode("taint-manager", "beside")]),
        State::Fine,
    ),
    (
        Code::Mode,
        |facts| facts.leases = Ok(vec![lease_in_mode("taint-manager", "standalone")]),
        State::Problem,
    ),
    (Code::Fields, |_| {}, State::Fine),
    // What was not seen is not said to be kept.
    (
        Code::Fields,
        |facts| {
            let unseen = Err("refused".to_owned());
            drop(facts.schemas.insert("work.karmada.io/v1alpha2".to_owned(), unseen));
        },
        State::NotSeen,
    ),
    (Code::PreferNoExecute, |_| {}, State::Fine),
];

/// CRDs of an older version of ours may know a field in part.
#[tokio::test(start_paused = true)]
async fn a_part_of_a_field_that_is_dropped_is_named() {
    let mut facts = standalone().await;
    let document = facts
        .schemas
        .get_mut("policy.karmada.io/v1alpha1")
        .unwrap()
        .as_mut()
        .unwrap();
    let mut removed = 0;
    for schema in document["components"]["schemas"].as_object_mut().unwrap().values_mut() {
        let taint = schema.pointer_mut("/properties/spec/properties/taintsToAdd/items/properties");
        if let Some(taint) = taint {
            removed += usize::from(
                taint
                    .as_object_mut()
                    .unwrap()
                    .remove("removeOnMismatchSeconds")
                    .is_some(),
            );
        }
    }
    assert_eq!(removed, 1);
    let verdict = check(Code::Fields, &facts);
    assert_eq!(verdict.state, State::Problem);
    assert_eq!(
        verdict.details,
        ["ClusterTaintPolicy spec.taintsToAdd.removeOnMismatchSeconds"]
    );
}
