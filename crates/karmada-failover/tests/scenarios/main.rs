//! Scenarios under simulated time: the worked example as the demo tells it, the chapters of `mass-failure` on larger
//! fleets with real windows, and the open cases about brakes. Brakes, and of the stories one telling, are played beside a
//! stock Karmada, too; `beside_stock` plays those others there in which it matters most, with more seeds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod brakes;
mod chapters;
#[path = "../common/mod.rs"]
mod common;
mod last_copies;
mod pull_member;
#[allow(dead_code, reason = "each test program uses its part")]
mod stage;
mod stories;
mod worked_example;
