//! How long the steps of propagation take and how they end, by stock's names.

use std::time::Duration;

use controller_kit::Metrics;

/// Label value of what came to its end.
pub const SUCCESS: &str = "success";

/// Value of the label `result`.
#[must_use]
pub fn result<T, E>(ended: &Result<T, E>) -> &'static str {
    if ended.is_ok() { SUCCESS } else { "error" }
}

/// The histogram of a step, apart by how it ended.
pub struct Timed {
    metrics: Metrics,
    name: &'static str,
}

impl Timed {
    /// Of this name.
    #[must_use]
    pub fn of(metrics: &Metrics, name: &'static str) -> Self {
        Self {
            metrics: metrics.clone(),
            name,
        }
    }

    /// A step has ended.
    pub fn record<T, E>(&self, ended: &Result<T, E>, took: Duration) {
        let labels = [("result", result(ended))];
        self.metrics.histogram(self.name, &labels).record(took);
    }
}
