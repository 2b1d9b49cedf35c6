//! `cargo xtask bench`: what the project promises about its speed, measured, a line for each promise.
//!
//! A row is a file in `rows/` and a line in [`rows::all`] or [`rows::on_real_servers`]. It says what is measured and the
//! bar, and how the number is had: by a benchmark of a package that criterion measures ([`criterion::Criterion`]), or by
//! one, or a story on real API servers, that prints its number itself ([`program::Programs`]).

mod benchmark;
mod criterion;
mod machine;
mod program;
mod report;
mod rows;
mod shipped;

use anyhow::{Result, ensure};

use self::criterion::Criterion;
use self::machine::Machine;
use self::program::Programs;
use self::report::{Measured, document};
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
    /// Benchmarks on real API servers that do.
    pub on_real_servers: Programs<'a>,
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

/// Measures the rows whose name contains `only` and prints each. Whether all hold.
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
        on_real_servers: Programs::benchmarks_on_real_servers(workspace),
        stories: Programs::stories(workspace),
    };
    let machine = Machine::this();
    let mut measured = Vec::new();
    for row in rows {
        eprintln!("measuring: {}", row.name);
        let row = Measured::new(row, (row.measure)(&tools));
        // As soon as it is known: who loses patience has what there is.
        match output {
            Output::Text => println!("{}", row.line(&machine)),
            Output::Json => eprintln!("{}", row.line(&machine)),
        }
        measured.push(row);
    }
    if output == Output::Json {
        println!("{}", serde_json::to_string_pretty(&document(&measured, &machine))?);
    }
    Ok(measured.iter().all(Measured::holds))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::path::Path;

    use anyhow::anyhow;

    use super::*;
    use crate::e2e;

    thread_local! {
        static ASKED_FOR: RefCell<BTreeSet<String>> = RefCell::default();
    }

    /// The benchmarks and the stories by which the rows are measured.
    fn asked_for(workspace: &Workspace) -> [BTreeSet<String>; 2] {
        let tools = Tools {
            criterion: Criterion::run_by(workspace, |_, name| Err(noted("bench", name))),
            programs: Programs::run_by(workspace, |_, name| Err(noted("bench", name))),
            on_real_servers: Programs::run_by(workspace, |_, name| Err(noted("bench", name))),
            stories: Programs::run_by(workspace, |_, name| Err(noted("story", name))),
        };
        for row in rows::all().into_iter().chain(rows::on_real_servers()) {
            let error = (row.measure)(&tools).unwrap_err().to_string();
            assert_eq!(error, "nothing is run", "{}", row.name);
        }
        let asked = ASKED_FOR.take();
        ["bench ", "story "].map(|kind| {
            let names = asked.iter().filter_map(|asked| asked.strip_prefix(kind));
            names.map(str::to_owned).collect()
        })
    }

    fn noted(kind: &str, name: &str) -> anyhow::Error {
        ASKED_FOR.with_borrow_mut(|asked| asked.insert(format!("{kind} {name}")));
        anyhow!("nothing is run")
    }

    /// The names in the `[[bench]]` sections of a package.
    fn benches_of(package: &Path) -> Vec<String> {
        let manifest = std::fs::read_to_string(package.join("Cargo.toml")).unwrap_or_default();
        let sections = manifest.split("[[bench]]").skip(1);
        let names = sections.filter_map(|section| section.lines().find_map(|line| line.strip_prefix("name = ")));
        names.map(|name| name.trim_matches('"').to_owned()).collect()
    }

    #[test]
    fn each_row_is_measured_by_a_benchmark_or_a_story_that_there_is_and_none_is_forgotten() {
        let workspace = Workspace::find().unwrap();
        let crates = std::fs::read_dir(workspace.shell().current_dir().join("crates")).unwrap();
        let there: Vec<String> = crates
            .flat_map(|package| benches_of(&package.unwrap().path()))
            .collect();
        let unique: BTreeSet<String> = there.iter().cloned().collect();
        assert_eq!(
            unique.len(),
            there.len(),
            "two benchmarks have the same name: {there:?}"
        );
        let [benches, stories] = asked_for(&workspace);
        assert_eq!(benches, unique);
        for story in stories {
            let others = e2e::OTHERS.iter().map(|(_, name)| *name);
            assert!(others.chain([e2e::INSTALLED]).any(|name| name == story), "{story}");
        }
    }

    #[test]
    fn no_two_rows_have_the_same_name() {
        let rows: Vec<Row> = rows::all().into_iter().chain(rows::on_real_servers()).collect();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), rows.len());
    }
}
