//! The command line of this component as a program of its own.

use clap::Parser;
use controller_kit::KitFlags;

use crate::Flags;

/// Brings objects to member clusters and their status back.
#[derive(Debug, Parser)]
#[command(name = "propagation-controllers", version = controller_kit::VERSION)]
pub struct Cli {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What this one takes.
    #[command(flatten)]
    pub flags: Flags,
}
