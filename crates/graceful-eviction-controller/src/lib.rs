//! Controller `gracefulEviction`: lets copies go when they are replaced, and brings back the state before a failure
//! when nothing replaced them.
//!
//! What becomes of a task is decided by the pure [`failover_core::graceful`]; here is what is known (`index`), when to
//! look, and the writes.
//!
//! Guarantees: one write removes exactly the tasks that were judged, on the version that was judged; tasks that stand
//! in the objects when the process starts are taken up without any new event; each task that waits says why in the
//! condition `GracefulEviction` of its binding; nothing is written when nothing changed.

pub mod cli;
mod controller;
mod flags;
mod index;
mod reconcile;
mod records;
mod seen;
mod wiring;
mod writer;

pub use flags::Flags;
pub use wiring::{RecordKeeping, SharedFlags, Wiring};

use controller_kit::Controller;

/// The controllers of this crate, alone in their process.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "as in every crate of controllers")]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    controllers_with(&flags, Wiring::default())
}

/// The controllers of this crate with plugins of one's own, and with what other components of the process know: what
/// `--evict-plugins` can name are the plugins of `wiring`.
#[must_use]
pub fn controllers_with(flags: &Flags, wiring: Wiring) -> Vec<Controller> {
    let (settings, problem) = match flags.settings(&wiring) {
        Ok(settings) => (settings, None),
        Err(problem) => (failover_core::graceful::Settings::default(), Some(problem)),
    };
    let setup = controller::Setup {
        settings,
        workers: flags.concurrent_graceful_eviction_syncs,
        record_retention: (wiring.records == RecordKeeping::On).then_some(flags.record_retention),
        emptied_by: flags.is_beside().then_some(wiring.schedulers),
    };
    vec![
        Controller::new("gracefulEviction", move |ctx| controller::run(ctx, setup))
            .for_mode(flags.mode.mode)
            .with_event_source("resource-binding-graceful-eviction-controller")
            .warn(flags.warnings())
            .problems(problem),
    ]
}
