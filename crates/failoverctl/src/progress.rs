//! How far something is, in one line on standard error: overwritten where somebody looks, said now and then where nobody
//! does. A line that is overwritten has to stay one: what the terminal breaks is left behind by the next.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::console::{Console, Person};

/// How often it is said where it cannot be overwritten.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Columns of a terminal that does not say.
const USUAL_COLUMNS: usize = 80;

/// The line.
#[derive(Debug)]
pub struct ProgressLine {
    console: Arc<dyn Console>,
    /// When it was said last, and how; nothing: it is not on the screen.
    said: Option<(Instant, String)>,
}

impl ProgressLine {
    /// On this console.
    #[must_use]
    pub fn on(console: &Arc<dyn Console>) -> Self {
        Self {
            console: Arc::clone(console),
            said: None,
        }
    }

    /// Says how far it is.
    pub fn say(&mut self, text: String) {
        if self.console.reads_notes() == Person::There {
            let columns = self.console.columns().unwrap_or(USUAL_COLUMNS);
            // A letter in the last column takes some terminals to the next line.
            let text = cut(&text, columns.saturating_sub(1));
            if self.said.as_ref().is_none_or(|(_, said)| *said != text) {
                self.console.note(&format!("\r\x1b[K{text}"));
                self.said = Some((Instant::now(), text));
            }
            return;
        }
        let is_news = self
            .said
            .as_ref()
            .is_none_or(|(at, said)| *said != text && at.elapsed() >= SAY_EVERY);
        if is_news {
            self.console.note(&format!("{text}\n"));
            self.said = Some((Instant::now(), text));
        }
    }

    /// Takes it off the screen, before something else is said.
    pub fn clear(&mut self) {
        if self.console.reads_notes() == Person::There && self.said.take().is_some() {
            self.console.note("\r\x1b[K");
        }
    }
}

/// In one line of so many columns at most. A letter that is not ASCII may take two.
fn cut(text: &str, columns: usize) -> String {
    let room = |letter: char| if letter.is_ascii() { 1 } else { 2 };
    let letters = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter });
    if letters.clone().map(room).sum::<usize>() <= columns {
        return letters.collect();
    }
    let mut left = columns.saturating_sub(3);
    let kept = letters.take_while(|letter| match left.checked_sub(room(*letter)) {
        Some(less) => {
            left = less;
            true
        }
        None => false,
    });
    let kept: String = kept.collect();
    let dots = ".".repeat(columns.min(3));
    format!("{}{dots}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::fits("3 entries left", 14, "3 entries left")]
    #[case::too_long("3 entries left", 13, "3 entries...")]
    #[case::in_a_word("3 entries left", 11, "3 entrie...")]
    #[case::two_lines("one\ntwo", 40, "one two")]
    #[case::wide_letters("日本日本日本", 9, "日本日...")]
    #[case::hardly_any("3 entries left", 2, "..")]
    #[case::none("3 entries left", 0, "")]
    fn lines_that_do_not_fit(#[case] text: &str, #[case] columns: usize, #[case] expected: &str) {
        assert_eq!(cut(text, columns), expected);
    }
}
