//! The kit against a simulated control plane, under paused time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests, too"
)]

mod admin;
mod disturbances;
mod events;
mod impersonation;
mod informers;
mod leases;
mod process;
mod proxy;
mod queue;
mod tls;
mod whose;
mod world;
