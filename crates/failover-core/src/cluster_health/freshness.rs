//! Whether what a member reported last still counts.
//!
//! A member that is away for a moment costs no write on each of its bindings, and neither does one whose copies have
//! left by then; nobody is told for longer than the grace that a copy works of which nobody knows. Whoever decides
//! something looks at the Cluster's Ready himself.
//!
//! One that comes back may have come back empty. What it reported before counts again when it is reported anew, or when
//! it has been back for so long that anything else would have been ([`SETTLES_IN`]): a report that says the same is not
//! written.

use std::time::Duration;

use api_types::cluster::{Cluster, condition};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// How long after a cluster is Ready what was reported before is taken for what is there, unless another report comes.
///
/// It covers what can make a report late: finding out which kinds the member serves (at most 15 s), reading an object of
/// it (`--member-object-timeout`, 10 s), and writing what was found. It is a bet all the same: a member that is Ready but
/// so overloaded that several of these time out in a row can lose it.
pub const SETTLES_IN: SignedDuration = SignedDuration::from_secs(30);

/// By how much clocks differ that are in order.
const CLOCKS_DIFFER_BY: SignedDuration = SignedDuration::from_secs(10);

/// Whether what a member reported last still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The cluster is Ready, and has been for a while: it does.
    Fresh,
    /// The cluster is Ready again: only what was reported since does.
    Returned {
        /// Since when it is Ready.
        since: Timestamp,
        /// When what has not been reported otherwise counts again.
        until: Timestamp,
    },
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
    let Some(ready) = cluster.condition(condition::READY) else {
        return Freshness::Stale;
    };
    if cluster.is_ready() {
        let since = ready.last_transition_time.0;
        let until = since.saturating_add(SETTLES_IN).unwrap_or(Timestamp::MAX);
        // A time that lies ahead by more than clocks differ was written before a clock was set back: it says nothing.
        let is_ahead = since.duration_since(now) > CLOCKS_DIFFER_BY;
        return if now < until && !is_ahead {
            Freshness::Returned { since, until }
        } else {
            Freshness::Fresh
        };
    }
    let until = SignedDuration::try_from(grace)
        .ok()
        .and_then(|grace| ready.last_transition_time.0.saturating_add(grace).ok());
    match until {
        Some(until) if now < until => Freshness::Kept { until },
        _ => Freshness::Stale,
    }
}

/// Whether what was collected of a Ready cluster then is known of it as it is now. Of a report without a time (stock's)
/// nobody can tell, and it counts.
///
/// # Errors
/// When it counts again unless another report comes.
pub fn is_of_this_stay(cluster: &Cluster, collected_at: Option<&Time>, now: Timestamp) -> Result<(), Timestamp> {
    match (freshness(Some(cluster), Duration::ZERO, now), collected_at) {
        (Freshness::Returned { since, until }, Some(collected)) if collected.0 < since => Err(until),
        _ => Ok(()),
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
    #[case::settled(ready("True"), 130, Freshness::Fresh)]
    #[case::before_the_clock_was_set_back(ready("True"), 89, Freshness::Fresh)]
    #[case::by_a_clock_that_is_a_little_behind(
        ready("True"), 90,
        Freshness::Returned { since: Timestamp::from_second(100).unwrap(), until: Timestamp::from_second(130).unwrap() }
    )]
    #[case::just_back(
        ready("True"), 129,
        Freshness::Returned { since: Timestamp::from_second(100).unwrap(), until: Timestamp::from_second(130).unwrap() }
    )]
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

    #[rstest]
    #[case::before_it_was_away(Some(99), 129, Err(130))]
    #[case::since_it_is_back(Some(100), 101, Ok(()))]
    #[case::not_reported_otherwise_for_a_while(Some(99), 130, Ok(()))]
    #[case::nobody_knows_when(None, 101, Ok(()))]
    fn reports_of_this_stay(#[case] collected: Option<i64>, #[case] now: i64, #[case] expected: Result<(), i64>) {
        let cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}, "status": {"conditions": ready("True")},
        }))
        .unwrap();
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let collected = collected.map(|second| Time(at(second)));
        assert_eq!(
            is_of_this_stay(&cluster, collected.as_ref(), at(now)),
            expected.map_err(at)
        );
    }
}
