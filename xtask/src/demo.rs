//! The demo tells its story, says itself that it came out right, and keeps what programs that read it were promised.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use xshell::cmd;

use crate::run::run_to_end;
use crate::workspace::Workspace;

/// The story takes less than a minute.
const WITHIN: Duration = Duration::from_mins(1);

/// The steps that every telling has, in their order; others may stand between.
const STEPS: [&str; 10] = [
    "ClusterFailed",
    "ClusterNotReady",
    "TaintAdded",
    "EvictionQueued",
    "EvictionReleased",
    "ClusterEvicted",
    "Rescheduled",
    "ReplacementHealthy",
    "OldCopyKept",
    "ClusterReturned",
];
/// Those that come after them, in whatever order.
const AT_THE_END: [&str; 2] = ["TaintRemoved", "OldCopyRemoved"];
/// Where a reader finds what is told of.
const ADDRESSES: [&str; 3] = ["kubeconfig", "queue", "metrics"];

/// Runs `karmada-failover demo` and checks its lines and its exit status.
pub fn run(workspace: &Workspace) -> Result<()> {
    let program = workspace.program("karmada-failover")?;
    let command = cmd!(workspace.shell(), "{program} demo --fast --output json");
    let finished = run_to_end(command, WITHIN)?;
    let verdict = came_out_right(&finished.lines);
    ensure!(finished.succeeded, "the demo's exit status says that it failed");
    verdict
}

/// One JSON object a line: `Started` with its addresses, the steps with time and reason, a `Summary` that is ok.
fn came_out_right(lines: &[String]) -> Result<()> {
    let told: Vec<Value> = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line).with_context(|| format!("the demo printed a line that is no JSON: {line}"))
        })
        .collect::<Result<_>>()?;
    let [started, steps @ .., summary] = &told[..] else {
        anyhow::bail!("the demo printed less than a beginning and an end: {told:?}");
    };
    ensure!(
        started["step"] == "Started",
        "the demo's first line is not Started: {started}"
    );
    for address in ADDRESSES {
        ensure!(
            started[address].is_string(),
            "Started does not say the {address}: {started}"
        );
    }
    ensure!(
        summary["step"] == "Summary",
        "the demo's last line is no Summary: {summary}"
    );
    ensure!(
        summary["ok"] == true,
        "the demo's story did not come out right: {summary}"
    );
    ensure!(
        summary["bindings"] == json!({"default/nginx-deployment": {"member2": 3}}),
        "the demo's story ended elsewhere: {summary}"
    );
    let mut before = 0.0;
    for step in steps {
        let at = step["at"]
            .as_f64()
            .with_context(|| format!("a step without a time: {step}"))?;
        ensure!(at >= before, "a step before the one above it: {step}");
        before = at;
        let has_reason = step["why"].as_str().is_some_and(|why| !why.is_empty());
        ensure!(
            has_reason && step["step"].is_string(),
            "a step without a name or a reason: {step}"
        );
    }
    let mut names = steps.iter().filter_map(|step| step["step"].as_str());
    for wanted in STEPS {
        ensure!(names.any(|name| name == wanted), "{wanted} is not told in its place");
    }
    let rest: Vec<&str> = names.collect();
    for wanted in AT_THE_END {
        ensure!(rest.contains(&wanted), "{wanted} is not told at the end");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story() -> Vec<Value> {
        let mut lines = vec![
            json!({"step": "Started", "kubeconfig": "/tmp/k", "queue": "127.0.0.1:1", "metrics": "http://127.0.0.1:2/metrics"}),
        ];
        let steps = STEPS.iter().chain(&AT_THE_END).enumerate();
        lines.extend(steps.map(|(at, step)| json!({"step": step, "at": at, "why": "it is so"})));
        lines.push(json!({"step": "Summary", "ok": true, "bindings": {"default/nginx-deployment": {"member2": 3}}}));
        lines
    }

    fn verdict(lines: &[Value]) -> Result<()> {
        came_out_right(&lines.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn a_story_that_keeps_all_promises_is_good() {
        verdict(&story()).unwrap();
        let mut other_order = story();
        let last = other_order.len() - 2;
        other_order[last - 1]["step"] = json!("OldCopyRemoved");
        other_order[last]["step"] = json!("TaintRemoved");
        verdict(&other_order).unwrap();
    }

    #[test]
    fn each_promise_that_is_not_kept_is_named() {
        for line in 0..story().len() {
            let mut without = story();
            let gone = without.remove(line);
            assert!(verdict(&without).is_err(), "without {gone}");
        }
        let last = story().len() - 1;
        for (line, field, value) in [
            (0, "kubeconfig", Value::Null),
            (0, "queue", Value::Null),
            (0, "metrics", Value::Null),
            (3, "at", Value::Null),
            (3, "at", json!(0.5)),
            (3, "why", json!("")),
            (last, "ok", json!(false)),
            (last, "ok", Value::Null),
            (last, "bindings", json!({"default/nginx-deployment": {"member1": 3}})),
        ] {
            let mut story = story();
            story[line][field] = value.clone();
            assert!(verdict(&story).is_err(), "line {line}: {field} is {value}");
        }
        assert!(came_out_right(&["a log line".to_owned()]).is_err());
        assert!(came_out_right(&[]).is_err());
    }
}
