//! The propagation controllers as a process of their own.

use std::process::ExitCode;

use clap::Parser;
use controller_kit::KitFlags;

/// Brings objects to member clusters and their status back.
#[derive(Parser)]
#[command(name = "propagation-controllers", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: KitFlags,
    #[command(flatten)]
    flags: propagation_controllers::Flags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main(
        "propagation-controllers",
        cli.kit,
        propagation_controllers::controllers(cli.flags),
    )
}
