//! Pages that are generated from the programs' definitions: written, or compared. The work is done by a test, which has
//! all programs, so that this program need not.

use std::time::Duration;

use anyhow::Result;
use xshell::cmd;

use crate::crds::Mode;
use crate::run;
use crate::workspace::Workspace;

const WITHIN: Duration = Duration::from_mins(40);

/// Writes or checks the pages.
pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let mut command = cmd!(
        workspace.shell(),
        "cargo test --quiet --locked --workspace --test documents -- reference"
    );
    if mode == Mode::Write {
        command = command.env("KARMADA_FAILOVER_WRITE_DOCS", "1");
    }
    run::run(command, WITHIN).map(drop)
}
