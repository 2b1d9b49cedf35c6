//! Scenarios with our programs on real API servers: run by the package `e2e-scenarios`.

use std::time::Duration;

use anyhow::Result;
use xshell::cmd;

use crate::run;
use crate::workspace::Workspace;

const WITHIN: Duration = Duration::from_mins(10);

/// Runs a scenario. The programs must have been built, ours ([`Workspace::build`]) and those of the control plane.
pub fn run(workspace: &Workspace, name: &str) -> Result<()> {
    let program = workspace.program("e2e-scenarios")?;
    let command = cmd!(workspace.shell(), "{program} {name}").env("KARMADA_FAILOVER_BIN_DIR", workspace.programs()?);
    run::run(command, WITHIN).map(drop)
}
