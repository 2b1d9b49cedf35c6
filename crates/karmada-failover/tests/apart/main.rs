//! Stories with each component as a process of its own, with a client of its own, as the charts install them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod admission;
#[path = "../common/mod.rs"]
mod common;
mod granted;
mod lives;
#[path = "../../../agent/tests/pull/log.rs"]
#[allow(dead_code, reason = "the agent's tests use more of it")]
mod log;
mod processes;
mod rights;
mod rolling_upgrade;
#[path = "../scenarios/stage.rs"]
#[allow(dead_code, reason = "here processes are started one by one")]
mod stage;

/// The components, and their controllers.
const COMPONENTS: [(&str, &str); 8] = [
    ("cluster-health-controller", "clusterStatus,cluster"),
    ("taint-policy-controller", "clusterTaintPolicy"),
    ("taint-manager", "taintManager,evictor"),
    ("application-failover-controller", "applicationFailover"),
    ("eviction-queue", "evictionQueue"),
    ("graceful-eviction-controller", "gracefulEviction"),
    ("scheduler", "scheduler"),
    (
        "propagation-controllers",
        "detector,dependencies,binding,execution,workStatus,bindingStatus,namespace",
    ),
];
