//! Benchmarks that print their number themselves: the last line says it, as `{"value": 0.25}`.

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::cmd;

use crate::workspace::Workspace;

/// Runs benchmarks of packages that are programs of their own.
pub struct Programs<'a> {
    workspace: &'a Workspace,
}

impl<'a> Programs<'a> {
    /// In this checkout.
    pub fn new(workspace: &'a Workspace) -> Self {
        Self { workspace }
    }

    /// What the benchmark says last.
    pub fn value(&self, package: &str, bench: &str) -> Result<f64> {
        let shell = self.workspace.shell();
        // Read, not shown: it must not mix with our own report.
        let printed = cmd!(shell, "cargo bench --locked -p {package} --bench {bench}")
            .quiet()
            .read()?;
        last_value(&printed)
    }
}

fn last_value(printed: &str) -> Result<f64> {
    let last = printed.lines().last().context("the benchmark printed nothing")?;
    let said: Value = serde_json::from_str(last).with_context(|| format!("the last line is no JSON: {last}"))?;
    said["value"]
        .as_f64()
        .with_context(|| format!("the benchmark came to no number: {last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let value = last_value("words\n{\"value\": 0.25}").unwrap();
        assert!((value - 0.25).abs() < 1e-12);
        for bad in ["", "words", r#"{"value": null}"#, "{\"value\": 1}\nwords"] {
            last_value(bad).unwrap_err();
        }
    }
}
