//! Evictions end to end: taints on Clusters, the real eviction queue, and what is written on bindings.
//!
//! Most stories run twice, with the mode as a parameter: where everything is ours, and beside a stock Karmada
//! ([`test_bench::stock::Company`]). Standalone alone are those to which it makes no difference whose control plane it is:
//! a request that fails (`faults`), who dies at which moment (`moments`, and the long ones of `restarts`), orders to the
//! queue that are refused or come late (`drops`), and what is attached in all its combinations (`mirrors`).

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
mod restarts;
mod scene;
mod switches;
mod windows;
