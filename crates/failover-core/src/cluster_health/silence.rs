//! How long somebody has been silent, by the time of who listens.
//!
//! Guarantees: a sign of life is a *change* that was seen to happen, and it counts from the moment it was seen. What
//! time the other side writes into its Lease is never compared with a clock of ours, so that clocks that are apart, or
//! that jump, change nothing. What is seen for the first time is no sign: it may be as old as the hills; silence counts
//! from then on.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::words;

/// What a Lease shows of its holder: any difference means that somebody was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseMark {
    uid: String,
    holder: String,
    /// `renewTime` as text; of a Lease without one its version, since a holder that writes no time still writes.
    renewed: String,
}

impl From<&Lease> for LeaseMark {
    fn from(lease: &Lease) -> Self {
        let spec = lease.spec.as_ref();
        let renewed = spec.and_then(|spec| spec.renew_time.as_ref());
        Self {
            uid: lease.metadata.uid.clone().unwrap_or_default(),
            holder: spec.and_then(|spec| spec.holder_identity.clone()).unwrap_or_default(),
            renewed: match renewed {
                Some(time) => time.0.to_string(),
                None => format!(
                    "version {}",
                    lease.metadata.resource_version.as_deref().unwrap_or_default()
                ),
            },
        }
    }
}

/// What a Ready condition shows of who reports on the cluster. What the monitor itself wrote shows nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyMark {
    status: String,
    reason: String,
    changed_at: jiff::Timestamp,
}

impl ReadyMark {
    /// The mark; none for a condition that is absent, or that says that nobody reports.
    #[must_use]
    pub fn of(ready: Option<&Condition>) -> Option<Self> {
        let ready = ready.filter(|ready| !matches!(ready.reason.as_str(), words::UNKNOWN | words::NEVER_UPDATED))?;
        Some(Self {
            status: ready.status.clone(),
            reason: ready.reason.clone(),
            changed_at: ready.last_transition_time.0,
        })
    }
}

/// Whether something happened since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Somebody was there.
    Heard,
    /// All is as it was.
    Nothing,
}

/// Whether there is a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseThere {
    /// There is.
    Yes,
    /// There is none.
    No,
}

/// What was seen of one who should give signs of life. All times are since a fixed moment of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    lease: Option<LeaseMark>,
    /// The one before: who looks in two ways, of which one is behind the other, must not take turns for signs.
    lease_before: Option<LeaseMark>,
    there: LeaseThere,
    ready: Option<ReadyMark>,
    quiet_since: Duration,
    heard_at: Option<Duration>,
}

impl Sight {
    /// The first look: silence counts from here.
    #[must_use]
    pub fn first(lease: Option<LeaseMark>, ready: Option<ReadyMark>, now: Duration) -> Self {
        Self {
            there: there(lease.as_ref()),
            lease,
            lease_before: None,
            ready,
            quiet_since: now,
            heard_at: None,
        }
    }

    /// Another look. A Lease that comes to be is a sign of life, one that goes is not.
    pub fn look(&mut self, lease: Option<LeaseMark>, ready: Option<ReadyMark>, now: Duration) -> Sign {
        self.there = there(lease.as_ref());
        let renewed = lease.is_some() && lease != self.lease && lease != self.lease_before;
        let reported = ready.is_some() && ready != self.ready;
        if renewed {
            self.lease_before = std::mem::replace(&mut self.lease, lease);
        }
        if reported {
            self.ready = ready;
        }
        if !(renewed || reported) {
            return Sign::Nothing;
        }
        self.quiet_since = now;
        self.heard_at = Some(now);
        Sign::Heard
    }

    /// Silence counts from now: nothing could be heard before.
    pub fn start_anew(&mut self, now: Duration) {
        self.quiet_since = self.quiet_since.max(now);
    }

    /// Since when nothing was heard.
    #[must_use]
    pub fn quiet_since(&self) -> Duration {
        self.quiet_since
    }

    /// How long nothing was heard.
    #[must_use]
    pub fn silent_for(&self, now: Duration) -> Duration {
        now.saturating_sub(self.quiet_since)
    }

    /// When the last sign was seen to happen; none since this process began to listen.
    #[must_use]
    pub fn heard_at(&self) -> Option<Duration> {
        self.heard_at
    }

    /// Whether there is a Lease now.
    #[must_use]
    pub fn lease(&self) -> LeaseThere {
        self.there
    }
}

