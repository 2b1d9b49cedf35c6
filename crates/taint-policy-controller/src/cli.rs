//! The command line of this component as a program of its own.

use clap::Parser;
use controller_kit::{KitFlags, ModeFlags};

use crate::Flags;

/// Puts taints on Clusters and takes them off, as ClusterTaintPolicies say.
#[derive(Debug, Parser)]
#[command(name = "taint-policy-controller", version = controller_kit::VERSION)]
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
