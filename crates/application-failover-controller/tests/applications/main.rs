//! Failover of applications end to end: health on bindings, the clock that is kept there, the real eviction queue, and what
//! follows from it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests count as tests"
)]

mod bad_input;
mod clocks;
mod crowds;
mod entries;
mod outages;
mod scene;
