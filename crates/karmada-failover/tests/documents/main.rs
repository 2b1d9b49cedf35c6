//! What the documents say is so: links lead somewhere, commands can be typed, manifests are taken, files are there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod cargo;
mod codes;
mod commands;
mod flags;
mod helm;
mod kubectl;
mod links;
mod manifests;
mod paths;
mod programs;
mod reference;
mod said;
mod shell;
mod threats;
mod walk;
