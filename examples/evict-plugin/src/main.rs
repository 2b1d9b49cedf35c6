//! The graceful eviction controller with one plugin more.
//!
//! ```console
//! $ cargo run -p evict-plugin -- --evict-plugins='*'                  # all, SignedOff too
//! $ cargo run -p evict-plugin -- --evict-plugins=SignedOff            # this one alone
//! ```

use std::process::ExitCode;

use clap::Parser;
use evict_plugin::SignedOff;
use failover_core::graceful::EvictPlugins;
use graceful_eviction_controller::{Flags, Wiring, controllers_with};

#[derive(Parser)]
#[command(name = "evict-plugin", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: controller_kit::KitFlags,
    #[command(flatten)]
    flags: Flags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let wiring = Wiring::default().with_plugins(EvictPlugins::all().with(SignedOff));
    controller_kit::main("evict-plugin", cli.kit, controllers_with(&cli.flags, wiring))
}
