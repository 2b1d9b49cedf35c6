//! The command line of this component as a program of its own.

use clap::Parser;
use controller_kit::KitFlags;

use crate::Flags;

/// Places workloads on the clusters of a fleet.
#[derive(Debug, Parser)]
#[command(name = "scheduler", version = controller_kit::VERSION)]
pub struct Cli {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What this one takes.
    #[command(flatten)]
    pub flags: Flags,
}
