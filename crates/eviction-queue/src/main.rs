//! The eviction queue as a process of its own.

use std::process::ExitCode;

use clap::Parser;
use eviction_queue::cli::Cli;
use eviction_queue::controllers;

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main("eviction-queue", cli.kit, controllers(cli.flags))
}
