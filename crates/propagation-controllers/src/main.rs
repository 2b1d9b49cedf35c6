//! The propagation controllers as a process of their own.

use std::process::ExitCode;

use clap::Parser;
use propagation_controllers::cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main(
        "propagation-controllers",
        cli.kit,
        propagation_controllers::controllers(cli.flags),
    )
}
