//! Graceful eviction as its own binary.

use std::process::ExitCode;

use clap::Parser;
use graceful_eviction_controller::cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let (wiring, problems) = match cli.shared.wiring() {
        Ok(wiring) => (wiring, Vec::new()),
        Err(problems) => (graceful_eviction_controller::Wiring::default(), problems),
    };
    let controllers = graceful_eviction_controller::controllers_with(&cli.flags, wiring);
    let controllers = controllers
        .into_iter()
        .map(|controller| controller.problems(problems.clone()))
        .collect();
    controller_kit::main("graceful-eviction-controller", cli.kit, controllers)
}
