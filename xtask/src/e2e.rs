//! Scenarios with our programs on real API servers: run by the package `e2e-scenarios`.

use std::time::Duration;

use anyhow::Result;
use xshell::{Cmd, cmd};

use crate::run;
use crate::workspace::Workspace;

/// The scenario that every run of the tests tells: the worked example with everything as the charts install it.
pub const INSTALLED: &str = "installed";

/// The scenarios that only `--full` tells too, with the names of their stages.
pub const OTHERS: [(&str, &str); 16] = [
    ("e2e installed-beside", "installed-beside"),
    ("e2e worked-example", "worked-example"),
    ("e2e restarts", "restarts"),
    ("e2e mass-failure", "mass-failure"),
    ("e2e evictions", "evictions"),
    ("e2e application-failover", "application-failover"),
    ("e2e no-target", "no-target"),
    ("e2e drain", "drain"),
    ("e2e opt-in", "opt-in"),
    ("e2e custom-kind", "custom-kind"),
    ("e2e regions", "regions"),
    ("e2e room", "room"),
    ("e2e fallback", "fallback"),
    ("e2e taint-policies", "taint-policies"),
    ("e2e cluster-health", "cluster-health"),
    ("e2e pull-member", "pull-member"),
];

const WITHIN: Duration = Duration::from_mins(10);

/// Runs a scenario. The programs must have been built, ours ([`Workspace::build`]) and those of the control plane.
pub fn run(workspace: &Workspace, name: &str) -> Result<()> {
    run::run(command(workspace, name)?, WITHIN).map(drop)
}

/// What runs it.
pub fn command<'a>(workspace: &'a Workspace, name: &str) -> Result<Cmd<'a>> {
    let program = workspace.program("e2e-scenarios")?;
    let command = cmd!(workspace.shell(), "{program} {name}");
    Ok(command.env("KARMADA_FAILOVER_BIN_DIR", workspace.programs()?))
}
