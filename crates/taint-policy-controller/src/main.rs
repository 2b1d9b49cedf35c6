//! The taint-policy-controller as a process of its own.

use std::process::ExitCode;

use clap::Parser;
use controller_kit::{KitFlags, ModeFlags};
use taint_policy_controller::{Flags, controllers_in};

/// Puts taints on Clusters and takes them off, as ClusterTaintPolicies say.
#[derive(Parser)]
#[command(name = "taint-policy-controller", version = controller_kit::VERSION)]
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
    let controllers = controllers_in(cli.flags, cli.mode.mode);
    controller_kit::main("taint-policy-controller", cli.kit, controllers)
}
