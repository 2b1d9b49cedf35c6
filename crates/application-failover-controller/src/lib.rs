//! Controller `applicationFailover`: a copy that is unhealthy for too long on a cluster that works is to leave it.
//!
//! What an unhealthy copy comes to is decided by the pure [`failover_core::application`]; here is what is known (`index`),
//! the clock that is kept on the binding (`reconcile`, `writer`), and what is published to the eviction queue
//! ([`eviction_queue_api::producer`]). Nothing is evicted here: the queue says when, and the evictor carries it out.
//!
//! Guarantees: nothing is judged before every informer has synced; since when a copy is unhealthy stands on its binding, so
//! that a restart makes no failover later or earlier; the annotation is written when it changes, on the version that was
//! read, and never at rest; no timer is kept for an eviction, the due time travels with the entry.

pub mod cli;
mod controller;
mod flags;
mod index;
mod kept_part;
mod reconcile;
mod said;
mod scripts;
mod writer;

use controller_kit::Controller;
use eviction_queue_api::QueueConnector;

pub use flags::Flags;

/// The controllers of this crate, by the name that `--controllers` takes: `applicationFailover`. `queue` is the way to the
/// eviction queue; of its flags those speak that have them.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "as in every crate of controllers")]
pub fn controllers(flags: Flags, queue: QueueConnector) -> Vec<Controller> {
    let workers = flags.concurrent_application_failover_syncs;
    vec![
        Controller::new(controller::NAME, move |ctx| controller::run(ctx, workers, queue))
            .with_event_source("resource-binding-application-failover-controller"),
    ]
}
