//! Changes as lines. Columns widen as longer words come, so that lines that follow each other stand under each other.

use jiff::Timestamp;

use super::what::QueueChange;
use crate::failure::Failure;
use crate::output::{At, Colour, Format, document};

/// Kind of the documents.
const KIND: &str = "QueueChange";

/// Makes lines.
pub struct Lines {
    format: Format,
    colour: Colour,
    widths: [usize; 4],
}

impl Lines {
    /// Lines in this format.
    #[must_use]
    pub fn new(format: Format, colour: Colour) -> Self {
        Self {
            format,
            colour,
            // The longest words for what happened have eight letters.
            widths: [0, 0, 8, 0],
        }
    }

    /// A change as a line, or a document.
    ///
    /// # Errors
    /// A defect of this program.
    pub fn line(&mut self, change: &QueueChange, now: Timestamp) -> Result<String, Failure> {
        match self.format {
            Format::Json | Format::Yaml => document(KIND, change, self.format, now),
            Format::Name => Ok(format!("{}\n", change.binding)),
            Format::Table | Format::Wide => Ok(self.columns(change, now)),
        }
    }

    fn columns(&mut self, change: &QueueChange, now: Timestamp) -> String {
        let cause = if self.format == Format::Wide {
            change.entry.cause.identity.as_str()
        } else {
            ""
        };
        let words = [&change.binding, &change.cluster, change.event.word(), cause];
        let mut line = At(now).to_string();
        for (index, word) in words.into_iter().enumerate() {
            let width = &mut self.widths[index];
            *width = (*width).max(word.chars().count());
            if *width == 0 {
                continue;
            }
            let padded = format!("{word:<width$}", width = *width);
            let padded = if index == 2 {
                change.event.tone().paint(&padded, self.colour)
            } else {
                padded
            };
            line.push_str("  ");
            line.push_str(&padded);
        }
        let why = change.why.replace(['\n', '\r'], " ");
        format!("{line}  {why}\n")
    }
}
