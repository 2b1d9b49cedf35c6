//! One ClusterTaintPolicy on one Cluster, as `explain cluster` and `explain policy` both show it. Pure: what it says
//! is what `failover_core::taint_policy` works out from what is stored, by the functions that the controller uses.

mod rows;
mod text;
mod view;

pub use view::{ConditionCheck, PolicyOnCluster, TaintOfPolicy, TaintWord, on_cluster};

pub(crate) use rows::{Subject, grid, quiet};
pub(crate) use text::{CALM_THE_REPORTER, but_restless, join, lead, number};
pub(crate) use view::{Engine, Settings};
