//! Benchmarks that print their numbers themselves: the last line says them, as `{"value": 0.25}` or, where one run
//! measures several, each by its name, as `{"memory": 12.5, "start": 0.25}`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;
use xshell::cmd;

use crate::run::without_own_package;
use crate::workspace::Workspace;

/// The name of the only number of a benchmark.
const ONLY: &str = "value";

/// What a benchmark said last, or why it said nothing.
type Said = std::result::Result<Value, String>;

/// Runs benchmarks that are programs of their own, each once. Their names are of one workspace: no two are the same. The
/// whole workspace is named to cargo, so that all are built with the same features of what they share, and once.
pub struct Programs<'a> {
    workspace: &'a Workspace,
    said: RefCell<BTreeMap<String, Said>>,
}

impl<'a> Programs<'a> {
    /// In this checkout.
    pub fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            said: RefCell::default(),
        }
    }

    /// What the benchmark says last.
    pub fn value(&self, bench: &str) -> Result<f64> {
        self.named(bench, ONLY)
    }

    /// One of the numbers that the benchmark says last.
    pub fn named(&self, bench: &str, name: &str) -> Result<f64> {
        let mut said = self.said.borrow_mut();
        let said = said
            .entry(bench.to_owned())
            .or_insert_with(|| self.run(bench).map_err(|error| format!("{error:#}")));
        number(said.as_ref().map_err(|error| anyhow!(error.clone()))?, name)
    }

    fn run(&self, bench: &str) -> Result<Value> {
        let shell = self.workspace.shell();
        // Read, not shown: it must not mix with our own report.
        let printed = without_own_package(cmd!(shell, "cargo bench --locked --workspace --bench {bench}"))
            .quiet()
            .read()?;
        last_line(&printed)
    }
}

fn last_line(printed: &str) -> Result<Value> {
    let last = printed.lines().last().context("the benchmark printed nothing")?;
    serde_json::from_str(last).with_context(|| format!("the last line is no JSON: {last}"))
}

fn number(said: &Value, name: &str) -> Result<f64> {
    said[name]
        .as_f64()
        .with_context(|| format!("the benchmark came to no number {name:?}: {said}"))
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
