//! Benchmarks, and stories on real API servers, that print their numbers themselves: the last line says them, as
//! `{"value": 0.25}` or, where one run measures several, each by its name, as `{"memory": 12.5, "start": 0.25}`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;
use xshell::cmd;

use crate::run::without_own_package;
use crate::workspace::Workspace;
use crate::{control_plane, e2e};

/// The name of the only number of a program.
const ONLY: &str = "value";

/// What a program said last, or why it said nothing.
type Said = std::result::Result<Value, String>;

/// Runs programs, each once.
pub struct Programs<'a> {
    workspace: &'a Workspace,
    /// Runs the one of this name; what it printed.
    run: fn(&Workspace, &str) -> Result<String>,
    said: RefCell<BTreeMap<String, Said>>,
}

impl<'a> Programs<'a> {
    /// Benchmarks that are programs of their own. Their names are of one workspace: no two are the same. The whole workspace
    /// is named to cargo, so that all are built with the same features of what they share, and once.
    pub fn benchmarks(workspace: &'a Workspace) -> Self {
        Self::run_by(workspace, |workspace, name| {
            let shell = workspace.shell();
            let command = cmd!(shell, "cargo bench --locked --workspace --bench {name}");
            // Read, not shown: it must not mix with our own report.
            Ok(without_own_package(command).quiet().read()?)
        })
    }

    /// Scenarios of `cargo xtask e2e`, with the programs that it runs.
    pub fn stories(workspace: &'a Workspace) -> Self {
        Self::run_by(workspace, |workspace, name| {
            control_plane::build()?;
            workspace.build()?;
            let story = e2e::command(workspace, name)?;
            Ok(without_own_package(story).quiet().read()?)
        })
    }

    fn run_by(workspace: &'a Workspace, run: fn(&Workspace, &str) -> Result<String>) -> Self {
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

fn last_line(printed: &str) -> Result<Value> {
    let last = printed.lines().last().context("it printed nothing")?;
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
        let value = |printed: &str, name: &str| number(&last_line(printed)?, name);
        assert!((value("words\n{\"value\": 0.25}", ONLY).unwrap() - 0.25).abs() < 1e-12);
        let several = r#"{"memory": 12.5, "start": 2}"#;
        assert!((value(several, "start").unwrap() - 2.0).abs() < 1e-12);
        for bad in ["", "words", r#"{"value": null}"#, "{\"value\": 1}\nwords", several] {
            value(bad, ONLY).unwrap_err();
        }
    }
}
