//! The scheduler on a simulated control plane: when it places, what it writes, what it says.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod bench;
mod going;
mod last_copy;
mod placing;
mod wakes;
mod workers;
mod writes;
