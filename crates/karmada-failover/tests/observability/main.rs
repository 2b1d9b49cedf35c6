//! What operators see beside the objects: metrics, alerts, dashboards, logs and traces, over stories of the whole system.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod alerts;
mod catalogue;
mod collector;
#[path = "../common/mod.rs"]
mod common;
mod faults;
mod logs;
mod metrics;
mod prometheus;
mod runbooks;
mod scan;
mod scene;
mod secrets;
mod series;
#[allow(dead_code, reason = "each test program uses its part")]
#[path = "../scenarios/stage.rs"]
mod stage;
mod traces;
