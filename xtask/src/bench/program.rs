//! Benchmarks, and stories on real API servers, that print their numbers themselves: the last line says them, as
//! `{"value": 0.25}` or, where one run measures several, each by its name, as `{"memory": 12.5, "start": 0.25}`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;

use super::{benchmark, shipped};
use crate::run::run_aside;
use crate::workspace::Workspace;
use crate::{control_plane, e2e};

/// A story takes a few minutes.
const STORY_WITHIN: Duration = Duration::from_mins(15);
/// The name of the only number of a program.
const ONLY: &str = "value";

/// What a program said last, or why it said nothing.
type Said = std::result::Result<Value, String>;

/// Runs the one of this name; the lines that it printed.
type Run = fn(&Workspace, &str) -> Result<Vec<String>>;

/// Runs programs, each once.
pub struct Programs<'a> {
    workspace: &'a Workspace,
    run: Run,
    said: RefCell<BTreeMap<String, Said>>,
}

impl<'a> Programs<'a> {
    /// Benchmarks that are programs of their own.
    pub fn benchmarks(workspace: &'a Workspace) -> Self {
        Self::run_by(workspace, |workspace, name| benchmark::run(workspace, name, None))
    }

    /// Benchmarks on real API servers, of what is shipped.
    pub fn benchmarks_on_real_servers(workspace: &'a Workspace) -> Self {
        Self::run_by(workspace, |workspace, name| {
            control_plane::build()?;
            benchmark::run(workspace, name, Some(&shipped::build(workspace)?))
        })
    }

    /// Scenarios of `cargo xtask e2e`, with the programs that it runs.
    pub fn stories(workspace: &'a Workspace) -> Self {
        Self::run_by(workspace, |workspace, name| {
            control_plane::build()?;
            workspace.build()?;
            run_aside(e2e::command(workspace, name)?, STORY_WITHIN)
        })
    }

    /// Programs that are run in this way.
    pub fn run_by(workspace: &'a Workspace, run: Run) -> Self {
        Self {
            workspace,
            run,
            said: RefCell::default(),
        }
    }

    /// What the program says last.
    pub fn value(&self, program: &str) -> Result<f64> {
        self.named(program, ONLY)
    }

    /// One of the numbers that the program says last.
    pub fn named(&self, program: &str, name: &str) -> Result<f64> {
        let mut said = self.said.borrow_mut();
        let said = said.entry(program.to_owned()).or_insert_with(|| {
            let printed = (self.run)(self.workspace, program);
            let last = printed.and_then(|printed| last_line(&printed));
            last.map_err(|error| format!("{error:#}"))
        });
        number(said.as_ref().map_err(|error| anyhow!(error.clone()))?, name)
    }
}

fn last_line(printed: &[String]) -> Result<Value> {
    let last = printed.last().context("it printed nothing")?;
    serde_json::from_str(last).with_context(|| format!("the last line is no JSON: {last}"))
}

fn number(said: &Value, name: &str) -> Result<f64> {
    said[name]
        .as_f64()
        .with_context(|| format!("it came to no number {name:?}: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let lines = |printed: &str| -> Vec<String> { printed.lines().map(str::to_owned).collect() };
        let value = |printed: &str, name: &str| number(&last_line(&lines(printed))?, name);
        assert!((value("words\n{\"value\": 0.25}", ONLY).unwrap() - 0.25).abs() < 1e-12);
        let several = r#"{"memory": 12.5, "start": 2}"#;
        assert!((value(several, "start").unwrap() - 2.0).abs() < 1e-12);
        for bad in ["", "words", r#"{"value": null}"#, "{\"value\": 1}\nwords", several] {
            value(bad, ONLY).unwrap_err();
        }
    }

    #[test]
    fn one_that_fails_is_run_once_and_each_of_its_numbers_says_why() {
        let workspace = Workspace::find().unwrap();
        let programs = Programs::run_by(&workspace, |_, name| Err(anyhow!("{name} hangs")));
        for number in ["memory", "start"] {
            let error = programs.named("fleet", number).unwrap_err();
            assert_eq!(error.to_string(), "fleet hangs");
        }
        assert_eq!(programs.said.borrow().len(), 1);
    }
}
