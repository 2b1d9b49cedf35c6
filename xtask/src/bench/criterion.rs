//! Benchmarks of a package: run once each, read from the files that criterion leaves.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;

use crate::workspace::Workspace;

/// Runs the benchmarks of this name.
type Run = fn(&Workspace, &str) -> Result<()>;

/// Runs benchmarks and knows which have been run, and which could not be.
pub struct Criterion<'a> {
    workspace: &'a Workspace,
    run: Run,
    done: RefCell<BTreeMap<String, Result<(), String>>>,
}

impl<'a> Criterion<'a> {
    /// None has been run.
    pub fn new(workspace: &'a Workspace) -> Self {
        Self::run_by(workspace, |workspace, bench| {
            super::benchmark::run(workspace, bench, None).map(drop)
        })
    }

    /// The same where they are run otherwise.
    pub fn run_by(workspace: &'a Workspace, run: Run) -> Self {
        Self {
            workspace,
            run,
            done: RefCell::default(),
        }
    }

    /// The median of a benchmark in milliseconds. `group` and `name` as the benchmark has them.
    pub fn milliseconds(&self, bench: &str, group: &str, name: &str) -> Result<f64> {
        // What lies there of an earlier run says nothing of this one.
        let mut done = self.done.borrow_mut();
        let done = done
            .entry(bench.to_owned())
            .or_insert_with(|| (self.run)(self.workspace, bench).map_err(|error| format!("{error:#}")));
        done.as_ref().map_err(|error| anyhow!(error.clone()))?;
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

    #[test]
    fn one_that_could_not_be_run_is_not_measured_by_what_an_earlier_run_left() {
        let workspace = Workspace::find().unwrap();
        let criterion = Criterion::run_by(&workspace, |_, bench| Err(anyhow!("{bench} does not build")));
        for _ in 0..2 {
            let error = criterion
                .milliseconds("queue", "queue", "300,000 operations")
                .unwrap_err();
            assert_eq!(error.to_string(), "queue does not build");
        }
    }
}
