//! The taint manager and the evictor as a process of their own.

use std::process::ExitCode;

use clap::Parser;
use taint_manager::cli::Cli;
use taint_manager::{Wiring, controllers_with};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let wiring = Wiring {
        mode: cli.mode.mode,
        ..Wiring::by_flags(&cli.flags)
    };
    controller_kit::main("taint-manager", cli.kit, controllers_with(cli.flags, wiring))
}
