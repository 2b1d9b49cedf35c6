//! The scheduler with two plugins more.
//!
//! ```console
//! $ cargo run -p scheduler-plugin -- --scheduler-name=tenants                      # with Tenants
//! $ cargo run -p scheduler-plugin -- --scheduler-name=tenants --plugins='*,Price'  # with both
//! ```

use std::process::ExitCode;

use clap::Parser;
use scheduler::{Flags, controllers_with};

/// Places workloads on the clusters of a fleet, each on those of its tenant.
#[derive(Parser)]
#[command(name = "scheduler-plugin", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: controller_kit::KitFlags,
    #[command(flatten)]
    flags: Flags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let controllers = controllers_with(cli.flags, &scheduler_plugin::registry());
    controller_kit::main("scheduler-plugin", cli.kit, controllers)
}
