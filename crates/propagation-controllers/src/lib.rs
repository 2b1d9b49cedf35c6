//! What turns a template and a policy into objects on member clusters, and brings their status back.
//!
//! | controller | does |
//! |---|---|
//! | `detector` | template and policy → binding |
//! | `binding` | binding → one Work a cluster |
//! | `execution` | Work → object in the member |
//! | `workStatus` | object in the member → status of the Work |
//! | `bindingStatus` | status of the Works → status of the binding and of the template |
//! | `namespace` | namespace → one Work a cluster |
//!
//! What an object of a kind means is in [`interpreter`], which does no I/O.

mod binding;
mod binding_status;
mod detector;
mod execution;
mod flags;
mod ids;
pub mod interpreter;
mod json;
pub mod kinds;
mod manifest;
mod members;
mod namespace;
mod objects;
mod patches;
mod quantity;
mod reserved;
mod work_status;

use std::sync::Arc;

use controller_kit::Controller;

pub use flags::Flags;

/// The controllers of this crate.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    // Execution and workStatus of one process share the connections to members.
    let pool = Arc::new(members::Pool::default());
    let of = |flags: &Flags| flags.clone();
    let (detector, binding, execution, work_status, binding_status) =
        (of(&flags), of(&flags), of(&flags), of(&flags), of(&flags));
    let (execution_pool, status_pool) = (pool.clone(), pool);
    // Events are signed as stock's controllers sign them.
    vec![
        Controller::new("detector", move |ctx| detector::run(ctx, detector)).with_event_source("resource-detector"),
        Controller::new("binding", move |ctx| binding::run(ctx, binding)).with_event_source("binding-controller"),
        Controller::new("execution", move |ctx| execution::run(ctx, execution, execution_pool))
            .with_event_source("execution-controller"),
        Controller::new("workStatus", move |ctx| work_status::run(ctx, work_status, status_pool))
            .with_event_source("work-status-controller"),
        Controller::new("bindingStatus", move |ctx| binding_status::run(ctx, binding_status))
            .with_event_source("resource-binding-status-controller"),
        Controller::new("namespace", move |ctx| namespace::run(ctx, flags))
            .with_event_source("namespace-sync-controller"),
    ]
}
