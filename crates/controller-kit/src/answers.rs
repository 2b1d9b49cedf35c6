//! What the answers of the control plane's API server tell about it: that it is slow, that it does not answer, that
//! writes meet conflicts, and which versions its watches have to show.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::disturbances::{Disturbance, Disturbances};
use crate::durations::format_duration;
use crate::echoes::Echoes;
use crate::metrics::Metrics;

/// An answer that took so long is slow: what Kubernetes promises for 99 of 100 requests.
pub(crate) const SLOW: Duration = Duration::from_secs(1);

/// The outcomes of writes are counted by spans of this length,
const SPAN: Duration = Duration::from_secs(10);
/// and so many spans are looked back upon.
const SPANS: usize = 12;
/// So many conflicts are worth a word, if they are also a good part of all writes: two that write the same object now and
/// then meet now and then.
const MANY_CONFLICTS: u32 = 6;
/// The part of all writes, as one of so many.
const ONE_OF: u32 = 4;
/// In so many spans at least: where processes start, many write the same objects at once, and that is all.
const SPANS_WITH_CONFLICTS: usize = 3;

const SLOW_COUNTER: &str = "failover_api_slow_requests_total";

/// The answers to all controllers of one process. Clones are the same.
#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) disturbances: Disturbances,
    pub(crate) echoes: Echoes,
    writes: Arc<Mutex<VecDeque<Writes>>>,
}

/// The writes of one span.
struct Writes {
    since: Instant,
    answered: u32,
    refused: u32,
}

/// A request, for words about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) controller: &'static str,
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
}

impl Answers {
    pub(crate) fn new(disturbances: Disturbances, echoes: Echoes, metrics: &Metrics) -> Self {
        metrics.describe(
            SLOW_COUNTER,
            "Requests to the control plane that were answered after a second or later.",
        );
        Self {
            disturbances,
            echoes,
            writes: Arc::default(),
        }
    }

    /// A request that is not a watch was answered, well or not, after `took`.
    pub(crate) fn took(&self, metrics: &Metrics, asked: Asked<'_>, took: Duration) {
        if took < SLOW {
            return;
        }
        metrics
            .counter(SLOW_COUNTER, &[("controller", asked.controller)])
            .increment(1);
        self.disturbances.seen(Disturbance::SlowAnswers, "", || {
            let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            let took = format_duration(Duration::from_millis(millis));
            format!("{} {} took {took}", asked.method, asked.path)
        });
    }

    /// A request was not answered.
    pub(crate) fn none(&self, asked: Asked<'_>) {
        self.disturbances.seen(Disturbance::Unanswered, "", || {
            format!("{} {} of {}", asked.method, asked.path, asked.controller)
        });
    }

    /// A write was answered with this code. Creations meet no conflicts: what they are refused for is there already.
    pub(crate) fn of_write(&self, asked: Asked<'_>, code: http::StatusCode) {
        let is_conflict = code == http::StatusCode::CONFLICT && asked.method != Method::POST;
        let mut spans = self.writes.lock();
        let looked_back_upon = SPAN * u32::try_from(SPANS).unwrap_or(u32::MAX);
        spans.retain(|span| span.since.elapsed() < looked_back_upon);
        if spans.back().is_none_or(|span| span.since.elapsed() >= SPAN) {
            spans.push_back(Writes {
                since: Instant::now(),
                answered: 0,
                refused: 0,
            });
        }
        if let Some(span) = spans.back_mut() {
            span.answered += 1;
            span.refused += u32::from(is_conflict);
        }
        if !is_conflict {
            return;
        }
        let (answered, refused) = spans.iter().fold((0, 0), |(answered, refused), span| {
            (answered + span.answered, refused + span.refused)
        });
        let with_conflicts = spans.iter().filter(|span| span.refused > 0).count();
        if refused >= MANY_CONFLICTS && refused * ONE_OF >= answered && with_conflicts >= SPANS_WITH_CONFLICTS {
            self.disturbances.seen(Disturbance::Conflicts, "", || {
                format!(
                    "{refused} of {answered} writes within {}, the last of them {} {} of {}",
                    format_duration(looked_back_upon),
                    asked.method,
                    asked.path,
                    asked.controller
                )
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::clock::Clock;

    const ASKED: Asked<'static> = Asked {
        controller: "evictor",
        method: &Method::PUT,
        path: "/x",
    };

    fn answers() -> (Answers, Metrics) {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let metrics = Metrics::new();
        let disturbances = Disturbances::new(clock, &metrics);
        (Answers::new(disturbances, Echoes::default(), &metrics), metrics)
    }

    #[tokio::test(start_paused = true)]
    async fn slow_answers_are_counted_one_by_one() {
        let (answers, metrics) = answers();
        for millis in [5, 999] {
            answers.took(&metrics, ASKED, Duration::from_millis(millis));
        }
        assert_eq!(answers.disturbances.going_on(), [""; 0]);
        for millis in [1_500, 2_000] {
            answers.took(&metrics, ASKED, Duration::from_millis(millis));
        }
        assert_eq!(metrics.value(SLOW_COUNTER, &[("controller", "evictor")]), Some(2.0));
        let text = answers.disturbances.in_short().unwrap();
        assert!(text.ends_with("PUT /x took 1.5s"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn conflicts_are_worth_a_word_when_they_go_on_and_are_a_good_part_of_the_writes() {
        let (answers, _) = answers();
        let write = |code| answers.of_write(ASKED, code);
        // Many, at once.
        for _ in 0..50 {
            write(StatusCode::CONFLICT);
        }
        tokio::time::sleep(SPAN * 12).await;
        // Again and again, of many more writes.
        for _ in 0..50 {
            tokio::time::sleep(SPAN).await;
            for _ in 0..9 {
                write(StatusCode::OK);
            }
            write(StatusCode::CONFLICT);
        }
        tokio::time::sleep(SPAN * 12).await;
        // Objects that are there already.
        for _ in 0..50 {
            tokio::time::sleep(SPAN).await;
            let asked = Asked {
                method: &Method::POST,
                ..ASKED
            };
            answers.of_write(asked, StatusCode::CONFLICT);
        }
        tokio::time::sleep(SPAN * 12).await;
        // Seldom.
        for _ in 0..50 {
            tokio::time::sleep(SPAN * 3).await;
            write(StatusCode::CONFLICT);
        }
        assert_eq!(answers.disturbances.going_on(), [""; 0]);
        tokio::time::sleep(SPAN * 12).await;
        for _ in 0..3 {
            tokio::time::sleep(SPAN * 2).await;
            for _ in 0..2 {
                write(StatusCode::OK);
                write(StatusCode::CONFLICT);
            }
        }
        let text = answers.disturbances.in_short().unwrap();
        assert!(
            text.ends_with("6 of 12 writes within 2m, the last of them PUT /x of evictor"),
            "{text}"
        );
    }
}
