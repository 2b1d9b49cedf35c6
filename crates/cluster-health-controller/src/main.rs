//! The cluster-health-controller as a process of its own.

use std::process::ExitCode;

use clap::Parser;
use cluster_health_controller::{Flags, controllers};
use controller_kit::KitFlags;

/// Probes member clusters and keeps the conditions of their Cluster objects.
#[derive(Parser)]
#[command(name = "cluster-health-controller", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: KitFlags,
    #[command(flatten)]
    flags: Flags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main("cluster-health-controller", cli.kit, controllers(cli.flags))
}
