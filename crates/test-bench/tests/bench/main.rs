//! What a bench promises to the tests on it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests count as tests"
)]

mod footprint;
mod queues;
mod rules;
