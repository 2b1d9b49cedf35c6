//! All controllers of karmada-failover in one process, and the demo.

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use controller_kit::KitFlags;
use karmada_failover::components::ComponentFlags;

/// Cluster failover for Karmada control planes.
#[derive(Parser)]
#[command(name = "karmada-failover", version = controller_kit::VERSION)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run controllers against a control plane: all of them, or those that --controllers selects.
    Run(Box<Run>),
    /// Watch a simulated fleet lose a member and recover, with nothing installed.
    #[cfg(feature = "demo")]
    Demo(karmada_failover::demo::DemoFlags),
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    kit: KitFlags,
    #[command(flatten)]
    components: ComponentFlags,
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(run) => controller_kit::main("karmada-failover", run.kit, run.components.controllers()),
        #[cfg(feature = "demo")]
        Command::Demo(flags) => karmada_failover::demo::main(&flags),
    }
}
