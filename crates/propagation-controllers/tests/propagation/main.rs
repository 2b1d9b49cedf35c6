//! Propagation as a whole on a simulated fleet, under paused time.

mod failures;
mod lifecycle;
mod members;
mod story;
mod world;
