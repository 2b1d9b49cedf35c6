//! Cluster health: whether each member of the fleet is fit for workloads, and what it has to offer.
//!
//! Two controllers. `clusterStatus` probes the Push members, each in its own task, and writes what it sees into the
//! Cluster's status. `cluster` gives every Cluster its execution namespace, its finalizer and its first Ready
//! condition, says so when nobody reports on it any more, and sees a deletion through. What the Ready condition follows is
//! decided in [`failover_core::cluster_health`].

pub mod cli;
mod cluster;
mod cluster_status;
mod conditional;
mod flags;
mod metrics;

use controller_kit::Controller;

pub use cluster::ClusterFlags;
pub use cluster_status::{LeaseFlags, StatusFlags, report_on_own};
pub use flags::{Flags, OldFlags};

/// The controllers of this crate, by the names that `--controllers` takes: `clusterStatus` and `cluster`.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    let (problems, warnings) = (flags.problems(), flags.old.warnings());
    let status_flags = flags.clone();
    vec![
        Controller::new("clusterStatus", move |ctx| cluster_status::run(ctx, status_flags))
            .never_beside_stock()
            .with_event_source("cluster-status-controller")
            .problems(problems)
            .warn(warnings),
        Controller::new("cluster", move |ctx| cluster::run(ctx, flags))
            .never_beside_stock()
            .with_event_source("cluster-controller"),
    ]
}
