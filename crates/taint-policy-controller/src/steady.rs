//! The time by which windows run.

use controller_kit::Clock;
use jiff::Timestamp;
use tokio::time::Instant;

/// The wall clock at the start, carried on by elapsed time: a wall clock that is set while the process runs makes no
/// window shorter or longer. Only what outlives the process is at the mercy of the wall clock.
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
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_moves_no_window() {
        let clock = Clock::simulated(Timestamp::UNIX_EPOCH);
        let steady = SteadyClock::starting_now(&clock);
        clock.jump(jiff::SignedDuration::from_hours(5));
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!(steady.now(), Timestamp::from_second(7).unwrap());
    }
}
