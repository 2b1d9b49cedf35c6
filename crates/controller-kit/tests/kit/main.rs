//! The kit against a simulated control plane, under paused time.

mod admin;
mod events;
mod informers;
mod leases;
mod process;
mod queue;
mod world;
