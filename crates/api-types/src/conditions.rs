//! Conditions by the Kubernetes API conventions: one per type, `lastTransitionTime` moves only with `status`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

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
}
