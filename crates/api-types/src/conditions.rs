//! Conditions by the Kubernetes API conventions: one per type, `lastTransitionTime` moves only with `status`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// What a writer says in one condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Say<'a> {
    /// Condition type.
    pub type_: &'a str,
    /// `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// One word in CamelCase.
    pub reason: &'a str,
    /// A sentence for people.
    pub message: &'a str,
}

/// Puts `say` into `conditions`. Returns whether anything changed: if not, there is nothing to write.
pub fn set(
    conditions: &mut Vec<Condition>,
    say: Say<'_>,
    observed_generation: Option<i64>,
    now: jiff::Timestamp,
) -> bool {
    let fresh = |last_transition_time| Condition {
        type_: say.type_.to_owned(),
        status: say.status.to_owned(),
        reason: say.reason.to_owned(),
        message: say.message.to_owned(),
        observed_generation,
        last_transition_time,
    };
    match conditions.iter_mut().find(|c| c.type_ == say.type_) {
        None => {
            conditions.push(fresh(Time(now)));
            true
        }
        Some(existing) => {
            let since = if existing.status == say.status {
                existing.last_transition_time.clone()
            } else {
                Time(now)
            };
            let wanted = fresh(since);
            let changed = *existing != wanted;
            *existing = wanted;
            changed
        }
    }
}

/// Reads conditions as others wrote them. Where no schema of ours stands before the store, a condition may lack anything
/// but its type, or say null, and its time may be no time: one such condition must not make a whole object unreadable.
/// Without a time it is as old as can be: 1970.
///
/// # Errors
/// When it is no list of conditions at all.
pub fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let written = Option::<Vec<Written>>::deserialize(deserializer)?;
    Ok(written.unwrap_or_default().into_iter().map(Condition::from).collect())
}

/// A condition of which only the type is sure.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    r#type: String,
    status: Option<String>,
    reason: Option<String>,
    message: Option<String>,
    observed_generation: Option<i64>,
    last_transition_time: Option<WrittenTime>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenTime {
    Time(Time),
    Nonsense(IgnoredAny),
}

impl From<Written> for Condition {
    fn from(written: Written) -> Self {
        let time = match written.last_transition_time {
            Some(WrittenTime::Time(time)) => time,
            Some(WrittenTime::Nonsense(IgnoredAny)) | None => Time(jiff::Timestamp::UNIX_EPOCH),
        };
        Self {
            type_: written.r#type,
            status: written.status.unwrap_or_default(),
            reason: written.reason.unwrap_or_default(),
            message: written.message.unwrap_or_default(),
            observed_generation: written.observed_generation,
            last_transition_time: time,
        }
    }
}

/// The condition of this type.
#[must_use]
pub fn get<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|c| c.type_ == type_)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let say = |status, reason| Say {
            type_: "Ready",
            status,
            reason,
            message: "",
        };
        let at = |s| jiff::Timestamp::from_second(s).unwrap();
        let mut conditions = Vec::new();
        assert!(set(&mut conditions, say("True", "A"), None, at(1)));
        assert!(
            !set(&mut conditions, say("True", "A"), None, at(2)),
            "the same again is no change"
        );
        assert!(set(&mut conditions, say("True", "B"), None, at(3)));
        assert_eq!(conditions[0].last_transition_time, Time(at(1)));
        assert!(set(&mut conditions, say("False", "B"), None, at(4)));
        assert_eq!(conditions[0].last_transition_time, Time(at(4)));
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn what_others_left_out_is_no_error() {
        let status = |conditions: serde_json::Value| -> Result<crate::cluster::ClusterStatus, _> {
            serde_json::from_value(serde_json::json!({ "conditions": conditions }))
        };
        let time = "2026-01-01T00:00:00Z";
        let read = status(serde_json::json!([
            {"type": "A"},
            {"type": "B", "status": null, "reason": null, "message": null, "lastTransitionTime": null},
            {"type": "C", "status": "True", "lastTransitionTime": "yesterday"},
            {"type": "D", "status": "True", "lastTransitionTime": 5},
            {"type": "E", "status": "True", "reason": "R", "message": "m", "observedGeneration": 7, "lastTransitionTime": time},
        ]))
        .unwrap()
        .conditions;
        let times: Vec<i64> = read.iter().map(|c| c.last_transition_time.0.as_second()).collect();
        assert_eq!(times, [0, 0, 0, 0, 1_767_225_600]);
        assert_eq!((read[1].status.as_str(), read[2].status.as_str()), ("", "True"));
        assert_eq!((read[4].reason.as_str(), read[4].observed_generation), ("R", Some(7)));
        assert!(status(serde_json::json!(null)).unwrap().conditions.is_empty());
        status(serde_json::json!([{"status": "True"}])).expect_err("a condition has a type");
    }
}
