//! The answer in a sentence.

use serde::Serialize;

use crate::controllers::Severity;

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conclusion {
    /// Problem when the workload is stuck, Note when something chosen keeps it; absent: all goes its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// Why it moved, or why not.
    pub summary: String,
    /// What would change that; empty when there is nothing to say.
    pub change: String,
}

impl Conclusion {
    pub(crate) fn new(severity: Option<Severity>, summary: impl Into<String>, change: impl Into<String>) -> Self {
        Self {
            severity,
            summary: summary.into(),
            change: change.into(),
        }
    }

    /// As one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let summary = self.summary.trim_end_matches('.');
        if self.change.is_empty() {
            format!("{summary}.")
        } else {
            format!("{summary}; {}.", self.change)
        }
    }
}
