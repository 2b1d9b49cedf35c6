//! When the Ready condition follows what probes see.
//!
//! Guarantees: the condition crosses between True and not-True only after every observation of the last *threshold*
//! said so; each contrary observation starts the time anew. What held is known to this process only: after a restart
//! the time starts with the first observation, so that one never flips a stored condition by itself. A cluster of
//! which nobody has said anything yet has nothing to contradict: its first observation is taken as it is.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::probe::Observation;
use super::words;

/// How long an observation must hold before the condition follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// To become True. Default 30 s (`--cluster-success-threshold`).
    pub success: Duration,
    /// To become not True. Default 30 s (`--cluster-failure-threshold`).
    pub failure: Duration,
}

/// What the stored Ready condition says, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredReady {
    /// No condition, or one that says that nobody has looked yet.
    NeverObserved,
    /// True.
    True,
    /// False or Unknown.
    NotTrue,
}

impl From<Option<&Condition>> for StoredReady {
    fn from(condition: Option<&Condition>) -> Self {
        match condition {
            None => Self::NeverObserved,
            Some(c) if c.status == "True" => Self::True,
            Some(c) if c.status == "Unknown" && c.reason == words::NEVER_UPDATED => Self::NeverObserved,
            Some(_) => Self::NotTrue,
        }
    }
}

/// What this process remembers of a cluster between observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Whether the member was healthy at the last observation.
    healthy: bool,
    /// Since when it was so at every observation, on this process's monotonic time line.
    since: Duration,
}

/// Whether the condition follows the observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The condition is to say what the observation says.
    Follow,
    /// The stored condition stays.
    Keep {
        /// The condition follows if the observation still holds after this time; look again then.
        settles_in: Duration,
    },
}

/// The outcome of one observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// To be given to the next step.
    pub memory: Memory,
    /// What to do with the condition.
    pub verdict: Verdict,
    /// For how long the observation has held now.
    pub held_for: Duration,
}

/// Takes one observation in. `now` is the time since any fixed moment of this process, never a wall clock.
#[must_use]
pub fn step(
    memory: Option<Memory>,
    observation: &Observation,
    stored: StoredReady,
    thresholds: &Thresholds,
    now: Duration,
) -> Step {
    let healthy = observation.is_healthy();
    let since = memory.filter(|m| m.healthy == healthy).map_or(now, |m| m.since);
    let held_for = now.saturating_sub(since);
    let threshold = if healthy {
        thresholds.success
    } else {
        thresholds.failure
    };
    let crosses = match stored {
        StoredReady::NeverObserved => false,
        StoredReady::True => !healthy,
        StoredReady::NotTrue => healthy,
    };
    let verdict = if !crosses || held_for >= threshold {
        Verdict::Follow
    } else {
        Verdict::Keep {
            settles_in: threshold.saturating_sub(held_for),
        }
    };
    Step {
        memory: Memory { healthy, since },
        verdict,
        held_for,
    }
}

/// A change of Ready's status, worth an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Reason of the event: `ClusterReady`, `ClusterNotReady` or `ClusterUnknown`.
    pub event_reason: &'static str,
    /// Whether it is bad news.
    pub is_warning: bool,
}

