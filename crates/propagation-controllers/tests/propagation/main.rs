//! Propagation as a whole on a simulated fleet, under paused time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on fails, and its helpers are part of it"
)]

mod any_kind;
mod clocks;
mod counts;
mod credentials;
mod deep;
mod dependencies;
mod failures;
mod handmade;
mod interleavings;
mod interpreted;
mod kinds;
mod lifecycle;
#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../../../agent/tests/pull/log.rs"]
mod log;
mod members;
mod old_lists;
mod policies;
mod purge_modes;
mod refusals;
mod rest;
mod rights;
mod scripts;
mod story;
mod world;
