//! Controller `scheduler`: places bindings on clusters and divides their replicas.
//!
//! When to look and what is chosen is decided by the pure crate `scheduler-filters`; here is what is watched, what follows
//! from an answer for one binding ([`plan`]), and the writes.
//!
//! Guarantees: every write is conditional on the version that was read, and a conflict places anew from fresh state; a
//! result that would be empty never replaces one that is there; the status says which generation was looked at also
//! when nothing fits; nothing is written and no event repeated when nothing changed; a binding is looked at when it, or
//! something that could give it a place, changed, and when a time has come that could, and at no other time; one binding
//! is never with two workers, and its looks come in the order of what caused them.

pub mod cli;
mod controller;
mod counts;
mod emptying;
mod flags;
mod news;
mod own;
pub mod plan;
mod store;
mod writer;

pub use flags::{DEFAULT_SCHEDULER_NAME, Flags};

use controller_kit::Controller;
use scheduler_filters::Registry;

/// The controllers of this crate, with the built-in plugins.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    controllers_with(flags, &Registry::builtin())
}

/// The controllers of this crate with plugins of one's own: what `--plugins` can name is what `registry` knows.
#[must_use]
pub fn controllers_with(flags: Flags, registry: &Registry) -> Vec<Controller> {
    let (plugins, problem) = match flags.plugins(registry) {
        Ok(plugins) => (plugins, None),
        Err(unknown) => (registry.defaults(), Some(unknown)),
    };
    let is_stocks = flags.scheduler_name == DEFAULT_SCHEDULER_NAME;
    let controller = Controller::new("scheduler", move |ctx| controller::run(ctx, flags, plugins))
        .with_event_source("default-scheduler")
        .problems(problem);
    // Under another name it places beside stock's what names it.
    vec![if is_stocks {
        controller.never_beside_stock()
    } else {
        controller
    }]
}
