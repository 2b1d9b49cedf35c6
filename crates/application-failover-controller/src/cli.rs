//! The command line of this component as a program of its own.

use clap::Parser;
use controller_kit::KitFlags;
use eviction_queue_api::QueueFlags;

use crate::Flags;

/// Finds out which applications are unhealthy for too long where they run, and asks the eviction queue to move them.
#[derive(Debug, Parser)]
#[command(name = "application-failover-controller", version = controller_kit::VERSION)]
pub struct Cli {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What this one takes.
    #[command(flatten)]
    pub flags: Flags,
    /// Where the eviction queue is, and how it is called.
    #[command(flatten)]
    pub queue: QueueFlags,
}
