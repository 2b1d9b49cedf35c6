//! `cargo xtask bench`: what the project promises about its speed, measured, a line for each promise.
//!
//! A row is a file in `rows/` and a line in [`rows::all`]. It says what is measured and the bar, and how the number is
//! had: by a benchmark of a package that criterion measures ([`criterion::Criterion`]), or by one that prints its number
//! itself ([`program::Programs`]).

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
}

/// Which of the two ways to print.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

/// All rows, as a stage of the test run.
pub fn stage(workspace: &Workspace) -> Outcome {
    match run(workspace, "", Output::Text) {
        Ok(true) => Outcome::Passed,
        Ok(false) => Outcome::Failed("a row falls short".to_owned()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

/// Measures the rows whose name contains `only` and prints them. Whether all hold.
pub fn run(workspace: &Workspace, only: &str, output: Output) -> Result<bool> {
    let rows: Vec<Row> = rows::all().into_iter().filter(|row| row.name.contains(only)).collect();
    ensure!(!rows.is_empty(), "no row has {only:?} in its name");
    let tools = Tools {
        criterion: Criterion::new(workspace),
        programs: Programs::new(workspace),
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