/// What to tell when Ready goes from `before` (absent: never written) to `after`; nothing when it stays.
#[must_use]
pub fn transition(before: Option<&str>, after: &str) -> Option<Settled> {
    if before == Some(after) {
        return None;
    }
    Some(match after {
        "True" => Settled {
            event_reason: words::READY,
            is_warning: false,
        },
        "False" => Settled {
            event_reason: words::NOT_READY,
            is_warning: true,
        },
        _ => Settled {
            event_reason: words::EVENT_UNKNOWN,
            is_warning: true,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::probe::{ProbeAnswer, after_healthz, cannot_connect};
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    const THRESHOLDS: Thresholds = Thresholds {
        success: Duration::from_secs(30),
        failure: Duration::from_secs(30),
    };

    fn seen(healthy: bool) -> Observation {
        after_healthz(&ProbeAnswer::Http {
            code: if healthy { 200 } else { 500 },
            body: String::new(),
        })
    }

    /// Drives the machine as the controller does, with the stored condition following its verdicts.
    struct Cluster {
        memory: Option<Memory>,
        stored: StoredReady,
        flips: u32,
    }

    impl Cluster {
        fn stored(stored: StoredReady) -> Self {
            Self {
                memory: None,
                stored,
                flips: 0,
            }
        }
        fn observe(&mut self, observation: &Observation, at: u64) {
            let out = step(
                self.memory,
                observation,
                self.stored,
                &THRESHOLDS,
                Duration::from_secs(at),
            );
            self.memory = Some(out.memory);
            if out.verdict == Verdict::Follow {
                let now = if observation.is_healthy() {
                    StoredReady::True
                } else {
                    StoredReady::NotTrue
                };
                self.flips += u32::from(self.stored != now);
                self.stored = now;
            }
        }
    }

    #[rstest]
    #[case::never_seen_healthy(StoredReady::NeverObserved, true, Verdict::Follow)]
    #[case::never_seen_failing(StoredReady::NeverObserved, false, Verdict::Follow)]
    #[case::restart_contradicts_true(StoredReady::True, false, Verdict::Keep { settles_in: Duration::from_secs(30) })]
    #[case::restart_contradicts_false(StoredReady::NotTrue, true, Verdict::Keep { settles_in: Duration::from_secs(30) })]
    #[case::agrees_true(StoredReady::True, true, Verdict::Follow)]
    #[case::agrees_not_true(StoredReady::NotTrue, false, Verdict::Follow)]
    fn first_observation(#[case] stored: StoredReady, #[case] healthy: bool, #[case] expected: Verdict) {
        assert_eq!(
            step(None, &seen(healthy), stored, &THRESHOLDS, Duration::from_secs(5)).verdict,
            expected
        );
    }

    // C63
    #[test]
    fn alternating_probes_move_nothing_and_steady_ones_move_once() {
        let mut cluster = Cluster::stored(StoredReady::True);
        for tick in 0..30 {
            cluster.observe(&seen(tick % 2 == 1), tick * 10);
        }
        assert_eq!(cluster.flips, 0);
        for at in [300, 310, 320, 329] {
            cluster.observe(&seen(false), at);
        }
        assert_eq!(cluster.flips, 0, "29 s are not 30 s");
        cluster.observe(&seen(false), 331);
        cluster.observe(&seen(false), 341);
        assert_eq!((cluster.flips, cluster.stored), (1, StoredReady::NotTrue));
        for at in [351, 361, 371, 382] {
            cluster.observe(&seen(true), at);
        }
        assert_eq!((cluster.flips, cluster.stored), (2, StoredReady::True));
    }

    // C62, C75: a missing secret goes the same way at the same times as a member that does not answer.
    #[test]
    fn what_cannot_be_asked_takes_the_threshold_too() {
        let no_answer = after_healthz(&ProbeAnswer::Nothing {
            why: "refused".to_owned(),
        });
        for failing in [
            cannot_connect("secret karmada-cluster/m1 is missing"),
            no_answer,
            seen(false),
        ] {
            let mut cluster = Cluster::stored(StoredReady::True);
            cluster.observe(&failing, 0);
            cluster.observe(&seen(true), 10);
            assert_eq!(cluster.flips, 0);
            for at in [20, 30, 40] {
                cluster.observe(&failing, at);
                assert_eq!(cluster.flips, 0);
            }
            cluster.observe(&failing, 50);
            assert_eq!(cluster.stored, StoredReady::NotTrue, "30 s after the first failure");
        }
    }

    #[test]
    fn stored_conditions_are_read() {
        let condition = |status: &str, reason: &str| Condition {
            type_: "Ready".to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
            observed_generation: None,
            last_transition_time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH),
        };
        let read = |c: Option<Condition>| StoredReady::from(c.as_ref());
        assert_eq!(read(None), StoredReady::NeverObserved);
        assert_eq!(
            read(Some(condition("Unknown", words::NEVER_UPDATED))),
            StoredReady::NeverObserved
        );
        assert_eq!(read(Some(condition("Unknown", words::UNKNOWN))), StoredReady::NotTrue);
        assert_eq!(read(Some(condition("False", words::NOT_READY))), StoredReady::NotTrue);
        assert_eq!(read(Some(condition("True", "anything"))), StoredReady::True);
    }

    #[rstest]
    #[case(None, "True", Some("ClusterReady"))]
    #[case(Some("True"), "False", Some("ClusterNotReady"))]
    #[case(Some("False"), "Unknown", Some("ClusterUnknown"))]
    #[case(Some("False"), "False", None)]
    fn transitions(#[case] before: Option<&str>, #[case] after: &str, #[case] expected: Option<&str>) {
        assert_eq!(transition(before, after).map(|t| t.event_reason), expected);
    }

    proptest! {
        /// For any series of probes and restarts: a flip only after a whole threshold of equal observations, all of
        /// them by one process; and once such a series stands, the condition agrees with it.
        #[test]
        fn never_early_and_never_stuck(
            series in prop::collection::vec((any::<bool>(), 1_u64..20, prop::bool::weighted(0.05)), 1..200),
        ) {
            let mut cluster = Cluster::stored(StoredReady::True);
            let (mut now, mut run_since, mut last) = (0, 0, None);
            for (healthy, gap, restarted) in series {
                now += gap;
                if restarted {
                    cluster.memory = None;
                    last = None;
                }
                if last != Some(healthy) {
                    run_since = now;
                }
                last = Some(healthy);
                let before = cluster.stored;
                cluster.observe(&seen(healthy), now);
                let held = now - run_since;
                if cluster.stored != before {
                    prop_assert!(held >= 30, "flipped after {held} s");
                }
                if held >= 30 {
                    prop_assert_eq!(cluster.stored == StoredReady::True, healthy);
                }
            }
        }
    }
}
