//! After the decision: when a graceful eviction task may go, and when the state before the failure comes back.

pub mod cause;
