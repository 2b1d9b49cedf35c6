//! Failover of applications as its own binary.

use std::process::ExitCode;

use clap::Parser;
use eviction_queue_api::QueueFlags;

/// Finds out which applications are unhealthy for too long where they run, and asks the eviction queue to move them.
#[derive(Parser)]
#[command(name = "application-failover-controller", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: controller_kit::KitFlags,
    #[command(flatten)]
    flags: application_failover_controller::Flags,
    #[command(flatten)]
    queue: QueueFlags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let problems = cli.queue.problems();
    let controllers = application_failover_controller::controllers(cli.flags, cli.queue.connector())
        .into_iter()
        .map(|controller| controller.problems(problems.clone()))
        .collect();
    controller_kit::main("application-failover-controller", cli.kit, controllers)
}
