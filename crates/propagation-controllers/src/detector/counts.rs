//! Templates and their policies, counted by stock's names.

use std::time::Duration;

use controller_kit::Metrics;

use crate::counts::{Timed, result};

const MATCHED: &str = "resource_match_policy_duration_seconds";
const APPLIED: &str = "resource_apply_policy_duration_seconds";
const ATTEMPTS: &str = "policy_apply_attempts_total";

/// Of one detector.
pub struct Counts {
    metrics: Metrics,
    applying: Timed,
}

impl Counts {
    /// None yet.
    #[must_use]
    pub fn of(metrics: &Metrics) -> Self {
        metrics.describe(MATCHED, "Time to find the policy of a template.");
        metrics.describe(
            APPLIED,
            "Time to write what a template's policy says into its binding, by result.",
        );
        metrics.describe(
            ATTEMPTS,
            "Tries to write what a template's policy says into its binding, by result.",
        );
        Self {
            metrics: metrics.clone(),
            applying: Timed::of(metrics, APPLIED),
        }
    }

    /// The policy of a template was looked for.
    pub fn matched(&self, took: Duration) {
        self.metrics.histogram(MATCHED, &[]).record(took);
    }

    /// A policy was applied, or not.
    pub fn applied<T, E>(&self, ended: &Result<T, E>, took: Duration) {
        self.metrics
            .counter(ATTEMPTS, &[("result", result(ended))])
            .increment(1);
        self.applying.record(ended, took);
    }
}
