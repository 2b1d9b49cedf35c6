//! What leases came to: a ring for people, and counts per cluster for the metrics of the last minutes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::entry::{EntryKey, Published};
use super::event::OutcomeKind;

/// What became of one lease.
#[derive(Clone, Debug, PartialEq)]
pub struct RecentOutcome {
    /// The entry.
    pub key: Arc<EntryKey>,
    /// As it was published when it was leased.
    pub published: Arc<Published>,
    /// How it ended.
    pub end: LeaseEnd,
    /// One word in CamelCase.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// When it was released.
    pub released_at: Timestamp,
    /// When the lease ended.
    pub ended_at: Timestamp,
    /// The consumer.
    pub consumer: Arc<str>,
}

/// How a lease ended: by what its consumer said, or by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseEnd {
    /// The binding was written.
    Evicted,
    /// The live state showed no cause.
    NotNeeded,
    /// No cluster could take the workload.
    NoTarget,
    /// Reading or writing failed.
    Failed,
    /// Not yet.
    Wait,
    /// Nobody completed it.
    Lapsed,
}

impl LeaseEnd {
    /// One word in CamelCase.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Evicted => "Evicted",
            Self::NotNeeded => "NotNeeded",
            Self::NoTarget => "NoTarget",
            Self::Failed => "Failed",
            Self::Wait => "Wait",
            Self::Lapsed => "Lapsed",
        }
    }
}

impl From<&OutcomeKind> for LeaseEnd {
    fn from(outcome: &OutcomeKind) -> Self {
        match outcome {
            OutcomeKind::Evicted => Self::Evicted,
            OutcomeKind::NotNeeded { .. } => Self::NotNeeded,
            OutcomeKind::NoTarget { .. } => Self::NoTarget,
            OutcomeKind::Failed => Self::Failed,
            OutcomeKind::Wait { .. } => Self::Wait,
        }
    }
}

const RATE_WINDOW: Duration = Duration::from_secs(60);
const SUCCESS_WINDOW: Duration = Duration::from_secs(600);

/// Outcomes of one cluster in the last ten minutes.
#[derive(Clone, Debug, Default)]
pub struct ClusterStats {
    evicted: VecDeque<Duration>,
    missed: VecDeque<Duration>,
}

impl ClusterStats {
    pub(super) fn evicted(&mut self, at: Duration) {
        self.evicted.push_back(at);
        self.forget(at);
    }

    /// A failure, or the first NoTarget of an entry.
    pub(super) fn missed(&mut self, at: Duration) {
        self.missed.push_back(at);
        self.forget(at);
    }

    /// Evictions per second over the last minute.
    #[must_use]
    pub fn evictions_per_second(&self, now: Duration) -> f64 {
        let recent = self
            .evicted
            .iter()
            .rev()
            .take_while(|at| now.saturating_sub(**at) < RATE_WINDOW)
            .count();
        as_f64(recent) / RATE_WINDOW.as_secs_f64()
    }

    /// Evicted of all that were evicted, failed or had no target in the last ten minutes; absent when there was none.
    #[must_use]
    pub fn success_rate(&self, now: Duration) -> Option<f64> {
        let recent = |all: &VecDeque<Duration>| {
            all.iter()
                .rev()
                .take_while(|at| now.saturating_sub(**at) < SUCCESS_WINDOW)
                .count()
        };
        let (evicted, missed) = (recent(&self.evicted), recent(&self.missed));
        (evicted + missed > 0).then(|| as_f64(evicted) / as_f64(evicted + missed))
    }

    fn forget(&mut self, now: Duration) {
        for all in [&mut self.evicted, &mut self.missed] {
            while all.front().is_some_and(|at| now.saturating_sub(*at) >= SUCCESS_WINDOW) {
                all.pop_front();
            }
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of ten minutes")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
