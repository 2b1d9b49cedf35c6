//! A restart of anything, at any point, changes nothing but time (rule 5).
//!
//! The components run as their own processes on the sandbox under simulated time. A reference run of the worked example
//! is compared with runs in which one component is stopped or crashes: at every step, and after every write. What is
//! stored at the end, the order of the steps and of the evictions is the same; no step is earlier, and none is later
//! than the outage explains. The correctness rules are watched all the while.
//!
//! By default a representative part is run; `KARMADA_FAILOVER_FULL=1` runs everything.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

#[path = "../common/mod.rs"]
mod common;

mod cold_start;
mod comparison;
mod components;
mod end_state;
mod lanes;
mod outages;
mod play;
mod steps;
mod story;
mod writes;
