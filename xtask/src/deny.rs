//! cargo-deny: licences, bans and sources of the dependencies, and their known vulnerabilities. It is installed into
//! the project's cache when it is not there.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use e2e_control_plane::cache_folder;
use xshell::cmd;

use crate::run::{run, run_to_end};
use crate::stage::Outcome;
use crate::workspace::Workspace;

/// Pinned: another version may know other rules.
const VERSION: &str = "0.20.2";
const INSTALL_WITHIN: Duration = Duration::from_mins(30);
const CHECK_WITHIN: Duration = Duration::from_mins(10);

/// Checks what needs no network: licences, banned and doubled crates, where crates come from.
pub fn stage(workspace: &Workspace) -> Outcome {
    let program = match install(workspace) {
        Ok(program) => program,
        Err(error) => {
            return Outcome::LeftOut(format!(
                "licences, bans and sources are not checked, cargo-deny {VERSION} cannot be installed: {error:#}"
            ));
        }
    };
    let command = cmd!(
        workspace.shell(),
        "{program} --workspace --all-features check licenses bans sources"
    );
    run(command, CHECK_WITHIN).map(drop).into()
}

/// Checks for known vulnerabilities, where the database can be reached.
pub fn advisories_stage(workspace: &Workspace) -> Outcome {
    let program = match install(workspace) {
        Ok(program) => program,
        Err(error) => return Outcome::LeftOut(format!("advisories are not checked: {error:#}")),
    };
    let fetch = cmd!(workspace.shell(), "{program} fetch db");
    match run_to_end(fetch, CHECK_WITHIN) {
        Ok(fetched) if fetched.succeeded => {}
        Ok(_) | Err(_) => {
            return Outcome::LeftOut(
                "advisories are not checked: the database of the RustSec project cannot be reached from here"
                    .to_owned(),
            );
        }
    }
    let command = cmd!(
        workspace.shell(),
        "{program} --workspace --all-features check --disable-fetch advisories"
    );
    run(command, CHECK_WITHIN).map(drop).into()
}

/// The program, installed first where it is not.
fn install(workspace: &Workspace) -> Result<PathBuf> {
    let root = cache_folder()?.join(format!("cargo-deny-{VERSION}"));
    let program = root.join("bin/cargo-deny");
    if !program.is_file() {
        eprintln!("installing cargo-deny {VERSION} (once, some minutes)");
        let command = cmd!(
            workspace.shell(),
            "cargo install cargo-deny --version {VERSION} --locked --quiet --root {root}"
        )
        // It is built in a folder of its own, not among our programs.
        .env_remove("CARGO_TARGET_DIR");
        run(command, INSTALL_WITHIN).context("cargo install")?;
    }
    Ok(program)
}
