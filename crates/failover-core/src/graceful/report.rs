//! What the binding says about its tasks: the condition `GracefulEviction`.

use super::assess::{Assessed, Fate};

/// Reason while tasks wait.
pub const WAITING: &str = "Waiting";
/// Reason when there is no task any more.
pub const NO_TASK: &str = "NoTask";
/// Message when there is no task any more.
pub const NO_TASK_MESSAGE: &str = "no copy is on its way out";

/// The longest message, in bytes: what Kubernetes accepts.
const LONGEST_MESSAGE: usize = 32_768;

/// For each task that stays, what it waits for; `None` when none stays.
#[must_use]
pub fn waiting(assessed: &[Assessed]) -> Option<String> {
    let lines: Vec<String> = assessed
        .iter()
        .filter(|assessed| matches!(assessed.fate, Fate::Stays { .. } | Fate::LeavesResult { .. }))
        .map(|assessed| format!("{}: {}", assessed.cluster, assessed.fate.in_words()))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut text = lines.join(" | ");
    while text.len() > LONGEST_MESSAGE {
        text.pop();
    }
    Some(text)
}
