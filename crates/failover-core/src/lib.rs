//! Every failover decision as a pure function: what is stored and the time go in, a verdict with its reason and
//! numbers comes out. No async, no client, no clock, no randomness.

pub mod admission;
pub mod affinity;
pub mod application;
pub mod cluster_health;
pub mod eviction;
pub mod graceful;
pub mod lint;
pub mod place;
pub mod quantity;
pub mod second_owner;
pub mod taint_policy;
pub mod text;
