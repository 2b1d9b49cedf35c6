//! The charts, rendered and installed by the real helm as a user does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod cert_manager;
#[path = "../../src/installed/component_names.rs"]
mod component_names;
mod control_plane;
mod documents;
mod flags;
mod gates;
mod golden;
mod monitoring;
mod notes;
mod objects;
mod one_cluster;
mod pods;
mod refusals;
mod restricted;
mod second_owner;
mod stand_ins;
#[path = "../../src/installed/typed.rs"]
mod typed;

use std::path::{Path, PathBuf};

use component_names::COMPONENTS;
use e2e_harness::{Helm, Tool, available_with};

/// What has to be said for a chart to render at all.
fn least(chart: &str) -> &'static [&'static str] {
    if chart == "agent" {
        &["--set", "clusterName=member1"]
    } else {
        &[]
    }
}

fn chart(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts").join(name)
}

/// helm without any API server, where it is here.
fn renderer() -> Option<Helm> {
    let binaries = available_with(Tool::Helm, "rendering the charts")?;
    Some(Helm::new(&binaries, "/dev/null").unwrap())
}
