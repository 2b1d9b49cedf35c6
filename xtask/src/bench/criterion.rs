//! Benchmarks of a package: run once each, read from the files that criterion leaves.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::cmd;

use crate::run::without_own_package;
use crate::workspace::Workspace;

/// Runs benchmarks and knows which have been run.
pub struct Criterion<'a> {
    workspace: &'a Workspace,
    done: RefCell<BTreeSet<String>>,
}

impl<'a> Criterion<'a> {
    /// None has been run.
    pub fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            done: RefCell::default(),
        }
    }

    /// The median of a benchmark in milliseconds. `group` and `name` as the benchmark has them.
    pub fn milliseconds(&self, bench: &str, group: &str, name: &str) -> Result<f64> {
        if self.done.borrow_mut().insert(bench.to_owned()) {
            let shell = self.workspace.shell();
            // Its own report goes where it does not mix with ours.
            without_own_package(cmd!(shell, "cargo bench --locked --workspace --bench {bench}"))
                .ignore_stdout()
                .quiet()
                .run()?;
        }
        let folder = self
            .workspace
            .target()?
            .join("criterion")
            .join(file_name(group))
            .join(file_name(name));
        let nanoseconds = median(&folder.join("new").join("estimates.json"))?;
        Ok(nanoseconds / 1e6)
    }
}

/// As criterion names its folders.
fn file_name(text: &str) -> String {
    text.replace(['?', '"', '/', '\\', '*', '<', '>', ':', '|', '^'], "_")
}

fn median(estimates: &Path) -> Result<f64> {
    let text = fs::read_to_string(estimates)
        .with_context(|| format!("the benchmark left no result: {}", estimates.display()))?;
    let estimates: Value = serde_json::from_str(&text).context("criterion's result is no JSON")?;
    estimates["median"]["point_estimate"]
        .as_f64()
        .context("criterion's result has no median")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_read_and_its_absence_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("estimates.json");
        assert!(median(&file).unwrap_err().to_string().contains("left no result"));
        fs::write(
            &file,
            r#"{"mean": {"point_estimate": 1.0}, "median": {"point_estimate": 2500000.0}}"#,
        )
        .unwrap();
        assert!((median(&file).unwrap() - 2.5e6).abs() < 1e-6);
        fs::write(&file, "{}").unwrap();
        assert!(median(&file).is_err());
    }
}
