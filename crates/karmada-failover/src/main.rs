//! All controllers of karmada-failover in one process, and the demo.

use std::process::ExitCode;

use clap::Parser;
use karmada_failover::cli::{Cli, Command};

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(run) => controller_kit::main("karmada-failover", run.kit, run.components.controllers()),
        #[cfg(feature = "demo")]
        Command::Demo(flags) => karmada_failover::demo::main(&flags),
    }
}
