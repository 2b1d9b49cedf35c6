//! The programs of a real Kubernetes control plane: which ones, at which versions, where they lie, how they are built.
//!
//! The versions are pinned by the Go modules beside this crate (`kubernetes`, `kwok`, `grpcurl`, `helm`): each holds only a
//! `go.mod` that names the programs as tools, and a `go.sum`. What is built from them lands in a cache outside the
//! checkout, in a folder named after the pins, so a changed pin is a new folder and an unchanged one costs nothing.
//!
//! This crate has next to no dependencies on purpose: the task runner and the test harness both stand on it, and the
//! task runner must build in seconds.

mod build;
mod locate;
mod pins;
mod prometheus;
mod stock;
mod tool;

pub use build::{BuildError, build};
pub use locate::{Binaries, Missing, cache_folder, in_ci, locate};
pub use prometheus::{NoPrometheus, Prometheus, fetch_prometheus, locate_prometheus};
pub use stock::{NoStock, fetch_stock};
pub use tool::Tool;
