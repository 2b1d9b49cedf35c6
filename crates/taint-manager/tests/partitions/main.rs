//! Machines that lose sight of each other: the eviction queue, who publishes and who evicts, each on a machine of its
//! own, with a simulated network between them that is cut, or that keeps what was sent and delivers it much too late.
//! The API server can be reached by all, unless a test says otherwise.
//!
//! Guarantees under test: nothing is lost, nothing is done twice, order and due times stay, a late word of a stale
//! producer or leader evicts nothing, and the rate holds. The correctness rules are watched all the while.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests count as tests"
)]

mod cuts;
mod late;
mod machines;
#[path = "../evictions/scene.rs"]
#[allow(dead_code, reason = "each test program uses its part")]
mod scene;
mod wires;
