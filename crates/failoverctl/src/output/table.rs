//! Columns as kubectl prints them: no lines, two spaces between. On a terminal too narrow for columns, a value a line.

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};

use super::{Colour, Tone, View};

/// On a terminal with fewer columns, a table that does not fit is told row by row, each value with its heading: broken at
/// its width, nobody could say which value is of which column. On others a table is as wide as it has to be, as kubectl's.
const NARROW: usize = 60;
/// Between two columns.
const GAP: u16 = 2;
/// Of a value that there is not.
const NOTHING: &str = "-";

/// A table under construction.
pub struct Grid {
    headings: Vec<String>,
    rows: Vec<Vec<(String, Tone)>>,
    colour: Colour,
    columns: Option<usize>,
}

impl Grid {
    /// A table with these headings.
    #[must_use]
    pub fn new<H: AsRef<str>>(headings: impl IntoIterator<Item = H>, view: &View) -> Self {
        let headings = headings.into_iter().map(|heading| heading.as_ref().to_owned());
        Self {
            headings: headings.collect(),
            rows: Vec::new(),
            colour: view.colour,
            columns: view.columns,
        }
    }

    /// Adds a row; empty texts become `-`.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = (T, Tone)>) {
        let cells = cells.into_iter().map(|(text, tone)| {
            let text: String = text.into();
            let text = if text.is_empty() { NOTHING.to_owned() } else { text };
            // A line feed in an object's message must not break the row.
            (text.replace(['\n', '\r'], " "), tone)
        });
        self.rows.push(cells.collect());
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, without spaces at their ends.
    #[must_use]
    pub fn finish(self) -> String {
        match self.columns {
            Some(columns) if columns < NARROW && self.width() > columns => self.row_by_row(),
            _ => self.side_by_side(),
        }
    }

    /// Of its longest line.
    fn width(&self) -> usize {
        let widest = |(index, heading): (usize, &String)| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let widths = cells.map(|(text, _)| text.chars().count());
            widths.chain([heading.chars().count()]).max().unwrap_or_default()
        };
        let gaps = usize::from(GAP) * self.headings.len().saturating_sub(1);
        self.headings.iter().enumerate().map(widest).sum::<usize>() + gaps
    }

    fn side_by_side(self) -> String {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .force_no_tty();
        if self.colour == Colour::On {
            table.enforce_styling();
        }
        table.set_header(self.headings.iter().map(|heading| cell(heading, Tone::Heading)));
        for row in &self.rows {
            table.add_row(row.iter().map(|(text, tone)| cell(text, *tone)));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        debug_assert!(self.colour == Colour::On || !lines.iter().any(|line| line.contains('\x1b')));
        lines.join("\n") + "\n"
    }

    /// Each row begins with its first value; what there is not is left out.
    fn row_by_row(self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            for (index, (heading, (value, tone))) in self.headings.iter().zip(row).enumerate() {
                if index > 0 && value == NOTHING {
                    continue;
                }
                let indent = if index == 0 { "" } else { "  " };
                let heading = Tone::Heading.paint(heading, self.colour);
                text.push_str(&format!("{indent}{heading}: {}\n", tone.paint(value, self.colour)));
            }
        }
        text
    }
}

fn cell(text: &str, tone: Tone) -> Cell {
    let cell = Cell::new(text);
    match tone {
        Tone::Plain => cell,
        Tone::Good => cell.fg(Color::Green),
        Tone::Notice => cell.fg(Color::Yellow),
        Tone::Bad => cell.fg(Color::Red),
        Tone::Heading => cell.add_attribute(Attribute::Bold),
    }
}
