//! The scheduler as its own binary.

use std::process::ExitCode;

use clap::Parser;
use scheduler::cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main("scheduler", cli.kit, scheduler::controllers(cli.flags))
}
