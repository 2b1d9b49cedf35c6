//! Graceful eviction as its own binary.

use std::process::ExitCode;

use clap::Parser;

/// Lets copies on failed clusters go when they are replaced.
#[derive(Parser)]
#[command(name = "graceful-eviction-controller", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: controller_kit::KitFlags,
    #[command(flatten)]
    flags: graceful_eviction_controller::Flags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main(
        "graceful-eviction-controller",
        cli.kit,
        graceful_eviction_controller::controllers(cli.flags),
    )
}
