//! The project's tasks: `cargo xtask --help`.
#![allow(clippy::print_stdout, reason = "what a task prints is its result")]

mod bench;
mod charts;
mod control_plane;
mod crds;
mod demo;
mod deny;
mod e2e;
mod images;
mod prometheus;
mod run;
mod sbom;
mod stage;
mod suite;
mod third_party;
mod totals;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// What a contributor and CI run: checks, tests, generated files, the programs of a real control plane.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything that has to hold before a change lands: formatting, lints, licences, all tests, the demo, and the
    /// worked example on real API servers. Ends with a line `N passed, N failed`.
    Test {
        /// The long ones too: every restart and every scenario on real API servers, the benchmarks, known vulnerabilities
        /// of the dependencies.
        #[arg(long)]
        full: bool,
    },
    /// Writes the CustomResourceDefinitions into charts/control-plane/kinds and charts/karmada-crds/kinds.
    Crds {
        /// Writes nothing: fails and names the files when they are stale.
        #[arg(long)]
        check: bool,
    },
    /// Writes the README of each chart from the comments of its values.yaml.
    Charts {
        /// Writes nothing: fails and names the files when they are stale.
        #[arg(long)]
        check: bool,
    },
    /// Builds etcd, the Kubernetes servers, kwok, kubectl, grpcurl and helm into a cache, unless they are there, and prints
    /// the folder.
    ControlPlane,
    /// Fetches Prometheus and promtool (Debian's package) into a cache, unless they are there, and prints the folder.
    Prometheus,
    /// Measures what the project promises about its speed, in a release build. Prints a line for each promise: name,
    /// value, bar, whether it holds, and on which machine. Fails when one falls short.
    Bench {
        /// Only rows that have this in their name.
        #[arg(default_value = "")]
        only: String,
        /// One JSON document instead of lines.
        #[arg(long)]
        json: bool,
    },
    /// Carries out the build step of the Dockerfile here, and fails when a program is larger than it may be.
    Images,
    /// Prints a CycloneDX document of all that is compiled into the programs, with licences and checksums.
    Sbom {
        /// Writes it there instead.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Prints the licences, in full, of all that is compiled into the programs.
    ThirdParty {
        /// Writes them there instead.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Runs a scenario with our programs on a real control plane with real members.
    E2e {
        /// The scenario, for example worked-example.
        name: String,
    },
}

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
