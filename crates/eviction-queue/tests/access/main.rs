//! Who may call the queue, and what: with certificates and tokens, over sockets and inside a process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod bounds;
mod calls;
mod certificates;
mod expiry;
mod rotation;
mod scene;
mod secrecy;
mod secrets;
mod strangers;
mod tokens;
