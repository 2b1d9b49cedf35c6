//! The command line of this component as a program of its own.

use clap::Parser;
use controller_kit::KitFlags;

use crate::{Flags, SharedFlags};

/// Lets copies on failed clusters go when they are replaced.
#[derive(Debug, Parser)]
#[command(name = "graceful-eviction-controller", version = controller_kit::VERSION)]
pub struct Cli {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What this one takes.
    #[command(flatten)]
    pub flags: Flags,
    /// What other components take, too.
    #[command(flatten)]
    pub shared: SharedFlags,
}
