//! Reviews and their answers: by the rules, over TLS, and for whatever else comes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod answers;
mod arbitrary;
mod fleet;
#[path = "../../../karmada-failover/tests/apart/granted.rs"]
#[allow(dead_code, reason = "the tests of all components use more of it")]
mod granted;
#[path = "../../../agent/tests/pull/log.rs"]
#[allow(dead_code, reason = "the agent's tests use more of it")]
mod log;
mod over_tls;
mod rights;
mod scene;
