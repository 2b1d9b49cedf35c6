//! Beside a stock Karmada: its CRDs, which prune and refuse what is ours, and its controllers, which write whole objects back
//! and patch parts of them on any version, at random moments. The stories go as they do where everything is ours.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../scenarios/stage.rs"]
#[allow(dead_code, reason = "the stories here use a part of it")]
mod stage;

mod annotations;
mod profile;
mod stories;
mod takeover;
