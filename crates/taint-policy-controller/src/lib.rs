//! Taints on Clusters, by ClusterTaintPolicies: which conditions, held for how long, put which taints on which members.
//!
//! One controller, `clusterTaintPolicy`. Everything is decided in [`failover_core::taint_policy`]; here is what feeds
//! it and what carries out its verdicts.

mod flags;
mod index;
mod metrics;
mod policy_status;
mod reconcile;
mod run;
mod steady;
mod writer;

use controller_kit::Controller;

pub use flags::{Flags, SharedFlags};

/// The controllers of this crate, by the names that `--controllers` takes: `clusterTaintPolicy`.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    controllers_with(flags, &SharedFlags::default())
}

/// The same with what other components of the process have, too.
#[must_use]
pub fn controllers_with(flags: Flags, shared: &SharedFlags) -> Vec<Controller> {
    let beside_stock = shared.beside_stock;
    let companion = flags.companion(beside_stock);
    let controller = Controller::new("clusterTaintPolicy", move |ctx| {
        run::run(ctx, flags, companion, beside_stock)
    });
    vec![controller.with_event_source("cluster-taint-policy-controller")]
}
