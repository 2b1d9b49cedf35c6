//! Where a workload may run: filter and score plugins, selection, division of replicas, when a binding is looked at
//! ([`trigger`], [`wake`]), and [`feasibility()`], the dry run of the scheduler that is asked before an eviction.
//!
//! Guarantees: everything here is a pure function of the objects and the time passed in; two runs over the same
//! inputs give the same result, whatever the order in which clusters are handed over; a refusal names the plugin and
//! the reason; a placement that this version cannot do is refused with a message and never done wrongly; no result
//! takes the last running copy off a cluster that still fits.
//!
//! A plugin implements [`Filter`] or [`Score`] and is added to a [`Registry`] by its name.

pub mod available;
pub mod baseline;
pub mod comes_back;
pub mod divide;
pub mod dynamic;
pub mod estimate;
pub mod feasibility;
pub mod fleet;
pub mod group;
pub mod last_copy;
pub mod ours;
pub mod plan;
pub mod plugin;
pub mod plugins;
pub mod request;
pub mod schedule;
pub mod schedulers;
pub mod select;
pub mod spread;
pub mod steps;
pub mod strategy;
pub mod trigger;
pub mod wake;

#[cfg(test)]
mod testing;

pub use comes_back::{ComesBack, stays_when_back};
pub use feasibility::{Feasibility, FewerCopies, Outcome, PreEvictionCheck, Question, feasibility};
pub use fleet::Fleet;
pub use last_copy::Kept;
pub use name_selection::UnknownNames;
pub use ours::{NotOurs, ours};
pub use plugin::{DefaultState, Filter, Plugins, Registry, Score};
pub use request::{DeletionBy, Refusal, Refusals, Request, Rules};
pub use schedule::{Decision, Failure, Scheduling, schedule};
pub use schedulers::{OfScheduler, Schedulers};
