//! How a Cluster ends: what its deletion waits for ([`hold()`], [`Tally`]), who empties it ([`emptied_by`]), and when it
//! waits no longer ([`patience`]).

mod emptied;
mod ending;
mod hold;
mod tally;

pub use emptied::{Emptied, TaintManager, emptied_by, may_be_away};
pub use ending::{Ended, Patience, how_it_ends, patience, waits_since};
pub use hold::{Hold, HoldKind, Operations, OtherPlace, hold};
pub use tally::Tally;

/// The controllers that matter here, by the names of `--controllers`.
pub mod controllers {
    /// Publishes the bindings of a Cluster that is being deleted.
    pub const TAINT_MANAGER: &str = "taintManager";
    /// Releases them one by one.
    pub const EVICTION_QUEUE: &str = "evictionQueue";
    /// Turns what is released into tasks.
    pub const EVICTOR: &str = "evictor";
    /// Finds new places; with the gate off, or when no taint manager has been at work for a while, it also takes the cluster
    /// out of the result.
    pub const SCHEDULER: &str = "scheduler";
    /// Ends the tasks.
    pub const GRACEFUL_EVICTION: &str = "gracefulEviction";
    /// Lets a deleted binding go.
    pub const BINDING: &str = "binding";
}

#[cfg(test)]
mod tests;
