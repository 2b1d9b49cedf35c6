//! A benchmark of a package: built without a hurry, then run within a limit, so that one that hangs costs its own rows alone.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use xshell::cmd;

use crate::run::run_aside;
use crate::workspace::Workspace;

/// All packages from nothing, optimized, on a small machine.
const BUILD_WITHIN: Duration = Duration::from_mins(120);
/// The longest takes a few minutes.
const RUN_WITHIN: Duration = Duration::from_mins(30);

/// Runs a benchmark, on programs of that folder where one is named; the lines that it printed.
///
/// Names are of one workspace: no two benchmarks have the same. The whole workspace is named to cargo, so that all are built
/// with the same features of what they share, and once.
pub fn run(workspace: &Workspace, name: &str, programs: Option<&Path>) -> Result<Vec<String>> {
    let shell = workspace.shell();
    let build = cmd!(shell, "cargo bench --locked --workspace --no-run --bench {name}");
    run_aside(build, BUILD_WITHIN)?;
    let mut command = cmd!(shell, "cargo bench --locked --workspace --bench {name}");
    if let Some(folder) = programs {
        command = command.env("KARMADA_FAILOVER_BIN_DIR", folder);
    }
    run_aside(command, RUN_WITHIN)
}
