//! Who has to leave a tainted cluster, and the hand that moves them.
//!
//! Two controllers live here. `taintManager` knows every binding by the clusters that it is on, judges each pair of
//! binding and faulty cluster by `failover_core::eviction::verdict`, and publishes the wanted set of entries to the
//! eviction queue: the whole set first, then its changes. It keeps no timer for an eviction: due times travel with the
//! entries. It also says on bindings, as condition `EvictionPending` and as events, what the queue holds for them.
//!
//! `evictor` takes leases from the queue. For each it reads the Cluster and the binding anew, judges again, asks whether
//! the workload would find a place, and then makes the one conditional write that moves the cluster from `spec.clusters`
//! to `spec.gracefulEvictionTasks`.
//!
//! Guarantees: nothing is decided before every informer has synced; nothing is written whose preceding live read showed
//! no cause; nothing is written after a lease has run out or under an older term of the queue.

pub mod cli;
mod evictor;
mod evictor_flags;
mod flags;
mod manager;
mod objects;

use controller_kit::{Controller, Mode};
use eviction_queue_api::QueueConnector;
use scheduler_filters::{Registry, Schedulers};

pub use evictor_flags::EvictorFlags;
pub use flags::{DefaultPurgeMode, Flags, OldFlags, PreCheck};

/// What the controllers are given from outside.
#[derive(Clone)]
pub struct Wiring {
    /// The way to the queue.
    pub queue: QueueConnector,
    /// The schedulers' plugins as far as no flag names others, for the check before an eviction.
    pub schedulers: Schedulers,
    /// The plugins that `--scheduler-plugins` can name.
    pub registry: Registry,
    /// Whether a stock Karmada makes the bindings: then what the annotation failover.karmada.io/failover of a policy says
    /// is carried to its bindings.
    pub mode: Mode,
}

impl Wiring {
    /// As the flags say: the queue at a fixed address or by its Lease, schedulers with the default plugins.
    #[must_use]
    pub fn by_flags(flags: &Flags) -> Self {
        Self {
            queue: flags.queue.connector(),
            schedulers: Schedulers::default(),
            registry: Registry::builtin(),
            mode: Mode::Standalone,
        }
    }
}

/// The controllers of this crate, by the names that `--controllers` takes: `taintManager`, `evictor`.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    let wiring = Wiring::by_flags(&flags);
    controllers_with(flags, wiring)
}

/// The same with a way to the queue and plugins of one's own.
#[must_use]
pub fn controllers_with(flags: Flags, wiring: Wiring) -> Vec<Controller> {
    let (manager, way) = (flags.clone(), wiring.clone());
    let known = wiring.schedulers.clone();
    let (schedulers, unread) = match flags.evictor.schedulers(known.clone(), &wiring.registry) {
        Ok(schedulers) => (schedulers, Vec::new()),
        Err(problems) => (known, problems),
    };
    let wiring = Wiring { schedulers, ..wiring };
    let (problems, warnings) = (flags.problems(), flags.warnings());
    let mode = wiring.mode;
    vec![
        Controller::new("taintManager", move |ctx| manager::run(ctx, manager, way))
            .for_mode(mode)
            .problems(problems.clone())
            .warn(warnings),
        Controller::new("evictor", move |ctx| evictor::run(ctx, flags, wiring))
            .for_mode(mode)
            .problems(problems)
            .problems(unread),
    ]
}
