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
mod over_tls;
mod scene;
