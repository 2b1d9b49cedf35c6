//! From a report to text.
//!
//! A report is a value with everything that will be said. `json` and `yaml` are the value itself, under
//! [`API_VERSION`]: fields are added, never changed or removed, while that version stands.

mod style;
mod table;
mod time;

use clap::ValueEnum;
use jiff::Timestamp;
use serde::Serialize;

pub use style::{Colour, Tone};
pub use table::Grid;
pub use time::{At, relative, span_of};

use crate::failure::{ExitStatus, Failure};

/// Version of the JSON and YAML shapes.
pub const API_VERSION: &str = "failoverctl.karmada.io/v1alpha2";

/// How the answer looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For people with wide terminals: more columns.
    Wide,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
    /// Only names, one a line.
    Name,
}

/// How much a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// What matters.
    Normal,
    /// More columns.
    Wide,
}

/// What rendering for people needs beside the report.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The time that relative times count from.
    pub now: Timestamp,
    /// Whether colour is used.
    pub colour: Colour,
    /// How much is shown.
    pub width: Width,
    /// Columns of the terminal; nothing where it is none.
    pub columns: Option<usize>,
}

/// What it is shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Whether colour is used.
    pub colour: Colour,
    /// Columns of the terminal; nothing where it is none.
    pub columns: Option<usize>,
}

impl Screen {
    /// No terminal: a file, a pipe, a test.
    pub const NONE: Self = Self {
        colour: Colour::Off,
        columns: None,
    };
}

/// What a command found out.
pub trait Report: Serialize {
    /// `kind` of the JSON document.
    const KIND: &'static str;

    /// For people.
    fn text(&self, view: &View) -> String;

    /// The names that `-o name` prints.
    fn names(&self) -> Vec<String>;

    /// [`ExitStatus::Fine`], or what is wrong.
    fn status(&self) -> ExitStatus;
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a, R> {
    api_version: &'static str,
    kind: &'static str,
    as_of: At,
    #[serde(flatten)]
    report: &'a R,
}

/// One JSON or YAML document of a stream of them: JSON in one line, YAML after a line `---`.
///
/// # Errors
/// As [`render`].
pub fn document<R: Serialize>(
    kind: &'static str,
    report: &R,
    format: Format,
    now: Timestamp,
) -> Result<String, Failure> {
    let document = Document {
        api_version: API_VERSION,
        kind,
        as_of: At(now),
        report,
    };
    if format == Format::Yaml {
        let text = serde_saphyr::to_string(&document).map_err(|error| defect(format, &error))?;
        return Ok(format!("---\n{}\n", text.trim_end()));
    }
    let text = serde_json::to_string(&document).map_err(|error| defect(format, &error))?;
    Ok(format!("{text}\n"))
}

fn defect(format: Format, why: &dyn std::error::Error) -> Failure {
    Failure::new(
        ExitStatus::Problem,
        format!("cannot write the answer as {format:?}"),
        why.to_string(),
        "use -o table, and report this as a defect",
    )
}

/// Renders a report; the text ends with a line feed unless it is empty.
///
/// # Errors
/// A report that is no JSON or YAML, which would be a defect of this program.
pub fn render<R: Report>(report: &R, format: Format, now: Timestamp, screen: Screen) -> Result<String, Failure> {
    let document = Document {
        api_version: API_VERSION,
        kind: R::KIND,
        as_of: At(now),
        report,
    };
    let view = |width| View {
        now,
        colour: screen.colour,
        width,
        columns: screen.columns,
    };
    let text = match format {
        Format::Table => report.text(&view(Width::Normal)),
        Format::Wide => report.text(&view(Width::Wide)),
        Format::Json => serde_json::to_string_pretty(&document).map_err(|error| defect(format, &error))?,
        Format::Yaml => serde_saphyr::to_string(&document).map_err(|error| defect(format, &error))?,
        Format::Name => report.names().join("\n"),
    };
    let text = text.trim_end();
    Ok(if text.is_empty() {
        String::new()
    } else {
        format!("{text}\n")
    })
}
