//! The command line of this component as a program of its own.

use clap::{Command, CommandFactory, Parser};
use controller_kit::KitFlags;

use crate::Flags;

/// Lives in a Pull member: applies the member's Works and reports on them and on the member.
#[derive(Debug, Parser)]
#[command(name = "agent", version = controller_kit::VERSION)]
pub struct Cli {
    /// What every program takes.
    #[command(flatten)]
    pub kit: KitFlags,
    /// What this one takes.
    #[command(flatten)]
    pub flags: Flags,
}

/// The command line, with the names that stock's agent has for some flags, too.
#[must_use]
pub fn command() -> Command {
    Cli::command()
        .mut_arg("kubeconfig", |flag| flag.visible_alias("karmada-kubeconfig"))
        .mut_arg("context", |flag| flag.visible_alias("karmada-context"))
}
