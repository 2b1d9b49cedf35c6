//! Failover of applications end to end: health on bindings, the clock that is kept there, the real eviction queue, and what
//! follows from it.
//!
//! `clocks`, `moves` and `outages` run twice, with the mode as a parameter: where everything is ours, and beside a stock
//! Karmada ([`test_bench::stock::Company`]). To the rest it makes no difference whose control plane it is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "helpers of tests count as tests"
)]

mod any_order;
mod bad_input;
mod clocks;
mod crowds;
mod entries;
#[allow(dead_code, reason = "the agent's tests use more of it")]
#[path = "../../../agent/tests/pull/log.rs"]
mod log;
mod moves;
mod outages;
mod rights;
mod scene;
