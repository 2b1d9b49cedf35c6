//! Templates and their policies, counted by stock's names.

use std::time::Duration;

use controller_kit::Metrics;

use crate::counts::result;

const MATCHED: &str = "resource_match_policy_duration_seconds";
const APPLIED: &str = "resource_apply_policy_duration_seconds";
const ATTEMPTS: &str = "policy_apply_attempts_total";

/// Of one detector.
pub struct Counts {
    metrics: Metrics,
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
        }
    }

    /// The policy of a template was looked for.
    pub fn matched(&self, took: Duration) {
        self.metrics.histogram(MATCHED, &[]).record(took);
    }

    /// A policy was applied, or not.
    pub fn applied<T, E>(&self, ended: &Result<T, E>, took: Duration) {
        let labels = [("result", result(ended))];
        self.metrics.counter(ATTEMPTS, &labels).increment(1);
        self.metrics.histogram(APPLIED, &labels).record(took);
    }
}
