//! The injected wall clock.
//!
//! Guarantees: everything that is written into an object, compared with a time that was read from one, or shown to
//! a person comes from a [`Clock`]; elapsed time inside a process is [`tokio::time::Instant`] and never the wall
//! clock. A simulated clock follows tokio's time, so a paused runtime pauses it too, and it can be made to jump.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a wait on the real clock may go without looking at it again: the longest time for which a step of the
/// wall clock (NTP, an administrator, a resumed machine) stays unnoticed.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The longest single sleep on a simulated clock, only there to keep far away (or nonsensical) times in range.
const LONGEST_SLEEP: Duration = Duration::from_secs(86_400);

/// Wall-clock time, real or simulated. Clones share the same time line.
#[derive(Clone)]
pub struct Clock {
    source: Source,
}

#[derive(Clone)]
enum Source {
    System,
    Simulated(Arc<Simulated>),
}

struct Simulated {
    started: Instant,
    base: Mutex<Timestamp>,
    jumps: watch::Sender<u64>,
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self { source: Source::System }
    }

    /// A clock that shows `start` now and then follows tokio's time.
    ///
    /// Must be called inside the runtime whose time it is to follow.
    #[must_use]
    pub fn simulated(start: Timestamp) -> Self {
        Self {
            source: Source::Simulated(Arc::new(Simulated {
                started: Instant::now(),
                base: Mutex::new(start),
                jumps: watch::Sender::new(0),
            })),
        }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.source {
            Source::System => system_now(),
            Source::Simulated(simulated) => {
                let base = *simulated.base.lock();
                base.saturating_add(simulated.started.elapsed()).unwrap_or(base)
            }
        }
    }

    /// Steps a simulated clock by `by` (backwards when negative), as NTP or a person might; timers on elapsed time
    /// do not notice. On the system clock this does nothing: the kit never sets the machine's time.
    pub fn jump(&self, by: SignedDuration) {
        if let Source::Simulated(simulated) = &self.source {
            {
                let mut base = simulated.base.lock();
                *base = base.saturating_add(by).unwrap_or(*base);
            }
            simulated.jumps.send_modify(|count| *count += 1);
        }
    }

    /// Returns once the clock shows `until` or later, at once when it already does.
    ///
    /// Never early. A step of the clock is noticed at once when simulated and within one second when real; the wait
    /// then goes by the new time, so a step forward over `until` ends it and a step back makes it longer.
    pub async fn sleep_until(&self, until: Timestamp) {
        let mut jumps = match &self.source {
            Source::System => None,
            Source::Simulated(simulated) => Some(simulated.jumps.subscribe()),
        };
        while let Some(left) = self.left_until(until) {
            match &mut jumps {
                None => tokio::time::sleep(left.min(LOOK_AGAIN_AFTER)).await,
                Some(jumps) => {
                    tokio::select! {
                        biased;
                        _ = jumps.changed() => {}
                        () = tokio::time::sleep(left.min(LONGEST_SLEEP)) => {}
                    }
                }
            }
        }
    }

    /// The time left until `until`, or `None` when it has come.
    #[must_use]
    pub fn left_until(&self, until: Timestamp) -> Option<Duration> {
        Duration::try_from(until.duration_since(self.now()))
            .ok()
            .filter(|left| !left.is_zero())
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let source = match self.source {
            Source::System => "system",
            Source::Simulated(_) => "simulated",
        };
        write!(f, "Clock({source}, {})", self.now())
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the one place where the machine's clock is read"
)]
fn system_now() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn follows_tokio_time() {
        let clock = Clock::simulated(at("2026-01-01T00:00:00Z"));
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert_eq!(clock.now(), at("2026-01-01T00:01:01Z"));
    }

    #[tokio::test(start_paused = true)]
    async fn sleep_until_is_never_early_and_exact_without_jumps() {
        let clock = Clock::simulated(at("2026-01-01T00:00:00Z"));
        clock.sleep_until(at("2026-01-05T12:00:00.5Z")).await;
        assert_eq!(clock.now(), at("2026-01-05T12:00:00.5Z"));
        clock.sleep_until(at("2026-01-01T00:00:00Z")).await;
        assert_eq!(
            clock.now(),
            at("2026-01-05T12:00:00.5Z"),
            "a time in the past is no wait"
        );
    }

    // kubernetes#6193, #108844, #113081: waits must survive a wall clock that is set forwards and backwards.
    #[tokio::test(start_paused = true)]
    async fn a_jump_forward_ends_the_wait_and_a_jump_back_extends_it() {
        let started = Instant::now();
        let clock = Clock::simulated(at("2026-01-01T00:00:00Z"));
        let forward = clock.clone();
        let (_, ()) = tokio::join!(clock.sleep_until(at("2026-01-01T01:00:00Z")), async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            forward.jump(SignedDuration::from_hours(2));
        });
        assert_eq!(started.elapsed(), Duration::from_secs(10));

        let back = clock.clone();
        let until = clock.now() + SignedDuration::from_secs(60);
        let (_, ()) = tokio::join!(clock.sleep_until(until), async move {
            tokio::time::sleep(Duration::from_secs(30)).await;
            back.jump(SignedDuration::from_secs(-100));
        });
        assert_eq!(started.elapsed(), Duration::from_secs(10 + 160));
    }
}
