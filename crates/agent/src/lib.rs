//! A Pull member's side: what the control plane's controllers do for a Push member, done from within.
//!
//! | controller | does |
//! |---|---|
//! | `clusterStatus` | registers the member, reports on its health, renews the Lease by which the control plane sees that somebody reports |
//! | `execution` | Work → object in the member |
//! | `workStatus` | object in the member → status of the Work |
//!
//! Guarantees: of the control plane an agent reads its own Cluster and its own execution namespace, and nothing else
//! ([`rights`] has the list, and tests hold the agent to it); it never takes over the name of another member.

pub mod cli;
mod flags;
mod registration;
pub mod rights;

use controller_kit::Controller;
use controller_kit::leader::lease_name;

pub use flags::Flags;

/// The controllers of this crate. Their Leases are named after the controller and the cluster, `execution-member1`: there
/// is one of each for every Pull member.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    let cluster = flags.cluster();
    let (problems, warnings) = (flags.problems(), flags.old.warnings());
    let [execution, work_status] = propagation_controllers::controllers_of_member(&cluster, &flags.member);
    let status = Controller::new("clusterStatus", move |ctx| registration::report(ctx, flags))
        .with_event_source("cluster-status-controller")
        .warn(warnings);
    [status, execution, work_status]
        .into_iter()
        .map(|controller| {
            let lease = format!("{}-{cluster}", lease_name(controller.name()));
            controller
                .never_beside_stock()
                .with_lease(lease)
                .problems(problems.clone())
        })
        .collect()
}
