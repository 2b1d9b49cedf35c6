//! When a member is looked at. Pure.
//!
//! Guarantees: looks begin on a grid of the period, so that they do not drift; a probe has nine tenths of the period,
//! so that one that hangs is over before the next is due; between the end of a look and the next one there is always a
//! tenth of the period, so that a member that answers too slowly is not asked without a pause.

use std::time::Duration;

/// The rhythm of one member's looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    period: Duration,
}

impl Pace {
    pub fn new(period: Duration) -> Self {
        Self {
            period: period.max(Duration::from_millis(1)),
        }
    }

    /// Time between two points of the grid.
    pub fn period(self) -> Duration {
        self.period
    }

    /// How long a probe may take.
    pub fn probe_limit(self) -> Duration {
        self.period - self.pause()
    }

    /// How long a look waits for what a healthy member has to offer, before it says that it is healthy.
    pub fn collect_limit(self) -> Duration {
        self.probe_limit() / 3
    }

    /// The shortest time between the end of a look and the next one.
    pub fn pause(self) -> Duration {
        self.period / 10
    }

    /// How long to wait after a look that ended at `now` since the grid's zero. `settles_in` is when a condition would
    /// follow what was seen: it is looked at then, not a part of a period later.
    pub fn wait(self, now: Duration, settles_in: Option<Duration>) -> Duration {
        let earliest = now + self.pause();
        let (period, since) = (self.period.as_nanos(), earliest.as_nanos());
        let missing = (period - since % period) % period;
        let on_grid = self.pause() + Duration::from_nanos(u64::try_from(missing).unwrap_or(u64::MAX));
        settles_in.map_or(on_grid, |settles_in| on_grid.min(settles_in.max(self.pause())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case::quick(20, None, 9_980)]
    #[case::on_the_grid(0, None, 10_000)]
    #[case::hung(9_000, None, 1_000)]
    #[case::slower_than_a_probe_may_be(9_500, None, 10_500)]
    #[case::just_over_the_period(10_100, None, 9_900)]
    #[case::missed_two(29_100, None, 10_900)]
    #[case::settles_before(40_000, Some(5_000), 5_000)]
    #[case::settles_after(40_000, Some(15_000), 10_000)]
    #[case::settles_at_once(40_000, Some(0), 1_000)]
    fn waits(#[case] now: u64, #[case] settles_in: Option<u64>, #[case] expected: u64) {
        let pace = Pace::new(Duration::from_secs(10));
        let wait = pace.wait(Duration::from_millis(now), settles_in.map(Duration::from_millis));
        assert_eq!(wait, Duration::from_millis(expected));
    }

    proptest! {
        /// However long looks take: never without a pause, never later than the second next point of the grid, and on
        /// the grid unless something settles before.
        #[test]
        fn always_a_pause_and_never_adrift(period in 10_u64..60_000, now in 0_u64..10_000_000, settles in proptest::option::of(0_u64..100_000)) {
            let pace = Pace::new(Duration::from_millis(period));
            let now = Duration::from_millis(now);
            let wait = pace.wait(now, settles.map(Duration::from_millis));
            prop_assert!(wait >= pace.pause());
            prop_assert!(wait < pace.period() + pace.pause());
            if settles.is_none() {
                prop_assert_eq!((now + wait).as_nanos() % pace.period().as_nanos(), 0);
            }
        }
    }
}
