//! The eviction queue as a process of its own.

use std::process::ExitCode;

use clap::Parser;
use controller_kit::KitFlags;
use eviction_queue::{Flags, controllers};

/// Decides in which order and how fast workloads leave failed clusters, and serves that decision over gRPC.
#[derive(Parser)]
#[command(name = "eviction-queue", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: KitFlags,
    #[command(flatten)]
    flags: Flags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main("eviction-queue", cli.kit, controllers(cli.flags))
}
