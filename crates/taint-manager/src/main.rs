//! The taint manager and the evictor as a process of their own.

use std::process::ExitCode;

use clap::Parser;
use controller_kit::{KitFlags, ModeFlags};
use taint_manager::{Flags, Wiring, controllers_with};

/// Finds out which workloads have to leave tainted clusters, and moves them as the eviction queue allows.
#[derive(Parser)]
#[command(name = "taint-manager", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: KitFlags,
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    mode: ModeFlags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let wiring = Wiring {
        mode: cli.mode.mode,
        ..Wiring::by_flags(&cli.flags)
    };
    controller_kit::main("taint-manager", cli.kit, controllers_with(cli.flags, wiring))
}
