//! Bad weather: members and API servers that fail in every way, watches that end or lie, clocks that jump. Nothing is
//! lost, nothing loops without pause (requests are counted, minute by minute), the eight rules hold, and what goes
//! wrong is seen in a status, a metric, and the log: `docs/weather.md` says where.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

#[path = "../common/mod.rs"]
mod common;

mod clocks;
mod control_plane;
mod members;
mod rights;
mod scene;
mod told;
mod watches;
