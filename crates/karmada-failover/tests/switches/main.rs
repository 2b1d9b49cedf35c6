//! Switches: the gate, each controller, flags of old, and the Leases on which all of it is shown.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

#[path = "../common/mod.rs"]
mod common;

mod controllers;
mod flags;
mod gate;
mod leases;
mod scene;
