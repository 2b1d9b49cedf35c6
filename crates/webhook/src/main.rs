//! The admission webhook as its own binary.

use std::process::ExitCode;

use clap::Parser;

/// Answers the API server's questions about policies, pauses and clusters that somebody writes: refuses what can never
/// work, and warns of what is doubtful.
#[derive(Parser)]
#[command(name = "webhook", version = controller_kit::VERSION)]
struct Cli {
    #[command(flatten)]
    kit: controller_kit::KitFlags,
    #[command(flatten)]
    flags: webhook::Flags,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    controller_kit::main("webhook", cli.kit, webhook::controllers(cli.flags))
}
