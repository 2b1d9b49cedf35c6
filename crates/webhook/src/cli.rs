//! The command line of this component as a program of its own.

use clap::Parser;
use controller_kit::KitFlags;

use crate::Flags;

/// Answers the API server's questions about policies, pauses and clusters that somebody writes: refuses what can never
/// work, and warns of what is doubtful.
#[derive(Debug, Parser)]
#[command(name = "webhook", version = controller_kit::VERSION)]
pub struct Cli {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What this one takes.
    #[command(flatten)]
    pub flags: Flags,
}
