//! Failover of applications as its own binary.

use std::process::ExitCode;

use application_failover_controller::cli::Cli;
use clap::Parser;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let problems = cli.queue.problems();
    let controllers = application_failover_controller::controllers(cli.flags, cli.queue.connector())
        .into_iter()
        .map(|controller| controller.problems(problems.clone()))
        .collect();
    controller_kit::main("application-failover-controller", cli.kit, controllers)
}
