//! Evictions end to end: taints on Clusters, the real eviction queue, and what is written on bindings.
//!
//! Most stories run twice, with the mode as a parameter: where everything is ours, and beside a stock Karmada
//! ([`test_bench::stock::Company`]). What a stock Karmada wrote in a recorded run is gone on with in `recorded`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests count as tests"
)]

mod applications;
mod changes;
mod drops;
mod faults;
mod held;
mod life;
mod mirrors;
mod moments;
mod preservation;
mod rates;
mod recorded;
mod restarts;
mod scene;
mod second_owners;
mod switches;
mod windows;
