//! The cluster-health-controller as a process of its own.

use std::process::ExitCode;

use clap::Parser;
use cluster_health_controller::cli::Cli;
use cluster_health_controller::controllers;

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main("cluster-health-controller", cli.kit, controllers(cli.flags))
}
