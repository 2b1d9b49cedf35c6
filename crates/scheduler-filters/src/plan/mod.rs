//! What would happen if clusters failed, were drained, or a policy were in force: the taints, the moves with their times
//! and places, what finds no place, what stays, and at which rate.
//!
//! Guarantees: nothing is decided here that a controller decides elsewhere. Time is simulated; in it the policy engine
//! ([`failover_core::taint_policy::evaluate`]) adds and removes taints, the taint manager's function
//! ([`failover_core::eviction::desired_entry::wanted`]) says who has to leave, the model of the eviction queue
//! ([`failover_core::eviction::queue::Queue`]) orders and paces, the evictor's check ([`crate::feasibility()`]) says whether
//! it may, and the scheduler ([`crate::schedule()`]) says where to, each move on the state that those before it leave.
//! What is simulated and what is not: new copies do not report, old copies do not go, no application fails, nobody edits
//! anything, and a cluster that fails does not come back.
//!
//! Rooms: `input` (what is asked), `outcome` (what is answered), `propose` (the proposal put into the world), `taints` (the
//! policy engine on one cluster), `moving` (one eviction and the placement after it), `room` (resources that a move takes),
//! `simulation` (the clock and the queue; in `fates`, what became of each copy).

mod input;
mod moving;
mod outcome;
mod propose;
mod room;
mod simulation;
mod taints;

pub use input::{BadProposal, HORIZON, Proposal, Settings, World};
pub use outcome::{
    HeldTaint, Move, NewPlace, NotGoing, Others, Plan, PlannedTaint, RegimePhase, Remaining, Staying, TaintedBy,
};
pub use propose::drain_taint;

/// Plays the proposal through, from `settings.now` until nothing moves any more, at most for [`HORIZON`].
///
/// # Errors
/// The proposal names a cluster that does not exist, or proposes nothing.
pub fn plan(world: World, proposal: &Proposal, settings: &Settings) -> Result<Plan, BadProposal> {
    let proposed = propose::into_world(world, proposal, settings.now)?;
    Ok(simulation::Simulation::begin(proposed, settings).run())
}
