//! Which statuses of a condition satisfy conditions of a policy. Asked of the engine, status by status.

use api_types::taint_policy::MatchCondition;

use crate::taint_policy::condition_holds;

/// What a condition can say.
const STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// The condition types that are named, each once.
pub(super) fn types(conditions: &[MatchCondition]) -> Vec<&str> {
    let mut types: Vec<&str> = Vec::new();
    for condition in conditions {
        if !types.contains(&condition.condition_type.as_str()) {
            types.push(&condition.condition_type);
        }
    }
    types
}

/// The statuses of `type_` with which all conditions about it hold.
pub(super) fn statuses(conditions: &[MatchCondition], type_: &str) -> Vec<&'static str> {
    let about = |condition: &&MatchCondition| condition.condition_type == type_;
    STATUSES
        .into_iter()
        .filter(|status| {
            conditions
                .iter()
                .filter(about)
                .all(|condition| condition_holds(condition, status))
        })
        .collect()
}

/// Whether the conditions hold on every cluster that has the types they name, whatever it says.
pub(super) fn hold_whatever(conditions: &[MatchCondition]) -> bool {
    types(conditions)
        .into_iter()
        .all(|type_| statuses(conditions, type_).len() == STATUSES.len())
}

/// The first type whose conditions exclude each other.
pub(super) fn excluded(conditions: &[MatchCondition]) -> Option<&str> {
    types(conditions)
        .into_iter()
        .find(|type_| statuses(conditions, type_).is_empty())
}

/// Whether `then`, which must name something, holds on every cluster on which `when` does.
pub(super) fn implies(when: &[MatchCondition], then: &[MatchCondition]) -> bool {
    let named = |type_: &&str| types(when).contains(type_);
    !then.is_empty()
        && types(then).into_iter().all(|type_| {
            let allowed = statuses(then, type_);
            named(&type_) && statuses(when, type_).iter().all(|status| allowed.contains(status))
        })
}
