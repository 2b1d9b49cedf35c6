//! What the binding says about its tasks: the condition `GracefulEviction`.

use super::assess::Assessed;
use super::fate::Fate;

/// Reason while tasks wait.
pub const WAITING: &str = "Waiting";
/// Reason when there is no task any more.
pub const NO_TASK: &str = "NoTask";
/// Message when there is no task any more.
pub const NO_TASK_MESSAGE: &str = "no copy is on its way out";

/// The longest message, in characters: what Kubernetes accepts, less room for how many more there are.
const LONGEST_MESSAGE: usize = 32_700;
/// Stands between two tasks.
const BETWEEN: &str = " | ";

/// So many characters of a text.
fn first(text: &str, characters: usize) -> &str {
    // A text of no more bytes has no more characters.
    if text.len() <= characters {
        return text;
    }
    text.char_indices()
        .nth(characters)
        .map_or(text, |(end, _)| &text[..end])
}

/// For each task that stays, what it waits for, a task cut off nowhere; `None` when none stays.
#[must_use]
pub fn waiting(assessed: &[Assessed]) -> Option<String> {
    let waits = |fate: &Fate| {
        matches!(
            fate,
            Fate::Stays { .. } | Fate::LeavesResult { .. } | Fate::TurnsGraceful { .. }
        )
    };
    let mut text = String::new();
    let mut more = 0_usize;
    for assessed in assessed.iter().filter(|assessed| waits(&assessed.fate)) {
        let line = format!("{}: {}", assessed.cluster, assessed.fate.in_words());
        if text.is_empty() {
            text.push_str(first(&line, LONGEST_MESSAGE));
        } else if more == 0 && text.len() + BETWEEN.len() + line.len() <= LONGEST_MESSAGE {
            text.push_str(BETWEEN);
            text.push_str(&line);
        } else {
            more += 1;
        }
    }
    if more > 0 {
        text.push_str(&format!("{BETWEEN}{more} more tasks wait"));
    }
    (!text.is_empty()).then_some(text)
}

/// What waits, with more to be said of it behind, as far as there is room.
#[must_use]
pub fn with(mut waiting: String, more: &[String]) -> String {
    for said in more {
        if waiting.len() + BETWEEN.len() + said.len() <= LONGEST_MESSAGE {
            waiting.push_str(BETWEEN);
            waiting.push_str(said);
        }
    }
    waiting
}
