//! Says when the wall clock was set: due times that were written down are then measured by another clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep};

use crate::clock::Clock;
use crate::disturbances::{Disturbance, Disturbances};
use crate::metrics::Metrics;

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A difference that is worth a word; a clock that is kept in step moves by far less.
const WORTH_A_WORD: SignedDuration = SignedDuration::from_secs(2);

const COUNTER: &str = "failover_clock_steps_total";

/// Looks at the clock until aborted.
pub(super) async fn watch(clock: Clock, metrics: Metrics, disturbances: Disturbances) {
    metrics.describe(
        COUNTER,
        "Times that the wall clock was set forward or back by two seconds or more.",
    );
    let look = || (clock.now(), Instant::now());
    let mut before = look();
    loop {
        sleep(LOOK_EVERY).await;
        let now = look();
        if let Some(by) = step(before, now) {
            let direction = if by.is_negative() { "back" } else { "forward" };
            metrics.counter(COUNTER, &[("direction", direction)]).increment(1);
            disturbances.seen(Disturbance::ClockSteps, "", || {
                format!("the wall clock was set {direction} by {} s", by.abs().as_secs())
            });
            tracing::warn!(
                seconds = by.as_secs(),
                "the wall clock was set {direction}: what is due by a time that was written down before may come earlier or later by that"
            );
        }
        before = now;
    }
}

/// By how much the wall clock moved more than time passed, where that is worth a word.
fn step(before: (Timestamp, Instant), now: (Timestamp, Instant)) -> Option<SignedDuration> {
    let passed = SignedDuration::try_from(now.1.duration_since(before.1)).ok()?;
    let by = now.0.duration_since(before.0) - passed;
    (by.abs() >= WORTH_A_WORD).then_some(by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Recording;

    #[tokio::test(start_paused = true)]
    async fn a_step_is_told_once_and_passing_time_never() {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let log = Recording::start("info", &clock).unwrap();
        let metrics = Metrics::new();
        let watching = async {
            let disturbances = Disturbances::new(clock.clone(), &metrics);
            let watch = watch(clock.clone(), metrics.clone(), disturbances);
            tokio::time::timeout(Duration::from_secs(100), watch).await.unwrap_err();
        };
        let stepping = async {
            sleep(Duration::from_secs(35)).await;
            clock.jump(SignedDuration::from_hours(24));
            sleep(Duration::from_secs(30)).await;
            clock.jump(SignedDuration::from_secs(-3600));
            clock.jump(SignedDuration::from_millis(1_900));
        };
        tokio::join!(watching, stepping);
        let lines = log.lines();
        assert_eq!(lines.len(), 2, "{lines:#?}");
        assert!(lines[0].contains("forward") && lines[0].contains("86400"), "{lines:#?}");
        assert!(lines[1].contains("back"), "{lines:#?}");
        for direction in ["forward", "back"] {
            assert_eq!(metrics.value(COUNTER, &[("direction", direction)]), Some(1.0));
        }
    }
}
