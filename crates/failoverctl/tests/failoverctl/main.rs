//! What `failoverctl` prints, and how it ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "helpers of tests may fail the test"
)]

mod check;
mod connection;
mod console;
mod documented;
mod drain;
mod dump;
mod errors;
mod explain;
mod explain_cluster;
mod explain_places;
mod explain_policy;
mod handback;
mod history;
mod lint_files;
mod live;
#[allow(dead_code, reason = "the agent's tests use more of it")]
#[path = "../../../agent/tests/pull/log.rs"]
mod log;
mod objects;
mod order;
mod outputs;
mod pause;
mod pipe;
mod plan;
mod port_forward;
mod queue;
mod rights;
mod server;
mod setup;
mod status;
mod taints;
#[cfg(target_os = "linux")]
mod terminal;
mod watch;

use failoverctl::output::{Format, Report, Screen, render};

/// The report as text, as somebody without a terminal gets it.
fn show<R: Report>(report: &R, format: Format) -> String {
    let render = |format| render(report, format, objects::now(), Screen::NONE).unwrap();
    // Whatever else a test looks at: YAML is the JSON.
    let json: serde_json::Value = serde_json::from_str(&render(Format::Json)).unwrap();
    let yaml: serde_json::Value = serde_saphyr::from_str(&render(Format::Yaml)).unwrap();
    assert_eq!(yaml, json, "{}", R::KIND);
    render(format)
}
