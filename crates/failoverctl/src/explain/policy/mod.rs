//! `explain policy`: which Clusters a ClusterTaintPolicy speaks of, what it does to each and when, and what keeps it
//! from it.

mod conclusion;
mod gather;
mod report;
mod text;

pub use gather::{Gathered, gather};
pub use report::{ConditionOnFleet, PolicyExplanation, report};
