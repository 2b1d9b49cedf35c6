//! Whether what a member reported last still counts.
//!
//! A member that is away for a moment costs no write on each of its bindings, and neither does one whose copies have
//! left by then; nobody is told for longer than the grace that a copy works of which nobody knows. Whoever decides
//! something looks at the Cluster's Ready himself.

use std::time::Duration;

use api_types::cluster::{Cluster, condition};
use jiff::{SignedDuration, Timestamp};

/// Whether what a member reported last still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The cluster is Ready: it does.
    Fresh,
    /// The cluster has not been Ready for less than the grace: what was said stays as it is until then.
    Kept {
        /// When the grace ends.
        until: Timestamp,
    },
    /// Nobody knows.
    Stale,
}

/// What is to be thought of reports of `cluster`, which does not exist when absent.
#[must_use]
pub fn freshness(cluster: Option<&Cluster>, grace: Duration, now: Timestamp) -> Freshness {
    let Some(cluster) = cluster else {
        return Freshness::Stale;
    };
    if cluster.is_ready() {
        return Freshness::Fresh;
    }
    let Some(ready) = cluster.condition(condition::READY) else {
        return Freshness::Stale;
    };
    let until = SignedDuration::try_from(grace)
        .ok()
        .and_then(|grace| ready.last_transition_time.0.saturating_add(grace).ok());
    match until {
        Some(until) if now < until => Freshness::Kept { until },
        _ => Freshness::Stale,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn ready(status: &str) -> Value {
        json!([{"type": "Ready", "status": status, "reason": "R", "message": "", "lastTransitionTime": "1970-01-01T00:01:40Z"}])
    }

    #[rstest]
    #[case::ready(ready("True"), 9_999, Freshness::Fresh)]
    #[case::for_a_moment(ready("False"), 129, Freshness::Kept { until: Timestamp::from_second(130).unwrap() })]
    #[case::for_the_grace(ready("False"), 130, Freshness::Stale)]
    #[case::not_heard_of(ready("Unknown"), 129, Freshness::Kept { until: Timestamp::from_second(130).unwrap() })]
    #[case::never_reported(json!([]), 1, Freshness::Stale)]
    fn reports(#[case] conditions: Value, #[case] now: i64, #[case] expected: Freshness) {
        let cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}, "status": {"conditions": conditions},
        }))
        .unwrap();
        let now = Timestamp::from_second(now).unwrap();
        assert_eq!(freshness(Some(&cluster), Duration::from_secs(30), now), expected);
        assert_eq!(freshness(None, Duration::from_secs(30), now), Freshness::Stale);
    }
}
