//! The queue as its users see it: gRPC with a leader and a follower, on a simulated control plane.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod arbitrary;
mod bounds;
mod drops;
mod inspection;
mod leaders;
mod pauses;
mod rate;
mod refusals;
mod sockets;
mod streams;
mod versions;
mod world;
