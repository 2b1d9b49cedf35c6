//! The CRDs as files: written, or compared. The work is done by the package `crds`, which needs all of Kubernetes'
//! types, so that this program need not.

use std::time::Duration;

use anyhow::Result;
use xshell::cmd;

use crate::run;
use crate::workspace::Workspace;

const WITHIN: Duration = Duration::from_mins(20);

/// What is done with the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are written.
    Write,
    /// They are compared with what would be written.
    Check,
}

/// Writes or checks the files.
pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let check = (mode == Mode::Check).then_some("--check");
    let command = cmd!(workspace.shell(), "cargo run --quiet --package crds -- {check...}");
    run::run(command, WITHIN).map(drop)
}
