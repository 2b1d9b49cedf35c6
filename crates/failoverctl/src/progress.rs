//! How far something is, in one line on standard error: overwritten where somebody looks, said now and then where nobody
//! does.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::console::{Console, Person};

/// How often it is said where it cannot be overwritten.
const SAY_EVERY: Duration = Duration::from_secs(10);

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
