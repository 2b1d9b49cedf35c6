//! The taint-policy-controller as a process of its own.

use std::process::ExitCode;

use clap::Parser;
use taint_policy_controller::cli::Cli;
use taint_policy_controller::controllers_in;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let controllers = controllers_in(cli.flags, cli.mode.mode);
    controller_kit::main("taint-policy-controller", cli.kit, controllers)
}
