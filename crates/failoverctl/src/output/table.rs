//! Columns as kubectl prints them: no lines, two spaces between.

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};

use super::{Colour, Tone};

/// A table under construction.
pub struct Grid {
    table: Table,
    colour: Colour,
    rows: usize,
}

impl Grid {
    /// A table with these headings.
    #[must_use]
    pub fn new<H: AsRef<str>>(headings: impl IntoIterator<Item = H>, colour: Colour) -> Self {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .force_no_tty();
        if colour == Colour::On {
            table.enforce_styling();
        }
        let headings = headings
            .into_iter()
            .map(|heading| cell(heading.as_ref(), Tone::Heading));
        table.set_header(headings.collect::<Vec<_>>());
        Self { table, colour, rows: 0 }
    }

    /// Adds a row; empty texts become `-`.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = (T, Tone)>) {
        let cells = cells.into_iter().map(|(text, tone)| {
            let text: String = text.into();
            cell(if text.is_empty() { "-" } else { &text }, tone)
        });
        self.table.add_row(cells.collect::<Vec<_>>());
        self.rows += 1;
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The lines, without spaces at their ends.
    #[must_use]
    pub fn finish(mut self) -> String {
        for column in self.table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines: Vec<String> = self.table.lines().map(|line| line.trim_end().to_owned()).collect();
        debug_assert!(self.colour == Colour::On || !lines.iter().any(|line| line.contains('\x1b')));
        lines.join("\n") + "\n"
    }
}

fn cell(text: &str, tone: Tone) -> Cell {
    // A line feed in an object's message must not break the row.
    let cell = Cell::new(text.replace(['\n', '\r'], " "));
    match tone {
        Tone::Plain => cell,
        Tone::Good => cell.fg(Color::Green),
        Tone::Notice => cell.fg(Color::Yellow),
        Tone::Bad => cell.fg(Color::Red),
        Tone::Heading => cell.add_attribute(Attribute::Bold),
    }
}
