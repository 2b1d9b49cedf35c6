//! From a member that fails to a taint, and back, on a simulated fleet.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests count as tests"
)]

mod bad_input;
mod bench;
mod clocks;
mod metrics;
mod policies;
mod restless;
mod windows;
mod writes;

use std::time::Duration;

use bench::{Bench, not_ready_spec, stock_spec};
use jiff::SignedDuration;
use kube_sandbox::{Effect, EventEffect, Match, Verb};
use serde_json::json;
use test_bench::paused;

const TAINT: &str = "cluster.karmada.io/not-ready:NoExecute";
