//! The demo tells its story, and says itself that it came out right.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use xshell::cmd;

use crate::run::run_to_end;
use crate::workspace::Workspace;

/// The story takes less than a minute; a debug build on a busy machine a little more.
const WITHIN: Duration = Duration::from_mins(3);

/// Runs `karmada-failover demo` and checks its last line and its exit status.
pub fn run(workspace: &Workspace) -> Result<()> {
    let program = workspace.program("karmada-failover")?;
    let command = cmd!(workspace.shell(), "{program} demo --fast --output json");
    let finished = run_to_end(command, WITHIN)?;
    let verdict = came_out_right(&finished.lines);
    ensure!(finished.succeeded, "the demo's exit status says that it failed");
    verdict
}

/// Every line is one JSON object with a step, and the last is a Summary that is ok.
fn came_out_right(lines: &[String]) -> Result<()> {
    let mut last = Value::Null;
    for line in lines.iter().filter(|line| !line.trim().is_empty()) {
        last =
            serde_json::from_str(line).with_context(|| format!("the demo printed a line that is no JSON: {line}"))?;
        ensure!(
            last["step"].is_string(),
            "the demo printed a line without a step: {line}"
        );
    }
    ensure!(last["step"] == "Summary", "the demo's last line is no Summary: {last}");
    ensure!(last["ok"] == true, "the demo's story did not come out right: {last}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(lines: &[&str]) -> Result<()> {
        came_out_right(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn only_a_good_summary_at_the_end_is_a_good_story() {
        let started = r#"{"step":"Started"}"#;
        let good = r#"{"step":"Summary","ok":true}"#;
        verdict(&[started, good, ""]).unwrap();
        for bad in [
            vec![],
            vec![started],
            vec![good, started],
            vec![started, r#"{"step":"Summary","ok":false}"#],
            vec![started, r#"{"step":"Summary"}"#],
            vec!["a log line", good],
            vec![r#"{"ok":true}"#, good],
        ] {
            assert!(verdict(&bad).is_err(), "{bad:?}");
        }
    }
}
