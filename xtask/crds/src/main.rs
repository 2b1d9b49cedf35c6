//! Writes the project's CustomResourceDefinitions as YAML, or tells which files are stale.
//!
//! The types in `api-types` are the only definition; the files are for charts and `kubectl apply`.
#![allow(clippy::print_stdout, reason = "what it prints is its result")]

mod files;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::files::{Files, difference, expected, write};

/// Writes the CustomResourceDefinitions, one a file: our own beside the other things of a control plane, those of Karmada
/// in a chart of their own, for where there is no Karmada.
#[derive(Parser)]
struct Cli {
    /// Writes nothing: names the files that are stale, missing or too many, and fails if there are any.
    #[arg(long)]
    check: bool,
    /// The folder of the charts.
    #[arg(long, default_value_os_t = charts())]
    charts: PathBuf,
}

fn charts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts")
}

/// Each folder with the files that it should hold.
fn folders(charts: &Path) -> Result<[(PathBuf, Files); 2]> {
    let (own, karmadas): (Vec<_>, Vec<_>) = api_types::crds()
        .into_iter()
        .partition(|crd| crd.spec.group == "failover.karmada.io");
    Ok([
        (charts.join("control-plane/kinds"), expected(&own)?),
        (charts.join("karmada-crds/kinds"), expected(&karmadas)?),
    ])
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    let mut are_current = true;
    for (folder, expected) in folders(&cli.charts)? {
        for difference in difference(&folder, &expected)? {
            are_current = false;
            println!("{}{difference}", if cli.check { "" } else { "was " });
        }
        if !cli.check {
            write(&folder, &expected)?;
        }
    }
    if cli.check && !are_current {
        println!("run `cargo xtask crds`");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
