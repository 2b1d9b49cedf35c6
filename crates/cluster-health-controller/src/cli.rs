//! The command line of this component as a program of its own.

use clap::Parser;
use controller_kit::KitFlags;

use crate::Flags;

/// Probes member clusters and keeps the conditions of their Cluster objects.
#[derive(Debug, Parser)]
#[command(name = "cluster-health-controller", version = controller_kit::VERSION)]
pub struct Cli {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What this one takes.
    #[command(flatten)]
    pub flags: Flags,
}
