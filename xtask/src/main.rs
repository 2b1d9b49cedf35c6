//! The project's tasks: `cargo xtask --help`.
#![allow(clippy::print_stdout, reason = "what a task prints is its result")]

mod bench;
mod build_context;
mod charts;
mod control_plane;
mod crds;
mod demo;
mod deny;
mod dockerignore;
mod docs;
mod e2e;
mod images;
mod processes;
mod prometheus;
mod run;
mod sbom;
mod stage;
mod suite;
mod third_party;
mod totals;
mod version;
mod workspace;

use std::process::ExitCode;

use clap::Parser;
use xtask::cli::{Cli, Task};

use crate::workspace::Workspace;

fn main() -> ExitCode {
    match perform(Cli::parse().task) {
        Ok(code) => code,
        Err(error) => {
            // One line, also where RUST_BACKTRACE is set: what is wrong is the machine or the code, not this program.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> anyhow::Result<ExitCode> {
    let workspace = Workspace::find()?;
    match task {
        Task::Test { full } => {
            let extent = if full {
                suite::Extent::Full
            } else {
                suite::Extent::Usual
            };
            return Ok(if suite::run(&workspace, extent)? {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        Task::Crds { check } => {
            let mode = if check { crds::Mode::Check } else { crds::Mode::Write };
            crds::run(&workspace, mode)?;
        }
        Task::Charts { check } => {
            let mode = if check {
                charts::Mode::Check
            } else {
                charts::Mode::Write
            };
            charts::run(&workspace, mode)?;
        }
        Task::Docs { check } => {
            let mode = if check { crds::Mode::Check } else { crds::Mode::Write };
            docs::run(&workspace, mode)?;
        }
        Task::Prometheus => {
            let found = e2e_control_plane::fetch_prometheus()?;
            println!("{}", found.promtool().with_file_name("").display());
        }
        Task::Images => images::run(&workspace)?,
        Task::Sbom { output } => sbom::run(&workspace, output.as_deref(), &images::programs(&workspace)?)?,
        Task::ThirdParty { output } => {
            third_party::run(&workspace, output.as_deref(), &images::programs(&workspace)?)?;
        }
        Task::ControlPlane => println!("{}", control_plane::build()?.folder().display()),
        Task::Bench { only, json } => {
            let output = if json { bench::Output::Json } else { bench::Output::Text };
            if !bench::run(&workspace, &only, output)? {
                return Ok(ExitCode::FAILURE);
            }
        }
        Task::E2e { name } => {
            control_plane::build()?;
            workspace.build()?;
            e2e::run(&workspace, &name)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
