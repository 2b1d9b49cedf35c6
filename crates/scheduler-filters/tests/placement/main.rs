//! Where a binding is placed, by the public functions alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "helpers of tests may fail the test"
)]

mod agreement;
mod cases;
mod looks;
mod looks_agreement;
mod objects;
mod overview;
mod reference;
mod robust;
