//! The time by which windows run.

use std::time::Duration;

use controller_kit::Clock;
use failover_core::taint_policy::CLOCK_STEP;
use jiff::Timestamp;
use tokio::time::Instant;

/// How often it is looked whether the wall clock was set. A process that ends sooner after that leaves windows behind
/// that are stored by the clock as it was.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The wall clock at the start, carried on by elapsed time: a wall clock that is set while the process runs makes no
/// window shorter or longer. What outlives the process is stored by the wall clock, as it is then.
#[derive(Clone, Debug)]
pub(crate) struct SteadyClock {
    began_at: Timestamp,
    began: Instant,
}

impl SteadyClock {
    pub fn starting_now(clock: &Clock) -> Self {
        Self {
            began_at: clock.now(),
            began: Instant::now(),
        }
    }

    pub fn now(&self) -> Timestamp {
        self.began_at
            .checked_add(self.began.elapsed())
            .unwrap_or(Timestamp::MAX)
    }

    /// Calls `set` each time that `wall` was set by a step or more.
    pub async fn watch(self, wall: Clock, set: impl Fn()) {
        let ahead = || wall.now().duration_since(self.now());
        let mut before = ahead();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = ahead();
            if (now - before).abs() >= CLOCK_STEP {
                before = now;
                set();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use jiff::SignedDuration;

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_moves_no_window() {
        let clock = Clock::simulated(Timestamp::UNIX_EPOCH);
        let steady = SteadyClock::starting_now(&clock);
        clock.jump(SignedDuration::from_hours(5));
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!(steady.now(), Timestamp::from_second(7).unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_is_noticed_once_and_small_ones_when_they_add_up() {
        let clock = Clock::simulated(Timestamp::UNIX_EPOCH);
        let noticed = Cell::new(0);
        let watching = SteadyClock::starting_now(&clock).watch(clock.clone(), || noticed.set(noticed.get() + 1));
        let stepping = async {
            let pass = || tokio::time::sleep(Duration::from_secs(10));
            pass().await;
            assert_eq!(noticed.get(), 0, "time that passes is no step");
            for (milliseconds, times) in [(3_600_000, 1), (-7_200_000, 2), (120, 2), (120, 3)] {
                clock.jump(SignedDuration::from_millis(milliseconds));
                pass().await;
                assert_eq!(noticed.get(), times, "after a step of {milliseconds} ms");
            }
        };
        tokio::select! {
            () = watching => {}
            () = stepping => {}
        }
        assert_eq!(noticed.get(), 3);
    }
}
