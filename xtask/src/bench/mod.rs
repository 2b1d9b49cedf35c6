//! `cargo xtask bench`: what the project promises about its speed, measured, a line for each promise.
//!
//! A row is a file in `rows/` and a line in [`rows::all`] or [`rows::on_real_servers`]. It says what is measured and the
//! bar, and how the number is had: by a benchmark of a package that criterion measures ([`criterion::Criterion`]), or by
//! one, or a story on real API servers, that prints its number itself ([`program::Programs`]).

mod criterion;
mod machine;
mod program;
mod report;
mod rows;

use anyhow::{Result, ensure};

use self::criterion::Criterion;
use self::machine::Machine;
use self::program::Programs;
use self::report::{Measured, print};
use crate::stage::Outcome;
use crate::workspace::Workspace;

/// One promise.
pub struct Row {
    /// What is measured, in a few words.
    pub name: &'static str,
    /// Unit of value and bar.
    pub unit: &'static str,
    /// What the value is held against.
    pub bar: Bar,
    /// Measures it.
    pub measure: fn(&Tools<'_>) -> Result<f64>,
}

/// The worst value that still holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// Less is better.
    AtMost(f64),
    /// More is better.
    AtLeast(f64),
}

impl Bar {
    /// Whether the promise is kept. What is no number keeps none.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(bar) => value <= bar,
            Self::AtLeast(bar) => value >= bar,
        }
    }

    /// The bar itself.
    pub fn value(self) -> f64 {
        match self {
            Self::AtMost(bar) | Self::AtLeast(bar) => bar,
        }
    }
}

/// What rows measure with.
pub struct Tools<'a> {
    /// Benchmarks of packages.
    pub criterion: Criterion<'a>,
    /// Benchmarks that print their number.
    pub programs: Programs<'a>,
    /// Stories on real API servers that do.
    pub stories: Programs<'a>,
}

/// Which of the two ways to print.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

/// All rows, as a stage of the test run; without those that need real API servers where there are none, which a stage of its
/// own says.
pub fn stage(workspace: &Workspace, on_real_servers: bool) -> Outcome {
    let mut rows = rows::all();
    if on_real_servers {
        rows.extend(rows::on_real_servers());
    }
    match measure(workspace, &rows, Output::Text) {
        Ok(true) => Outcome::Passed,
        Ok(false) => Outcome::Failed("a row falls short".to_owned()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

/// Measures the rows whose name contains `only` and prints them. Whether all hold.
pub fn run(workspace: &Workspace, only: &str, output: Output) -> Result<bool> {
    let all = rows::all().into_iter().chain(rows::on_real_servers());
    let rows: Vec<Row> = all.filter(|row| row.name.contains(only)).collect();
    ensure!(!rows.is_empty(), "no row has {only:?} in its name");
    measure(workspace, &rows, output)
}

fn measure(workspace: &Workspace, rows: &[Row], output: Output) -> Result<bool> {
    let tools = Tools {
        criterion: Criterion::new(workspace),
        programs: Programs::benchmarks(workspace),
        stories: Programs::stories(workspace),
    };
    let measured: Vec<Measured> = rows
        .iter()
        .map(|row| {
            eprintln!("measuring: {}", row.name);
            Measured::new(row, (row.measure)(&tools))
        })
        .collect();
    print(&measured, &Machine::this(), output)?;
    Ok(measured.iter().all(Measured::holds))
}
