//! `failoverctl`, the operator's command line: what is moving, what is not, and why.
//!
//! Guarantees: nothing here changes anything but `drain`, `undrain`, `pause`, `resume`, `queue drop`, `queue undrop` and
//! `handback`, and those say first what they will do, and after it how to take it back. Every command first gathers (from the API server and the eviction
//! queue), then makes a report, which is a plain value, then renders it; making and rendering are pure functions of
//! what was gathered and the time. A verdict is never worked out here: it comes from `failover-core` and
//! `scheduler-filters`, or from the queue that was asked. An error says what was wanted, of which object, why it
//! failed, and what to do next.

pub mod change;
pub mod check;
pub mod cli;
pub mod console;
pub mod control_plane;
pub mod controllers;
pub mod drain;
pub mod dump;
pub mod entries;
pub mod entry;
pub mod explain;
pub mod failure;
pub mod handback;
pub mod history;
pub mod host;
pub mod invoked;
pub mod kubeconfig;
pub mod lint;
pub mod order;
pub mod output;
pub mod pause;
pub mod plan;
pub mod port_forward;
pub mod progress;
pub mod queue;
pub mod run;
pub mod shell;
pub mod status;
mod token;
pub mod versions;
pub mod watch;

pub use cli::Cli;
pub use failure::{ExitStatus, Failure};
pub use run::run;
