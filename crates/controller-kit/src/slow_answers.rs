//! Whether the API server answers in time, so that a person learns why everything takes longer.
//!
//! Guarantees: every slow answer is counted; one line when slowness begins and one when it is over, however many
//! requests are made meanwhile.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::durations::format_duration;
use crate::metrics::Metrics;

/// An answer that took so long is slow: what Kubernetes promises for 99 of 100 requests.
const SLOW: Duration = Duration::from_secs(1);
/// Without a slow answer for so long, slowness is over.
const OVER_AFTER: Duration = Duration::from_secs(60);

const COUNTER: &str = "failover_api_slow_requests_total";

/// The answers to all controllers of one process. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlowAnswers {
    last: Arc<Mutex<Option<Instant>>>,
}

impl SlowAnswers {
    /// A request that is not a watch was answered, well or not, after `took`.
    pub(crate) fn answered(
        &self,
        metrics: &Metrics,
        controller: &'static str,
        took: Duration,
        request: impl FnOnce() -> String,
    ) {
        let now = Instant::now();
        let mut last = self.last.lock();
        if took >= SLOW {
            metrics.counter(COUNTER, &[("controller", controller)]).increment(1);
            if last.replace(now).is_none() {
                let took = format_duration(Duration::from_millis(
                    u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                ));
                tracing::warn!(
                    request = request(),
                    took,
                    "the API server is slow: everything takes longer"
                );
            }
        } else if last.is_some_and(|last| now.duration_since(last) >= OVER_AFTER) {
            *last = None;
            tracing::info!("the API server answers in time again");
        }
    }
}

pub(crate) fn describe(metrics: &Metrics) {
    metrics.describe(
        COUNTER,
        "Requests to the control plane that were answered after a second or later.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::telemetry::Recording;

    #[tokio::test(start_paused = true)]
    async fn slowness_is_told_once_and_its_end_once() {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let log = Recording::start("info", &clock).unwrap();
        let (answers, metrics) = (SlowAnswers::default(), Metrics::new());
        let answered = |millis| {
            answers.answered(&metrics, "evictor", Duration::from_millis(millis), || {
                "PUT /x".to_owned()
            });
        };
        answered(999);
        assert_eq!(log.lines().len(), 0);
        answered(1_500);
        answered(2_000);
        assert_eq!(log.lines().len(), 1, "{log:?}");
        assert!(log.lines()[0].contains("1.5s"), "{log:?}");
        tokio::time::sleep(OVER_AFTER - Duration::from_millis(1)).await;
        answered(5);
        assert_eq!(log.lines().len(), 1, "{log:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
        answered(5);
        answered(5);
        assert_eq!(log.lines().len(), 2, "{log:?}");
        assert_eq!(metrics.value(COUNTER, &[("controller", "evictor")]), Some(2.0));
    }
}
