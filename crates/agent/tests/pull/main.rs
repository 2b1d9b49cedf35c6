//! A Pull member on a simulated control plane, under paused time: it joins, works and reports, with the rights of one
//! agent and no others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "helpers of tests count as tests"
)]

mod joining;
mod lease;
mod log;
mod narrow;
mod reporting;
mod working;
mod world;
