//! The command line of this component as a program of its own.

use clap::Parser;
use controller_kit::KitFlags;

use crate::Flags;

/// Decides in which order and how fast workloads leave failed clusters, and serves that decision over gRPC.
#[derive(Debug, Parser)]
#[command(name = "eviction-queue", version = controller_kit::VERSION)]
pub struct Cli {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What this one takes.
    #[command(flatten)]
    pub flags: Flags,
}
