//! What could not be interpreted, said where people look: in the condition `Interpreted` of Works and bindings.
//!
//! Guarantee: the condition is there only since something could not be interpreted, and says True when it was looked at since and could
//! be.

use std::sync::Arc;

use api_types::conditions::{self, Say};
use api_types::work::Work;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::binding::reconcile::cluster_of;
use crate::interpreter::InterpretError;
use crate::troubles::in_short;

/// Condition types beside those of the API.
pub mod condition {
    /// Whether the objects could be interpreted: their health, status, replicas and dependencies.
    pub const INTERPRETED: &str = "Interpreted";
}

/// Reason: the replicas of a template could not be counted.
pub const GET_REPLICAS: &str = "GetReplicasFailed";
/// Reason: what a template needs could not be told.
pub const GET_DEPENDENCIES: &str = "GetDependenciesFailed";
/// Reason: the statuses of the copies could not be made one.
pub const AGGREGATE_STATUS: &str = "AggregateStatusFailed";
/// Reason: whether a copy works could not be told.
pub const INTERPRET_HEALTH: &str = "InterpretHealthFailed";
/// Reason: the status of a copy could not be read.
pub const REFLECT_STATUS: &str = "ReflectStatusFailed";

/// Something that could not be interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// One word.
    pub reason: String,
    /// What is wrong.
    pub words: String,
}

impl Trouble {
    /// Of an error.
    #[must_use]
    pub fn new(reason: &str, error: &InterpretError) -> Self {
        Self {
            reason: reason.to_owned(),
            words: error.to_string(),
        }
    }
}

/// Says it. Returns whether that is news.
pub fn say(all: &mut Vec<Condition>, troubles: &[Trouble], now: Timestamp) -> bool {
    let said = conditions::get(all, condition::INTERPRETED);
    let message;
    let say = match (troubles, said) {
        ([], None) => return false,
        ([], Some(_)) => Say {
            type_: condition::INTERPRETED,
            status: "True",
            reason: "Interpreted",
            message: "",
        },
        ([first, others @ ..], _) => {
            message = match others.len() {
                0 => in_short(&first.words),
                more => format!("{}; and {more} more", in_short(&first.words)),
            };
            Say {
                type_: condition::INTERPRETED,
                status: "False",
                reason: &first.reason,
                message: &message,
            }
        }
    };
    conditions::set(all, say, None, now)
}

/// What is said of a binding's Works, each with its cluster.
pub fn of_works(works: &[Arc<Work>]) -> Vec<Trouble> {
    let of = |work: &Arc<Work>| {
        let said = conditions::get(&work.status.as_ref()?.conditions, condition::INTERPRETED)?;
        let cluster =
            cluster_of(work).filter(|_| said.status == "False" && work.metadata.deletion_timestamp.is_none())?;
        let words = format!("cluster {cluster}: {}", said.message);
        Some((cluster, said.reason.clone(), words))
    };
    let mut all: Vec<_> = works.iter().filter_map(of).collect();
    all.sort();
    let trouble = |(_, reason, words)| Trouble { reason, words };
    all.into_iter().map(trouble).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trouble(words: &str) -> Trouble {
        Trouble {
            reason: INTERPRET_HEALTH.to_owned(),
            words: words.to_owned(),
        }
    }

    #[test]
    fn it_is_said_since_something_was_wrong() {
        let (mut all, now) = (Vec::new(), Timestamp::UNIX_EPOCH);
        assert!(!say(&mut all, &[], now), "nothing is said of what is fine");
        assert!(all.is_empty());
        assert!(say(&mut all, &[trouble("line 1: broken")], now));
        assert!(!say(&mut all, &[trouble("line 1: broken")], now));
        assert!(say(&mut all, &[trouble("line 2: broken"), trouble("x")], now));
        assert_eq!(all[0].message, "line 2: broken; and 1 more");
        assert!(say(&mut all, &[], now));
        assert_eq!(
            (all[0].status.as_str(), all[0].reason.as_str()),
            ("True", "Interpreted")
        );
        assert!(!say(&mut all, &[], now));
    }

    #[test]
    fn of_works_those_that_stay_count() {
        let work = |cluster: &str, status: &str| -> Work {
            serde_json::from_value(
                json!({"metadata": {"namespace": format!("karmada-es-{cluster}"), "name": "w"}, "spec": {},
                "status": {"conditions": [{"type": "Interpreted", "status": status, "reason": "R", "message": "why",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}),
            )
            .unwrap()
        };
        let mut leaving = work("m0", "False");
        leaving.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
            Timestamp::UNIX_EPOCH,
        ));
        let works = [leaving, work("m3", "False"), work("m2", "False"), work("m1", "True")].map(Arc::new);
        let words: Vec<String> = of_works(&works).into_iter().map(|trouble| trouble.words).collect();
        assert_eq!(words, ["cluster m2: why", "cluster m3: why"]);
    }
}
