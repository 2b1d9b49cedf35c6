//! What turns a template and a policy into objects on member clusters, and brings their status back.
//!
//! | controller | does |
//! |---|---|
//! | `detector` | template and policy → binding |
//! | `dependencies` | binding → bindings of what its template needs |
//! | `binding` | binding → one Work a cluster |
//! | `execution` | Work → object in the member |
//! | `workStatus` | object in the member → status of the Work |
//! | `bindingStatus` | status of the Works → status of the binding and of the template |
//! | `namespace` | namespace → one Work a cluster |
//!
//! What an object of a kind means is in [`interpreter`], which does no I/O.

mod binding;
mod binding_status;
pub mod cli;
mod counts;
mod created;
mod dependencies;
mod detector;
mod execution;
mod flags;
mod ids;
mod interpreted;
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
mod templates;
mod troubles;
mod work_status;

use std::sync::Arc;

use api_types::ClusterName;
use controller_kit::Controller;
use interpreter::Interpreters;
use members::Reach;
use templates::Templates;
use troubles::Troubles;

pub use flags::{Flags, MemberFlags};

/// The controllers of this crate, as the control plane runs them.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    let of = |flags: &Flags| flags.clone();
    let (detector, dependencies) = (of(&flags), of(&flags));
    let (binding, binding_status) = (of(&flags), of(&flags));
    // The controllers of one process share what they follow.
    let templates = Templates::new(&flags.skipped_propagating_apis);
    let shared = || templates.clone();
    let (for_detector, for_dependencies, for_binding, for_status) = (shared(), shared(), shared(), shared());
    let rules = Interpreters::default();
    let asked = || rules.clone();
    let (by_detector, by_dependencies, by_binding, by_status) = (asked(), asked(), asked(), asked());
    let troubles = Troubles::default();
    let found = || troubles.clone();
    let (of_replicas, of_dependencies, of_works, said) = (found(), found(), found(), found());
    let [execution, work_status] = on_members(&Reach::PushMembers, &flags.member, &rules);
    // Events are signed as stock's controllers sign them.
    let all = [
        Controller::new("detector", move |ctx| {
            detector::run(ctx, detector, for_detector, by_detector, of_replicas)
        })
        .with_event_source("resource-detector"),
        Controller::new("dependencies", move |ctx| {
            dependencies::run(ctx, dependencies, for_dependencies, by_dependencies, of_dependencies)
        })
        .with_event_source("dependencies-distributor"),
        Controller::new("binding", move |ctx| {
            binding::run(ctx, binding, for_binding, by_binding, of_works)
        })
        .with_event_source("binding-controller"),
        execution,
        work_status,
        Controller::new("bindingStatus", move |ctx| {
            binding_status::run(ctx, binding_status, for_status, by_status, said)
        })
        .with_event_source("resource-binding-status-controller"),
        Controller::new("namespace", move |ctx| namespace::run(ctx, flags))
            .with_event_source("namespace-sync-controller"),
    ];
    all.map(Controller::never_beside_stock).into()
}

/// `execution` and `workStatus` as a Pull member's agent runs them: for this member alone, over the connection that the
/// process's [`ConnectMember`](controller_kit::members::ConnectMember) has for it.
#[must_use]
pub fn controllers_of_member(cluster: &ClusterName, flags: &MemberFlags) -> [Controller; 2] {
    on_members(&Reach::Own(cluster.clone()), flags, &Interpreters::default())
}

fn on_members(reach: &Reach, flags: &MemberFlags, rules: &Interpreters) -> [Controller; 2] {
    // Execution and workStatus of one process share the connections to members.
    let pool = Arc::new(members::Pool::default());
    let shared = || (reach.clone(), flags.clone(), pool.clone(), rules.clone());
    let (execution, work_status) = (shared(), shared());
    [
        Controller::new("execution", move |ctx| {
            let (reach, flags, pool, rules) = execution;
            execution::run(ctx, reach, flags, pool, rules)
        })
        .with_event_source("execution-controller"),
        Controller::new("workStatus", move |ctx| {
            let (reach, flags, pool, rules) = work_status;
            work_status::run(ctx, reach, flags, pool, rules)
        })
        .with_event_source("work-status-controller"),
    ]
}
