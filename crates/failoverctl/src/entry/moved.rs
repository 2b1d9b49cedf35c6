//! What became of a lease.

use eviction_queue_api::v1;
use jiff::SignedDuration;
use serde::Serialize;

use super::{at, binding_key};
use crate::output::At;

/// Seconds from one time to a later one, both as they are shown: to the second. Objects keep no more of them, and a move is to be
/// told the same by its record and by the queue, which knows it to the millisecond.
#[must_use]
pub fn seconds_between(from: Option<At>, to: Option<At>) -> Option<f64> {
    let seconds = to?.0.as_second() - from?.0.as_second();
    (seconds >= 0).then(|| SignedDuration::from_secs(seconds).as_secs_f64())
}

/// What became of a lease, in a word.
#[must_use]
pub fn outcome_word(outcome: v1::Outcome) -> &'static str {
    match outcome {
        v1::Outcome::Evicted => "Evicted",
        v1::Outcome::NotNeeded => "NotNeeded",
        v1::Outcome::NoTarget => "NoTarget",
        v1::Outcome::Failed => "Failed",
        v1::Outcome::Wait => "Wait",
        v1::Outcome::Unspecified => "Lapsed",
    }
}

/// What became of one lease.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveView {
    /// `NAMESPACE/NAME`, or `NAME` of cluster scope.
    pub binding: String,
    /// The cluster that was to be left.
    pub cluster: String,
    /// Evicted, NotNeeded, NoTarget, Failed, Wait, or Lapsed.
    pub outcome: &'static str,
    /// One word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// `key:effect@timeAdded`, `deletion@time` or `application@unhealthySince`.
    pub cause: String,
    /// When it was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<At>,
    /// When it was released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_at: Option<At>,
    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<At>,
    /// Seconds from when it was due until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_after_due: Option<f64>,
    /// The evictor that worked on it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub consumer: String,
}

impl MoveView {
    /// From the queue's memory.
    #[must_use]
    pub fn of(outcome: &v1::RecentOutcome) -> Self {
        let key = outcome.key.clone().unwrap_or_default();
        Self {
            binding: binding_key(&key).to_string(),
            cluster: key.cluster,
            outcome: outcome_word(outcome.outcome()),
            reason: outcome.reason.clone(),
            message: outcome.message.clone(),
            cause: key.cause,
            due_at: at(outcome.due_at.as_ref()),
            released_at: at(outcome.released_at.as_ref()),
            ended_at: at(outcome.ended_at.as_ref()),
            seconds_after_due: seconds_between(at(outcome.due_at.as_ref()), at(outcome.ended_at.as_ref())),
            consumer: outcome.consumer.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The queue knows when something was due and when it ended to the millisecond, the FailoverRecord to the second.
    #[test]
    fn one_move_takes_as_long_by_the_queue_as_by_its_record() {
        let time = |text: &str| Some(At(text.parse().unwrap()));
        for (due, ended) in [
            ("2026-01-31T12:00:00.004Z", "2026-01-31T12:00:00.998Z"),
            ("2026-01-31T12:00:00.9Z", "2026-01-31T12:00:01.1Z"),
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:40.7Z"),
        ] {
            let recorded = |text: &str| time(&format!("{}Z", text.trim_end_matches('Z').split('.').next().unwrap()));
            assert_eq!(
                seconds_between(time(due), time(ended)),
                seconds_between(recorded(due), recorded(ended)),
                "{due} {ended}"
            );
        }
        assert_eq!(
            seconds_between(time("2026-01-31T12:00:01Z"), time("2026-01-31T12:00:00Z")),
            None
        );
    }
}
