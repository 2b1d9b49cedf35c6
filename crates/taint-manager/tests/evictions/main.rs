//! Evictions end to end: taints on Clusters, the real eviction queue, and what is written on bindings.

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
mod restarts;
mod scene;
mod switches;
mod windows;
