//! Every component's flags and controllers in one place.

use clap::Args;
use controller_kit::Controller;

/// Flags of all components. Their names are unique over all of them.
#[derive(Args, Clone, Debug)]
pub struct ComponentFlags {
    #[command(flatten)]
    health: cluster_health_controller::Flags,
    #[command(flatten)]
    taint_policy: taint_policy_controller::Flags,
    #[command(flatten)]
    taint_manager: taint_manager::Flags,
    #[command(flatten)]
    eviction_queue: eviction_queue::Flags,
    #[command(flatten)]
    graceful_eviction: graceful_eviction_controller::Flags,
    #[command(flatten)]
    scheduler: scheduler::Flags,
    #[command(flatten)]
    propagation: propagation_controllers::Flags,
}

impl ComponentFlags {
    /// The controllers, in the order of the pipeline.
    #[must_use]
    pub fn controllers(self) -> Vec<Controller> {
        let mut controllers = cluster_health_controller::controllers(self.health);
        controllers.extend(taint_policy_controller::controllers(self.taint_policy));
        controllers.extend(taint_manager::controllers(self.taint_manager));
        controllers.extend(eviction_queue::controllers(self.eviction_queue));
        controllers.extend(graceful_eviction_controller::controllers(self.graceful_eviction));
        controllers.extend(scheduler::controllers(self.scheduler));
        controllers.extend(propagation_controllers::controllers(self.propagation));
        controllers
    }
}
