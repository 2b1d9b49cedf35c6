//! Taints on Clusters, by ClusterTaintPolicies: which conditions, held for how long, put which taints on which members.
//!
//! One controller, `clusterTaintPolicy`. Everything is decided in [`failover_core::taint_policy`]; here is what feeds
//! it and what carries out its verdicts.

pub mod cli;
mod flags;
mod index;
mod metrics;
mod policy_status;
mod reconcile;
mod run;
mod steady;
mod writer;

use controller_kit::{Controller, Mode};

pub use flags::Flags;

/// The controllers of this crate, by the names that `--controllers` takes: `clusterTaintPolicy`.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    controllers_in(flags, Mode::Standalone)
}

/// The same on a control plane of this kind.
#[must_use]
pub fn controllers_in(flags: Flags, mode: Mode) -> Vec<Controller> {
    let companion = flags.companion(mode);
    let controller = Controller::new("clusterTaintPolicy", move |ctx| run::run(ctx, flags, companion));
    vec![
        controller
            .for_mode(mode)
            .with_event_source("cluster-taint-policy-controller"),
    ]
}
