//! Every component's flags and controllers in one place.

use std::sync::Arc;

use clap::Args;
use controller_kit::Controller;
use eviction_queue_api::QueueClient;
use eviction_queue_api::memory::MemoryNetwork;
use graceful_eviction_controller::RecordKeeping;
use taint_manager::Wiring;

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
    application_failover: application_failover_controller::Flags,
    #[command(flatten)]
    eviction_queue: eviction_queue::Flags,
    #[command(flatten)]
    graceful_eviction: graceful_eviction_controller::Flags,
    #[command(flatten)]
    scheduler: scheduler::Flags,
    #[command(flatten)]
    propagation: propagation_controllers::Flags,
    #[command(flatten)]
    webhook: webhook::Flags,
}

impl ComponentFlags {
    /// The controllers, in the order of the pipeline.
    #[must_use]
    pub fn controllers(self) -> Vec<Controller> {
        let wiring = self.wiring();
        self.controllers_with(wiring)
    }

    /// The same with the eviction queue on a network inside the process instead of sockets: for simulated time.
    #[must_use]
    pub fn controllers_within(mut self, network: &MemoryNetwork) -> Vec<Controller> {
        self.eviction_queue.transport = eviction_queue::Transport::Memory(network.clone());
        let network = network.clone();
        let mut wiring = self.wiring();
        wiring.queue = Arc::new(move |ctx| {
            QueueClient::by_lease(ctx.client.clone(), &ctx.system_namespace, &ctx.identity).through(network.clone())
        });
        self.controllers_with(wiring)
    }

    /// The scheduler of this process is known to the evictor, whether or not a flag tells of others.
    fn wiring(&self) -> Wiring {
        let mut wiring = Wiring::by_flags(&self.taint_manager);
        if let Ok(plugins) = self.scheduler.plugins(&wiring.registry) {
            wiring.schedulers = wiring.schedulers.with(&self.scheduler.scheduler_name, plugins);
        }
        wiring
    }

    /// What graceful eviction has in common with others of this process: one flag each.
    fn graceful_wiring(&self, wiring: &Wiring) -> graceful_eviction_controller::Wiring {
        let known = wiring.schedulers.clone();
        graceful_eviction_controller::Wiring {
            // What cannot be read is the evictor's to tell.
            schedulers: self
                .taint_manager
                .evictor
                .schedulers(known.clone(), &wiring.registry)
                .unwrap_or(known),
            records: if self.taint_manager.failover_records {
                RecordKeeping::On
            } else {
                RecordKeeping::Off
            },
            directly_unreachable_wait: self.propagation.directly_unreachable_wait,
            ..graceful_eviction_controller::Wiring::default()
        }
    }

    fn controllers_with(self, wiring: Wiring) -> Vec<Controller> {
        let graceful = self.graceful_wiring(&wiring);
        // One flag, which stands with those of graceful eviction.
        let mode = self.graceful_eviction.mode.mode;
        let wiring = Wiring { mode, ..wiring };
        let queue = wiring.queue.clone();
        let mut controllers = cluster_health_controller::controllers(self.health);
        controllers.extend(taint_policy_controller::controllers_in(self.taint_policy, mode));
        controllers.extend(taint_manager::controllers_with(self.taint_manager, wiring));
        controllers.extend(application_failover_controller::controllers(
            self.application_failover,
            queue,
        ));
        controllers.extend(eviction_queue::controllers(self.eviction_queue));
        controllers.extend(graceful_eviction_controller::controllers_with(
            &self.graceful_eviction,
            graceful,
        ));
        controllers.extend(scheduler::controllers(self.scheduler));
        controllers.extend(propagation_controllers::controllers(self.propagation));
        // It needs a certificate, and an API server that is told to ask it.
        controllers.extend(
            webhook::controllers(self.webhook)
                .into_iter()
                .map(Controller::off_by_default),
        );
        controllers
    }
}
