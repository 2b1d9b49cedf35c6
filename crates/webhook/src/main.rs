//! The admission webhook as its own binary.

use std::process::ExitCode;

use clap::Parser;
use webhook::cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main("webhook", cli.kit, webhook::controllers(cli.flags))
}
