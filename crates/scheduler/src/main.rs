//! The scheduler as its own binary.

use std::process::ExitCode;

use clap::Parser;

/// Places workloads on the clusters of a fleet.
#[derive(Parser)]
#[command(name = "scheduler", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: controller_kit::KitFlags,
    #[command(flatten)]
    flags: scheduler::Flags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main("scheduler", cli.kit, scheduler::controllers(cli.flags))
}