fn there(lease: Option<&LeaseMark>) -> LeaseThere {
    match lease {
        Some(_) => LeaseThere::Yes,
        None => LeaseThere::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn lease(holder: &str, renewed: &str, version: &str) -> Option<LeaseMark> {
        let mut spec = json!({"holderIdentity": holder});
        if !renewed.is_empty() {
            spec["renewTime"] = json!(renewed);
        }
        let lease: Lease =
            serde_json::from_value(json!({"metadata": {"uid": "u", "resourceVersion": version}, "spec": spec}))
                .unwrap();
        Some(LeaseMark::from(&lease))
    }

    fn ready(status: &str, reason: &str, at: i64) -> Option<ReadyMark> {
        let condition = Condition {
            type_: "Ready".to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
            observed_generation: None,
            last_transition_time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
                jiff::Timestamp::from_second(at).unwrap(),
            ),
        };
        ReadyMark::of(Some(&condition))
    }

    const NOON: &str = "2026-01-01T12:00:00.000000Z";
    const EARLIER: &str = "2026-01-01T11:00:00.000000Z";

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    // C54: a time that goes backwards is a change like any other.
    #[test]
    fn a_sign_is_a_change_of_holder_or_time_in_whatever_direction() {
        let mut sight = Sight::first(lease("a", NOON, "1"), None, at(0));
        assert_eq!(sight.heard_at(), None, "what stands there at first may be old");
        assert_eq!(
            sight.look(lease("a", NOON, "2"), None, at(10)),
            Sign::Nothing,
            "a person's annotation"
        );
        assert_eq!(sight.look(lease("a", EARLIER, "3"), None, at(20)), Sign::Heard);
        assert_eq!(sight.look(lease("b", EARLIER, "4"), None, at(30)), Sign::Heard);
        assert_eq!(sight.silent_for(at(45)), at(15));
        assert_eq!(
            sight.look(lease("b", "", "5"), None, at(50)),
            Sign::Heard,
            "without a time the version counts"
        );
        assert_eq!(sight.look(lease("b", "", "6"), None, at(60)), Sign::Heard);
    }

    #[test]
    fn a_lease_that_goes_is_no_sign_and_neither_is_its_return_as_it_was() {
        let mut sight = Sight::first(lease("a", NOON, "1"), None, at(0));
        assert_eq!(sight.look(None, None, at(5)), Sign::Nothing);
        assert_eq!(sight.lease(), LeaseThere::No);
        assert_eq!(
            sight.look(lease("a", NOON, "1"), None, at(6)),
            Sign::Nothing,
            "an old list"
        );
        let mut new = Sight::first(None, None, at(0));
        assert_eq!(new.look(lease("a", NOON, "1"), None, at(7)), Sign::Heard);
    }

    #[test]
    fn an_old_look_between_new_ones_is_no_sign() {
        let mut sight = Sight::first(lease("a", EARLIER, "1"), None, at(0));
        assert_eq!(
            sight.look(lease("a", NOON, "2"), None, at(10)),
            Sign::Heard,
            "read live"
        );
        for second in 11..20 {
            assert_eq!(sight.look(lease("a", EARLIER, "1"), None, at(second)), Sign::Nothing);
            assert_eq!(sight.look(lease("a", NOON, "2"), None, at(second)), Sign::Nothing);
        }
        assert_eq!(sight.silent_for(at(20)), at(10));
    }

    #[test]
    fn what_the_monitor_wrote_into_ready_is_no_sign() {
        let mut sight = Sight::first(None, ready("True", "ClusterReady", 1), at(0));
        assert_eq!(
            sight.look(None, ready("Unknown", "ClusterStatusUnknown", 2), at(5)),
            Sign::Nothing
        );
        assert_eq!(sight.look(None, ready("True", "ClusterReady", 1), at(6)), Sign::Nothing);
        assert_eq!(sight.look(None, ready("True", "ClusterReady", 3), at(7)), Sign::Heard);
        assert_eq!(ready("Unknown", "ClusterStatusNeverUpdated", 1), None);
    }

    proptest! {
        // C52, C54: only whether something changed counts; a clock that is apart by any time, or jumps, makes no difference.
        #[test]
        fn the_times_in_a_lease_are_never_compared(
            renewals in proptest::collection::vec(0_u64..100, 1..30),
            shifts in proptest::collection::vec(-90_000_i64..90_000, 30),
        ) {
            let mark = |second: i64| {
                let time = jiff::Timestamp::from_second(1_800_000_000 + second).unwrap();
                lease("a", &format!("{time:.6}"), "")
            };
            let (mut straight, mut crooked) = (Sight::first(mark(0), None, at(0)), Sight::first(mark(0), None, at(0)));
            let mut now = 0;
            for (number, pause) in renewals.iter().enumerate() {
                now += pause;
                let step = i64::try_from(number).unwrap() + 1;
                let a = straight.look(mark(step), None, at(now));
                // The other's clock jumps before each renewal; a time that happens to be the same again is no change.
                let b = crooked.look(mark(step * 200_000 + shifts[number]), None, at(now));
                prop_assert_eq!(a, b);
            }
            prop_assert_eq!(straight.silent_for(at(now + 7)), at(7));
            prop_assert_eq!(crooked.silent_for(at(now + 7)), at(7));
        }
    }
}
