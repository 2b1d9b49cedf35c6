//! The command line of this component as a program of its own.

use clap::Parser;
use controller_kit::{KitFlags, ModeFlags};

use crate::Flags;

/// Finds out which workloads have to leave tainted clusters, and moves them as the eviction queue allows.
#[derive(Debug, Parser)]
#[command(name = "taint-manager", version = controller_kit::VERSION)]
pub struct Cli {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What this one takes.
    #[command(flatten)]
    pub flags: Flags,
    /// Whose control plane it is.
    #[command(flatten)]
    pub mode: ModeFlags,
}
