//! Writes the project's CustomResourceDefinitions as YAML, or tells which files are stale.
//!
//! The types in `api-types` are the only definition; the files are for charts and `kubectl apply`.
#![allow(clippy::print_stdout, reason = "what it prints is its result")]

mod files;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::files::{difference, expected, write};

/// Writes the CustomResourceDefinitions, one a file.
#[derive(Parser)]
struct Cli {
    /// Writes nothing: names the files that are stale, missing or too many, and fails if there are any.
    #[arg(long)]
    check: bool,
    /// The folder.
    #[arg(long, default_value_os_t = default_folder())]
    folder: PathBuf,
}

fn default_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/control-plane/crds")
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    let expected = expected(&api_types::crds())?;
    let differences = difference(&cli.folder, &expected)?;
    if cli.check {
        for difference in &differences {
            println!("{difference}");
        }
        if !differences.is_empty() {
            println!("run `cargo xtask crds`");
            return Ok(ExitCode::FAILURE);
        }
    } else {
        write(&cli.folder, &expected)?;
        for difference in &differences {
            println!("was {difference}");
        }
    }
    Ok(ExitCode::SUCCESS)
}
