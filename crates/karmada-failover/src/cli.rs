//! The command line of the program that has all controllers.

use clap::{Args, Parser, Subcommand};
use controller_kit::KitFlags;

use crate::components::ComponentFlags;

/// Cluster failover for Karmada control planes.
#[derive(Debug, Parser)]
#[command(name = "karmada-failover", version = controller_kit::VERSION)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run controllers against a control plane: all of them, or those that --controllers selects.
    Run(Box<Run>),
    /// Watch a simulated fleet lose a member and recover, with nothing installed.
    #[cfg(feature = "demo")]
    Demo(crate::demo::DemoFlags),
}

/// What runs.
#[derive(Debug, Args)]
pub struct Run {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What the components take.
    #[command(flatten)]
    pub components: ComponentFlags,
}
