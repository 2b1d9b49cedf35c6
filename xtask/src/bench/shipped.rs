//! The program with all controllers as it is shipped: built for size, without the demo.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use xshell::cmd;

use crate::run::run_aside;
use crate::workspace::Workspace;

/// Everything from nothing, optimized as a whole, on a small machine.
const BUILD_WITHIN: Duration = Duration::from_mins(90);
/// The Dockerfile's command. Both packages are named: with one, cargo would choose other features for what they share.
const COMMAND: [&str; 10] = [
    "build",
    "--profile",
    "compact",
    "--locked",
    "--no-default-features",
    "--bins",
    "--package",
    "karmada-failover",
    "--package",
    "failoverctl",
];

/// Builds it; the folder in which it lies.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    let command = COMMAND;
    run_aside(cmd!(workspace.shell(), "cargo {command...}"), BUILD_WITHIN)?;
    Ok(workspace.target()?.join("compact"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_built_as_the_dockerfile_builds_it() {
        let dockerfile = Workspace::find().unwrap().shell().read_file("Dockerfile").unwrap();
        let words: Vec<&str> = dockerfile
            .split_ascii_whitespace()
            .filter(|word| *word != "\\")
            .collect();
        let is_there = words.windows(COMMAND.len()).any(|window| window == COMMAND);
        assert!(is_there, "cargo {}", COMMAND.join(" "));
    }
}
