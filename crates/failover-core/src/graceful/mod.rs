//! After the decision: when a graceful eviction task may go, and when the state before the failure comes back.
//!
//! [`assess()`] judges every task of one binding; the plugins are in [`plugins`], the last-copy guard and the grace period
//! in [`assess`], what the workload needs meanwhile in [`mirrors`]. Nothing here deletes: a verdict is a value with its
//! reason.

pub mod assess;
pub mod cause;
pub mod copies;
pub mod elsewhere;
pub mod fate;
pub mod freshness;
pub mod kinds;
pub mod mirrors;
pub mod oddities;
pub mod placed;
pub mod plugins;
pub mod preserved;
pub mod record;
pub mod report;
pub mod task;

#[cfg(test)]
mod tests;

pub use assess::{Assessed, Keeps, LastCopy, OwnersOf, Settings, View, assess};
pub use fate::{End, Fate};
pub use freshness::{Baseline, Found};
pub use plugins::{Assessment, EvictPlugin, EvictPlugins};
