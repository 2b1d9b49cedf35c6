//! The command line of `cargo xtask`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// What a contributor and CI run: checks, tests, generated files, the programs of a real control plane.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// What to do.
#[derive(Subcommand)]
pub enum Task {
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
    /// Writes docs/reference/flags.md from the programs' definitions.
    Docs {
        /// Writes nothing: fails when a page is stale.
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
    /// Carries out the build step of the Dockerfile here, on a copy of what .dockerignore lets through, and fails when a
    /// program is larger than it may be.
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
