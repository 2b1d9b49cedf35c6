//! Controller `gracefulEviction`: lets copies go when they are replaced, and brings back the state before a failure
//! when nothing replaced them.
//!
//! What becomes of a task is decided by the pure [`failover_core::graceful`]; here is what is known (`index`), when to
//! look, and the writes.
//!
//! Guarantees: one write removes exactly the tasks that were judged, on the version that was judged; tasks that stand
//! in the objects when the process starts are taken up without any new event; each task that waits says why in the
//! condition `GracefulEviction` of its binding; nothing is written when nothing changed.

mod controller;
mod flags;
mod index;
mod reconcile;
mod records;
mod writer;

pub use flags::Flags;

use controller_kit::Controller;
use failover_core::graceful::EvictPlugins;

/// The controllers of this crate.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "as in every crate of controllers")]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    controllers_with(&flags, &EvictPlugins::all())
}

/// The controllers of this crate with plugins of one's own: what `--evict-plugins` can name is what `known` holds.
#[must_use]
pub fn controllers_with(flags: &Flags, known: &EvictPlugins) -> Vec<Controller> {
    let (settings, problem) = match flags.settings(known) {
        Ok(settings) => (settings, None),
        Err(problem) => (failover_core::graceful::Settings::default(), Some(problem)),
    };
    let limits = controller::Limits {
        workers: flags.concurrent_graceful_eviction_syncs,
        record_retention: flags.record_retention,
    };
    vec![
        Controller::new("gracefulEviction", move |ctx| controller::run(ctx, settings, limits))
            .with_event_source("resource-binding-graceful-eviction-controller")
            .warn(flags.warnings())
            .problems(problem),
    ]
}
